/** The trees that everybody has to work on: text files of about 2 KB, 20 to a folder, three folders deep. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temp folder with a HOME of its own, so that nothing of this machine's configuration counts. */
export class Ground implements Disposable {
  readonly base = mkdtempSync(join(tmpdir(), 'unturn-bench-'))
  readonly env: Readonly<Record<string, string | undefined>>
  #next = 1

  constructor() {
    mkdirSync(join(this.base, 'home'))
    this.env = {
      PATH: process.env.PATH,
      HOME: join(this.base, 'home'),
      // What is measured is the command; a server of its own accord would help it from the second run on.
      UNTURN_SERVER: '0',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'bench',
      GIT_AUTHOR_EMAIL: 'bench@example.invalid',
      GIT_COMMITTER_NAME: 'bench',
      GIT_COMMITTER_EMAIL: 'bench@example.invalid',
      LC_ALL: 'C',
      TZ: 'UTC',
    }
  }

  /** A place below the temp folder that nobody has used yet. */
  place(name: string): string {
    return join(this.base, `${name}-${this.#next++}`)
  }

  remove(place: string): void {
    rmSync(place, { recursive: true, force: true })
  }

  [Symbol.dispose](): void {
    this.remove(this.base)
  }
}

export class Tree {
  readonly root: string
  readonly size: number
  readonly ground: Ground
  #edits = 0

  constructor(ground: Ground, size: number) {
    this.ground = ground
    this.size = size
    this.root = ground.place(`tree-${size}`)
    mkdirSync(this.root)
  }

  /** Committed, packed and checked out, as after a clone. */
  static cloned(ground: Ground, size: number): Tree {
    const tree = new Tree(ground, size)
    tree.git(['init', '-q', '-b', 'main'])
    tree.git(['fast-import', '--quiet'], importOf(size))
    tree.git(['repack', '-a', '-d', '-q'])
    tree.git(['reset', '-q', '--hard'])
    tree.git(['status', '--porcelain'])
    return tree
  }

  static plain(ground: Ground, size: number): Tree {
    const tree = new Tree(ground, size)
    for (let file = 0; file < size; file++) {
      if (file % perFolder === 0) mkdirSync(join(tree.root, folderOf(file)), { recursive: true })
      writeFileSync(join(tree.root, pathOf(file)), textOf(file))
    }
    return tree
  }

  git(args: readonly string[], input?: Buffer | string): string {
    return runGit(this.root, this.ground.env, args, input)
  }

  /** Changes a few lines in ten files, other ones each time; gives their paths. */
  editTen(): readonly string[] {
    const edit = ++this.#edits
    const paths = Array.from({ length: 10 }, (_, i) => pathOf((i * 7919 + edit * 131) % this.size))
    for (const path of paths) writeFileSync(join(this.root, path), editedText(path, edit))
    return paths
  }

  /** The same files as if there were no repository. */
  withoutGit<T>(work: () => Promise<T>): Promise<T> {
    const aside = this.ground.place('git-aside')
    renameSync(join(this.root, '.git'), aside)
    return work().finally(() => renameSync(aside, join(this.root, '.git')))
  }
}

export function runGit(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  input?: Buffer | string,
): string {
  return execFileSync('git', args, {
    cwd,
    env,
    input: input ?? '',
    maxBuffer: 1 << 30,
    stdio: ['pipe', 'pipe', 'pipe'],
  }).toString('latin1')
}

const perFolder = 20

function folderOf(file: number): string {
  const folder = Math.floor(file / perFolder)
  return `part-${folder % 40}/group-${Math.floor(folder / 40) % 20}/folder-${folder}`
}

export function pathOf(file: number): string {
  return `${folderOf(file)}/file-${file}.ts`
}

/** Looks like code: names that a file repeats and that most other files do not have. */
export function textOf(file: number): string {
  let seed = Math.imul(file + 1, 2654435761) >>> 0
  const random = (below: number) => {
    seed ^= seed << 13
    seed ^= seed >>> 17
    seed ^= seed << 5
    return (seed >>> 0) % below
  }
  const names = Array.from({ length: 24 }, () => syllables[random(16)] + random(2 ** 30).toString(36))
  const name = () => names[random(names.length)]
  let text = `// file ${file}\n`
  while (text.length < 2000) text += `  ${name()}.${name()}(${name()}, ${random(1000)})\n`
  return text
}

const syllables = 'get set is has to from on make read write find add drop next with parse'.split(' ')

function editedText(path: string, edit: number): string {
  const file = Number(/file-(\d+)\.ts$/.exec(path)?.[1])
  const lines = textOf(file).split('\n')
  lines[edit % lines.length] = `export const edited = ${edit}`
  lines[(edit * 7) % lines.length] = `// changed for the ${edit}th time`
  return lines.join('\n')
}

function importOf(size: number): Buffer {
  const parts: string[] = []
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  parts.push(
    'commit refs/heads/main\ncommitter bench <bench@example.invalid> 1700000000 +0000\n',
    data('all'),
  )
  parts.push('M 100644 inline .gitignore\n', data('*.log\nnode_modules/\n/dist\n*.tmp\n'))
  for (let file = 0; file < size; file++) parts.push(`M 100644 inline ${pathOf(file)}\n`, data(textOf(file)))
  return Buffer.from(parts.join(''))
}
