/** Which workspaces have a history on this machine. */

import { bytesOfText } from './errors.ts'
import { errorCode, type Fs } from './fs.ts'
import { Shape, ShapeError } from './log/shape.ts'
import { type AbsPath, absPathUnchecked, joinAbs, nameOf } from './values.ts'
import { type Env, storeFolder, storeHome } from './workspace/locate.ts'
import { nodeFs } from './workspace/node-fs.ts'

export interface KnownWorkspace {
  /** The name of its store: stable, and no path. */
  readonly id: string
  readonly root: AbsPath
  /** When the store was made. */
  readonly createdMs: number
}

/** Every workspace that has a store, sorted by id. A store that cannot be read is left out; `doctor` in there tells why. */
export function knownWorkspaces(env: Env = process.env, fs: Fs = nodeFs): readonly KnownWorkspace[] {
  const home = storeHome(env)
  return namesIn(fs, joinAbs(home, 'workspaces'))
    .flatMap((name) => readKnown(fs, home, name) ?? [])
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** The id that the workspace of a root has, or will have. */
export function workspaceId(root: AbsPath, env: Env = process.env): string {
  return nameOf(storeFolder(storeHome(env), root))
}

function namesIn(fs: Fs, folder: AbsPath): readonly string[] {
  try {
    return fs.readFolder(folder)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

function readKnown(fs: Fs, home: AbsPath, id: string): KnownWorkspace | undefined {
  try {
    const path = joinAbs(home, `workspaces/${id}/workspace.json`)
    const shape = Shape.parse(fs.readFile(path).toString('utf8'), 'workspace.json')
    const root = absPathUnchecked(bytesOfText(shape.text('root')))
    // A store that says it belongs to another folder was moved or edited: its id must not open that folder.
    return nameOf(storeFolder(home, root)) === id
      ? { id, root, createdMs: shape.number('createdMs') }
      : undefined
  } catch (error) {
    if (error instanceof ShapeError || errorCode(error) !== undefined) return undefined
    throw error
  }
}
