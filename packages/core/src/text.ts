/**
 * Lines, their differences and their merge, for faces that hold a text nobody has saved yet. Pure: nothing of the
 * engine comes with it, so that an editor's extension can have it without a native module.
 */

export { applyEdits, diffLines, type Edit, splitLines } from './review/lines.ts'
export { type MergedLines, mergeLines, type Overlap, withMarkers } from './review/text-merge.ts'
