/** Every kind of thing that can stand at a path, to be made and to be described. Paths are bytes. */

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'

export const fileKinds = [
  'missing',
  'file',
  'executable',
  'same bytes but executable',
  'symlink',
  'symlink to a folder',
  'folder',
  'empty folder',
  'named pipe',
  'nested repository',
  'unreadable',
  'read-only',
  'hard-linked',
  'name that is not UTF-8',
] as const

export type FileKind = (typeof fileKinds)[number]

/** Kinds of which something is not captured. */
export const uncaptured: ReadonlySet<FileKind> = new Set(['named pipe', 'nested repository', 'unreadable'])

/** The name has a byte that no UTF-8 text has. */
const oddName = 'x\xff'

/** Makes the kind as `x` in the folder; `mark` goes into its bytes, so that no two cases look like a rename. */
export function makeKind(folder: string, kind: FileKind, mark: string): void {
  const x = `${folder}/x`
  const write = (path: string | Buffer, text: string, mode = 0o644) => {
    writeFileSync(path, text)
    chmodSync(path, mode)
  }
  switch (kind) {
    case 'missing':
      return
    case 'file':
      return write(x, `shared ${mark}\n`)
    case 'executable':
      return write(x, `#!/bin/sh\necho ${mark}\n`, 0o755)
    case 'same bytes but executable':
      return write(x, `shared ${mark}\n`, 0o755)
    case 'symlink':
      return symlinkSync(`../nowhere-${mark}`, x)
    case 'symlink to a folder':
      return symlinkSync(`../${mark}/neighbour`, x)
    case 'folder':
      mkdirSync(x)
      return write(`${x}/inside`, `inside ${mark}\n`)
    case 'empty folder':
      mkdirSync(x)
      return
    case 'named pipe':
      execFileSync('mkfifo', ['-m', '600', x])
      return
    case 'nested repository':
      mkdirSync(`${x}/.git/objects`, { recursive: true })
      mkdirSync(`${x}/.git/refs`)
      write(`${x}/.git/HEAD`, 'ref: refs/heads/main\n')
      return write(`${x}/tracked`, `tracked ${mark}\n`)
    case 'unreadable':
      return write(x, `unreadable ${mark}\n`, 0o000)
    case 'read-only':
      return write(x, `read-only ${mark}\n`, 0o444)
    case 'hard-linked':
      write(x, `linked ${mark}\n`)
      return linkSync(x, `${folder}/y`)
    case 'name that is not UTF-8':
      return write(Buffer.from(`${folder}/${oddName}`, 'latin1'), `odd ${mark}\n`)
  }
}

/** Removes whatever `makeKind` may have made. */
export function removeKinds(folder: string): void {
  for (const name of ['x', 'y', oddName])
    rmSync(Buffer.from(`${folder}/${name}`, 'latin1'), { recursive: true, force: true })
}

/** Everything below a folder: kind, permission bits, and bytes or target. `.git` counts as well. */
export function describeFolder(folder: string, at = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(Buffer.from(folder, 'latin1'), 'latin1')) {
    const place = `${folder}/${name}`
    const path = Buffer.from(place, 'latin1')
    const stat = lstatSync(path)
    const mode = (stat.mode & 0o777).toString(8)
    const key = `${at}${name}`
    if (stat.isSymbolicLink()) found[key] = `-> ${readlinkSync(path)}`
    else if (stat.isDirectory()) {
      found[`${key}/`] = mode
      Object.assign(found, describeFolder(place, `${key}/`))
    } else if (stat.isFile()) found[key] = `${mode} ${mode === '0' ? '?' : readFileSync(path, 'latin1')}`
    else found[key] = `special ${mode}`
  }
  return found
}
