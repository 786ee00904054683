/**
 * The list of what a capture did not take, one blob per operation: unchanged it costs nothing. With each path
 * stands a signature of its stat, so that the next capture can tell whether something it cannot see has changed.
 */

import { textOfBytes, UnturnError } from '../errors.ts'
import type { Objects } from '../store/objects.ts'
import type { BlobId, RelPath, Skipped } from '../values.ts'
import { skippedOf } from './record.ts'
import { Shape, ShapeError } from './shape.ts'

export interface SkippedEntry {
  readonly skipped: Skipped
  /** Empty where there is nothing to compare: it could not even be looked at. */
  readonly signature: string
}

export type SkippedList = ReadonlyMap<RelPath, SkippedEntry>

export function serializeSkipped(list: SkippedList): Buffer {
  const lines = [...list.values()]
    .sort((a, b) => (a.skipped.path < b.skipped.path ? -1 : 1))
    .map(({ skipped, signature }) =>
      JSON.stringify({ ...skipped, path: textOfBytes(skipped.path), signature }),
    )
  return Buffer.from(lines.map((line) => `${line}\n`).join(''), 'utf8')
}

// Every operation has such a list, and most have the one of the operation before.
const known = new Map<BlobId, SkippedList>()
const knownLimit = 16

export function readSkipped(objects: Objects, blob: BlobId): SkippedList {
  const list = known.get(blob) ?? parseSkipped(objects.readBlob(blob))
  if (known.size >= knownLimit) known.clear()
  known.set(blob, list)
  return list
}

export function parseSkipped(bytes: Buffer): SkippedList {
  const list = new Map<RelPath, SkippedEntry>()
  for (const line of bytes.toString('utf8').split('\n')) {
    if (line === '') continue
    const entry = parseLine(line)
    list.set(entry.skipped.path, entry)
  }
  return list
}

function parseLine(line: string): SkippedEntry {
  try {
    const shape = Shape.parse(line, 'skipped')
    return { skipped: skippedOf(shape), signature: shape.text('signature') }
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    throw new UnturnError(
      'store-damaged',
      { what: 'skipped list' },
      {
        message: `The list of paths that were not captured cannot be read: ${error.message}. No file was changed.`,
        hint: 'Run "unturn doctor" to see what is affected.',
        cause: error,
      },
    )
  }
}
