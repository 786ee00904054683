import type { ReviewFile, ReviewHunk } from '@unturn/client'
import type { ReactNode } from 'react'
import { isImage, Sides } from '../diff/binary.tsx'
import { useStudio } from '../lib/studio.ts'
import { seenOf } from './review-files.tsx'

const whole: ReadonlySet<ReviewHunk['kind']> = new Set(['binary', 'create', 'delete', 'type', 'link'])

/** No lines to decide about: the file comes, goes or is replaced as a whole. */
export function isWholeFile({ hunks }: ReviewFile): boolean {
  return hunks.some(({ kind }) => whole.has(kind)) && hunks.every(({ lines }) => lines.length === 0)
}

interface Props {
  readonly session: string
  readonly files: readonly ReviewFile[]
  readonly isClosed: (path: string) => boolean
  readonly renderHunk: (hunk: ReviewHunk) => ReactNode
}

/** Pending files that are shown as a whole: images side by side, of others what there is to say. */
export function WholeFiles({ session, files, isClosed, renderHunk }: Props) {
  const { workspace } = useStudio()
  const shown = files.filter((file) => (isWholeFile(file) || isImage(file.path)) && !isClosed(file.path))
  if (shown.length === 0) return null
  return (
    <ul className="binaries">
      {shown.map((file) => {
        const { path, from, hunks, proposal } = file
        const of = { session, path, ...(proposal === undefined ? {} : { proposal }) }
        return (
          <li key={`${path} ${proposal ?? ''}`}>
            <Sides
              path={path}
              from={from}
              isNew={hunks.some(({ kind }) => kind === 'create')}
              isGone={hunks.some(({ kind }) => kind === 'delete')}
              version={seenOf(file)}
              load={(side, signal) => workspace.pendingFile({ ...of, side }, { signal })}
            >
              {isWholeFile(file) ? hunks.map(renderHunk) : null}
            </Sides>
          </li>
        )
      })}
    </ul>
  )
}
