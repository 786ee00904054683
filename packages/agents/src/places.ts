/** Which workspace a file belongs to. Always by the file's own place, never by where the agent happens to stand. */

import { lstatSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  bytesOfText,
  bytesPath,
  isFailure,
  type RelPath,
  relPathFrom,
  textOfBytes,
  type Workspace,
  workspaceAt,
} from '@unturn/core'
import type { Environment } from './events.ts'

/** The workspace of a folder: the project that an agent was started in. */
export function rootOf(folder: string, env: Environment): string {
  return textOfBytes(workspaceAt(nearestFolder(folder), { env }).root)
}

/**
 * The workspace that a path belongs to, seen from the project `home`. `undefined`: nobody watches over that place.
 *
 *   inside home                               home; a repository in there is a plain folder of it
 *   inside home, in a linked worktree         that worktree: it is somebody else's checkout
 *   outside, in a workspace or a repository   that one
 */
export function workspaceOfPath(path: string, home: string, env: Environment): string | undefined {
  const folder = nearestFolder(dirname(path))
  const found = workspaceAt(folder, { env })
  const root = textOfBytes(found.root)
  if (root === home) return home
  if (root.startsWith(`${home}/`)) return found.known || isLinkedWorktree(root) ? root : home
  // The nearest repository may be one around home, when home is a plain folder in it that was named by the user.
  if (folder === home || folder.startsWith(`${home}/`)) return home
  return found.known || exists(join(root, '.git')) ? root : undefined
}

/** `undefined`: nothing is captured there, whoever writes; for instance below a `.git`. */
export function placeIn(workspace: Workspace, path: string): RelPath | undefined {
  try {
    return relPathFrom(workspace.root, bytesPath('/'), bytesOfText(path))
  } catch (error) {
    if (isFailure(error, 'bad-path')) return undefined
    throw error
  }
}

function nearestFolder(path: string): string {
  let folder = resolve(path)
  while (!isFolder(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory() || lstatSync(`${path}/.`).isDirectory()
  } catch {
    return false // not there, or not ours to look at: then the folder above it decides
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

// A submodule has a file for its `.git`, too, but it points elsewhere.
function isLinkedWorktree(root: string): boolean {
  try {
    return /^gitdir: .*\/worktrees\/[^/]+\s*$/.test(readFileSync(join(root, '.git'), 'utf8'))
  } catch {
    return false // a folder, or nothing at all
  }
}
