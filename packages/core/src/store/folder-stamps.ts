/** What folders looked like at a moment: whether anything was put into them, or taken out, without listing them. */

import { errorCode, type FileStat, type Fs } from '../fs.ts'
import type { AbsPath } from '../values.ts'

export class FolderStamps {
  readonly #fs: Fs
  readonly #folders: readonly AbsPath[]
  #stamps: readonly string[] | undefined

  constructor(fs: Fs, folders: readonly AbsPath[]) {
    this.#fs = fs
    this.#folders = folders
  }

  /** What comes before it has happened: a disk that does not answer now only costs a listing later. */
  take(): void {
    try {
      this.#stamps = this.#folders.map((folder) => stampOf(this.#fs, folder))
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      this.#stamps = undefined
    }
  }

  forget(): void {
    this.#stamps = undefined
  }

  /**
   * Only for one who knows that nobody else was at it: two changes within one tick of the clock, one before the stamp
   * was taken and one after, leave the same stamp.
   */
  areAsTaken(): boolean {
    return this.#stamps?.every((stamp, at) => stamp === stampOf(this.#fs, this.#folders[at])) ?? false
  }
}

function stampOf(fs: Fs, folder: AbsPath | undefined): string {
  return stampOfStat(folder === undefined ? undefined : fs.lstat(folder))
}

/** Empty where there is nothing. */
export function stampOfStat(stat: FileStat | undefined): string {
  return stat === undefined ? '' : `${stat.ino}:${stat.mtimeMs}:${stat.ctimeMs}`
}
