import { isImage, WholeContent } from '../diff/binary.tsx'
import { WholeFile } from '../diff/lazy.tsx'
import { never, useAsk } from '../lib/ask.ts'
import type { Moment } from '../lib/moments.ts'
import { useMarks } from '../lib/place.ts'
import { useSettled } from '../lib/settled.ts'
import { useStudio } from '../lib/studio.ts'
import { size } from '../lib/words.ts'
import { BackToList } from '../parts/back.tsx'
import { Failure } from '../parts/failure.tsx'
import { FileTree } from '../parts/file-tree.tsx'
import { preview } from '../parts/preview.tsx'
import { Path, Shown, When } from '../parts/small.tsx'

interface Props {
  readonly moment: Moment
  readonly session: string
  readonly onLeave: () => void
}

/** The files as they were. Nothing on disk is touched by looking. */
export function PastView({ moment, session, onLeave }: Props) {
  const [{ file }, mark] = useMarks()
  const point = useSettled({ at: moment.at, side: moment.side, session }, moment.key)
  const { turn, side } = moment
  return (
    <article className="past">
      <header className="banner">
        <BackToList />
        <span className="grow cut">
          <strong>Looking back</strong> <When at={moment.time} /> · <Shown text={moment.what} />
        </span>
        {turn === undefined ? null : (
          <button type="button" onClick={() => preview({ kind: 'restore', session, turn, side })}>
            Restore this…
          </button>
        )}
        <button type="button" className="primary" onClick={onLeave}>
          Back to now
        </button>
      </header>
      <div className={file === undefined ? 'past-body' : 'past-body has-file'}>
        <FileTree point={point} chosen={file} onChoose={(path) => mark({ file: path }, 'replace')} />
        <div className="past-file">
          {file === undefined ? (
            <p className="wait">Choose a file to read it as it was.</p>
          ) : (
            <PastFile path={file} point={point} />
          )}
        </div>
      </div>
    </article>
  )
}

interface Point {
  readonly at: string
  readonly side: 'before' | 'after'
  readonly session?: string
}

function PastFile({ path, point }: { readonly path: string; readonly point: Point }) {
  const { workspace } = useStudio()
  const { data, failure } = useAsk(
    undefined,
    `${point.at} ${point.side} ${path}`,
    (signal) => workspace.file({ path, ...point }, { signal }),
    never,
  )
  if (failure !== undefined) return <Failure failure={failure} />
  if (data === undefined) return <p className="wait">Loading …</p>
  if (data.text === undefined || isImage(path))
    return (
      <section className="past-whole" aria-label={`${path} as it was`}>
        <p className="muted">
          <Path path={path} /> · {isImage(path) ? 'image' : 'binary'}, {size(data.size)}
        </p>
        <WholeContent file={data} failure={undefined} path={path} />
      </section>
    )
  return <WholeFile path={path} text={data.text} label={`${path} as it was`} />
}
