/** A planned file, made of the file as it is and the plan's unified diff: for a side-by-side look before it happens. */

interface Hunk {
  readonly oldStart: number
  readonly lines: readonly string[]
}

/** The part of each path, by the path's name as git writes it. */
export function hunksByPath(patch: string): ReadonlyMap<string, readonly Hunk[]> {
  const found = new Map<string, readonly Hunk[]>()
  for (const part of patch.split(/^(?=diff --git )/m)) {
    const path = pathOf(part)
    if (path !== undefined) found.set(path, hunksOf(part))
  }
  return found
}

function pathOf(part: string): string | undefined {
  const [, after] = /^\+\+\+ (.*)$/m.exec(part) ?? []
  const [, before] = /^--- (.*)$/m.exec(part) ?? []
  const name = after === undefined || after === '/dev/null' ? before : after
  if (name === undefined) return undefined
  return unquoted(name.replace(/\t$/, '')).replace(/^[ab]\//, '')
}

function unquoted(name: string): string {
  if (!name.startsWith('"')) return name
  const bytes: number[] = []
  const body = name.slice(1, -1)
  for (const [piece, octal, letter] of body.matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8))
    else if (letter !== undefined) bytes.push(...Buffer.from(escapes[letter] ?? letter))
    else bytes.push(...Buffer.from(piece))
  }
  return Buffer.from(bytes).toString('utf8')
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
}

function hunksOf(part: string): readonly Hunk[] {
  return part.split(/^(?=@@ )/m).flatMap((text) => {
    const [, start, count] = /^@@ -(\d+)(?:,(\d+))? /.exec(text) ?? []
    if (start === undefined) return []
    // An empty side counts from the line before it.
    const oldStart = count === '0' ? Number(start) : Number(start) - 1
    return [{ oldStart, lines: text.split('\n').slice(1, -1) }]
  })
}

/** Undefined where the text is not the one that the diff was made of. */
export function patched(text: string, hunks: readonly Hunk[]): string | undefined {
  const old = text.split(/(?<=\n)/)
  const out: string[] = []
  let at = 0
  for (const { oldStart, lines } of hunks) {
    out.push(...old.slice(at, oldStart))
    at = oldStart
    for (const [line, next] of lines.map((line, index) => [line, lines[index + 1]] as const)) {
      if (line.startsWith('\\')) continue
      const content = line.slice(1) + (next?.startsWith('\\') === true ? '' : '\n')
      if (line.startsWith('+')) out.push(content)
      else {
        if (old[at] !== content) return undefined
        if (!line.startsWith('-')) out.push(content)
        at += 1
      }
    }
  }
  return [...out, ...old.slice(at)].join('')
}
