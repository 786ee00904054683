import type { ReviewFile } from '@unturn/client'
import type { Viewed } from '../lib/viewed.ts'
import { Lines, Path } from '../parts/small.tsx'
import { kindWords } from './hunk-bar.tsx'

interface Props {
  readonly files: readonly ReviewFile[]
  readonly current: ReviewFile | undefined
  readonly viewed: Viewed
  readonly onShow: (file: ReviewFile) => void
  readonly onAccept: (file: ReviewFile) => void
  readonly onReject: (file: ReviewFile) => void
}

/** What a mark stands for: the hunks by their ids, which are of their content. */
export function seenOf({ hunks }: ReviewFile): string {
  return hunks.map(({ id }) => id).join(' ')
}

export function ReviewFiles({ files, current, viewed, onShow, onAccept, onReject }: Props) {
  return (
    <nav className="review-files" aria-label="Files with pending hunks">
      <ul>
        {files.map((file) => {
          const seen = seenOf(file)
          const isViewed = viewed.isViewed(file.path, seen)
          return (
            <li key={`${file.path} ${file.proposal ?? ''}`} className={file === current ? 'current' : ''}>
              <div className="review-file">
                <button
                  type="button"
                  className="link grow cut"
                  aria-current={file === current ? 'true' : undefined}
                  onClick={() => onShow(file)}
                >
                  <Path path={file.path} from={file.from} />
                </button>
                {file.additions + file.deletions > 0 ? (
                  <Lines additions={file.additions} deletions={file.deletions} />
                ) : (
                  <span className="tag">{file.hunks.map(({ kind }) => kindWords[kind]).join(', ')}</span>
                )}
              </div>
              <div className="review-file small">
                <label className="check grow muted">
                  <input
                    type="checkbox"
                    checked={isViewed}
                    onChange={(event) => viewed.mark(file.path, event.target.checked ? seen : undefined)}
                  />
                  Viewed<span className="hidden"> {file.path}</span>
                </label>
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Reject ${file.path}`}
                  onClick={() => onReject(file)}
                >
                  Reject
                </button>
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Accept ${file.path}`}
                  onClick={() => onAccept(file)}
                >
                  Accept
                </button>
              </div>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
