/** Pending hunks as a patch to draw. Context that two neighbours share is drawn once, and they stand in one block. */

import type { ReviewFile, ReviewHunk, ReviewLine } from '@unturn/client'

interface Block {
  readonly lines: ReviewLine[]
}

export function patchOfFile(file: ReviewFile): string {
  const { path, from = path } = file
  const kinds = new Set(file.hunks.map(({ kind }) => kind))
  const head = [`diff --git ${quoted('a/', from)} ${quoted('b/', path)}`]
  if (kinds.has('create')) head.push('new file mode 100644')
  if (kinds.has('delete')) head.push('deleted file mode 100644')
  if (file.from !== undefined)
    head.push('similarity index 50%', `rename from ${quoted('', from)}`, `rename to ${quoted('', path)}`)
  const blocks = blocksOf(file.hunks)
  if (blocks.length > 0) {
    head.push(`--- ${kinds.has('create') ? '/dev/null' : quoted('a/', from)}`)
    head.push(`+++ ${kinds.has('delete') ? '/dev/null' : quoted('b/', path)}`)
  }
  return `${head.join('\n')}\n${blocks.map(textOf).join('')}`
}

function quoted(side: string, path: string): string {
  return `"${side}${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`
}

function blocksOf(hunks: readonly ReviewHunk[]): readonly Block[] {
  const blocks: Block[] = []
  let [lastOld, lastNew] = [0, 0]
  for (const { lines } of hunks) {
    const fresh = lines.filter(({ oldLine = 0, newLine = 0 }) => oldLine > lastOld || newLine > lastNew)
    const first = fresh[0]
    if (first === undefined) continue
    const joins =
      (first.oldLine ?? lastOld + 1) === lastOld + 1 &&
      (first.newLine ?? lastNew + 1) === lastNew + 1 &&
      blocks.length > 0
    if (joins) blocks.at(-1)?.lines.push(...fresh)
    else blocks.push({ lines: [...fresh] })
    for (const { oldLine, newLine } of fresh) {
      lastOld = oldLine ?? lastOld
      lastNew = newLine ?? lastNew
    }
  }
  return blocks
}

function textOf({ lines }: Block): string {
  const olds = lines.flatMap(({ oldLine }) => oldLine ?? [])
  const news = lines.flatMap(({ newLine }) => newLine ?? [])
  const body = lines.map(
    ({ kind, text }) => kind + (text.endsWith('\n') ? text : `${text}\n\\ No newline at end of file\n`),
  )
  return `@@ -${olds[0] ?? 0},${olds.length} +${news[0] ?? 0},${news.length} @@\n${body.join('')}`
}

/** Where a hunk's buttons stand: below its last line. */
export function placeOf({
  lines,
}: ReviewHunk): { readonly side: 'additions' | 'deletions'; readonly line: number } | undefined {
  const changed = lines.filter(({ kind }) => kind !== ' ')
  const added = changed.findLast(({ kind }) => kind === '+')
  if (added?.newLine !== undefined) return { side: 'additions', line: added.newLine }
  const removed = changed.at(-1)
  return removed?.oldLine === undefined ? undefined : { side: 'deletions', line: removed.oldLine }
}
