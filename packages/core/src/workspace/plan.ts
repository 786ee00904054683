/** What apply is asked to do, and what it says about it. */

import type { Fs } from '../fs.ts'
import type { AbsPath, BlobId, FileState, RelPath } from '../values.ts'
import type { Left } from './journal.ts'

/** What is to become of one path that holds, or will hold, a file or link. Absent = undefined. */
export interface PathPlan {
  readonly path: RelPath
  readonly from: FileState | undefined
  readonly to: FileState | undefined
}

export interface FolderPlan {
  /** Did not exist, or a file or link that this plan removes stood there. */
  readonly create: readonly { readonly path: RelPath; readonly perm: number }[]
  /** Removed if empty; else it holds something nobody captured, and stays. */
  readonly remove: readonly RelPath[]
  readonly chmod: readonly { readonly path: RelPath; readonly from: number; readonly to: number }[]
}

export interface Plan {
  readonly paths: readonly PathPlan[]
  readonly folders: FolderPlan
}

export interface ApplyContext {
  readonly fs: Fs
  /** The workspace. */
  readonly root: AbsPath
  /** The folder `journal/` in our store; exists, 0700. */
  readonly journal: AbsPath
  /** The folder `staging/` in our store; exists, 0700. Used for files on the same volume. */
  readonly staging: AbsPath
  /** From the store, verified; may throw an `UnturnError`. */
  readonly bytesOf: (blob: BlobId) => Buffer
}

export type ApplyOutcome =
  /** Carried out, apart from `left`. */
  | { readonly kind: 'done'; readonly left: readonly Left[] }
  /** Nothing was changed, because of `left`. */
  | { readonly kind: 'blocked'; readonly left: readonly Left[] }

export type Recovery =
  | { readonly kind: 'clean' }
  | { readonly kind: 'finished'; readonly note: string; readonly left: readonly Left[] }
  | { readonly kind: 'rolled-back'; readonly note: string; readonly left: readonly Left[] }
  | { readonly kind: 'damaged'; readonly reason: string }

/** Called once every path is in place and on disk; again by recovery, so it must be idempotent. */
export type Publish = (note: string, left: readonly Left[]) => void
