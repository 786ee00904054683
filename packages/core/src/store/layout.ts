/** The files and folders that make a bare git repository. */

import type { Fs } from '../fs.ts'
import { type AbsPath, absPathUnchecked, joinAbs, parentOf } from '../values.ts'
import { removeQuietly, unwritable, writeSynced } from './pack-writer.ts'

// No hooks, no fsmonitor, no maintenance: nothing but our own calls may run or change anything in here (P10).
const config = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logallrefupdates = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	fsmonitor = false
[gc]
	auto = 0
	autoDetach = false
[maintenance]
	auto = false
[receive]
	autogc = false
`

// A branch that is never born: git wants a HEAD, and we want no branch.
const head = 'ref: refs/heads/none\n'

const folders = ['', 'objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads']

/** Durable when it returns. What is there already stays, so a run that was cut can be run again. */
export function layOutRepository(fs: Fs, folder: AbsPath): void {
  try {
    for (const name of folders) ensureFolder(fs, joinAbs(folder, name))
    ensureFile(fs, folder, 'config', config)
    // Last: a folder without HEAD is no repository, so git never sees one that is half laid out.
    ensureFile(fs, folder, 'HEAD', head)
    for (const name of folders.toReversed()) fs.syncFolder(joinAbs(folder, name))
    fs.syncFolder(absPathUnchecked(parentOf(folder) || '/'))
  } catch (error) {
    throw unwritable(fs, folder, config.length, error)
  }
}

function ensureFolder(fs: Fs, path: AbsPath): void {
  if (fs.lstat(path) === undefined) fs.createFolder(path, 0o700)
}

function ensureFile(fs: Fs, folder: AbsPath, name: string, text: string): void {
  const path = joinAbs(folder, name)
  if (fs.lstat(path) !== undefined) return
  const temp = joinAbs(folder, `tmp-${name}`)
  if (fs.lstat(temp) !== undefined) fs.unlink(temp) // left by a run that was cut
  try {
    writeSynced(fs, temp, Buffer.from(text, 'latin1'), 0o600)
    fs.rename(temp, path)
  } catch (error) {
    removeQuietly(fs, temp)
    throw error
  }
}
