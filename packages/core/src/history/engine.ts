/** What the history functions work with: everything that touches the world, handed in. */

import type { Fs } from '../fs.ts'
import type { Flights } from '../log/flights.ts'
import type { StoreLock } from '../log/lock.ts'
import type { Log } from '../log/log.ts'
import type { GitPosition } from '../log/record.ts'
import type { Attrs } from '../store/attrs.ts'
import type { Describer } from '../store/describe.ts'
import type { Git } from '../store/git.ts'
import type { ObjectStore } from '../store/objects.ts'
import type { TrackedFiles, UserGit } from '../store/user-git.ts'
import type { AbsPath, BlobId, RelPath, TreeId, TurnId } from '../values.ts'
import type { CaptureRules } from '../workspace/capture-rules.ts'
import type { DirtyFolders, Scanner } from '../workspace/scan.ts'
import type { StatCache } from '../workspace/stat-cache.ts'

/** Folders of one store; see docs/store-format.md. */
export interface StoreFolders {
  readonly folder: AbsPath
  readonly objects: AbsPath
  readonly journal: AbsPath
  readonly staging: AbsPath
  readonly scratch: AbsPath
  readonly flights: AbsPath
  readonly statCache: AbsPath
  readonly lock: AbsPath
}

/** A long piece of work, told to whoever shows a progress bar. */
export type Progress = (report: {
  readonly what: 'looking' | 'storing'
  readonly done: number
  readonly total?: number
}) => void

export interface Engine {
  readonly root: AbsPath
  readonly folders: StoreFolders
  readonly fs: Fs
  readonly objects: ObjectStore
  readonly git: Git
  readonly describer: Describer
  readonly log: Log
  readonly lock: StoreLock
  readonly flights: Flights
  readonly scanner: Scanner
  /** What this workspace's files, executables and folders usually have as permission bits. */
  readonly defaultPerms: Attrs['defaults']
  readonly now: () => number
  readonly newId: (letter: 't' | 's' | 'o') => string
  readonly isAlive: (pid: number) => boolean
  readonly progress?: Progress
  /** Told once per operation that found something worth saying (a finished recovery, a rebuilt index). */
  readonly warn: (text: string) => void
  readonly user: UserRepository
  readonly stat: StatMemory
  readonly watch?: FileWatch
  /** Turns that have ended since the last full look, and may have changed something that no hint told of. */
  readonly unaudited: Set<TurnId>
}

/** The user's git, read anew at every capture: it may come, go or change at any time. */
export interface UserRepository {
  find(): UserGit | undefined
  position(): GitPosition
  rules(): CaptureRules
  tracked(): TrackedFiles | undefined
  /** May git have converted this path's bytes on their way to the disk? Then its blob is not what is there. */
  mayConvert(gitattributes: readonly RelPath[]): ((path: RelPath) => boolean) | 'never'
}

/**
 * Somebody who watches the files while a server runs, so that a look costs what changed. A hint and no more: he may have
 * missed something, so every turn is audited by a look at everything.
 */
export interface FileWatch {
  /** `everywhere`: the look is a full one in any case; the watcher only gets to know of it. */
  look(at: 'everywhere' | 'turn' | 'step'): Promise<WatchedLook>
  /** Turns that others have recorded by hints, and nobody has audited yet. */
  unaudited?(): Promise<readonly TurnId[]>
}

export interface WatchedLook {
  /** Absent: look everywhere. */
  readonly dirty?: DirtyFolders
  /** What was seen is stored by now. */
  done(): void
}

/** The stat cache and what it describes. It only saves work: a missing or old one costs a longer look. */
export interface StatMemory {
  cache: StatCache
  /** The snapshot that the cache describes; undefined: unknown, so nothing in it may be trusted. */
  tree: TreeId | undefined
  /** The attributes of that snapshot; undefined: the folders in the cache may be others than those of the snapshot. */
  attrs: BlobId | undefined
}
