import './history.css'
import { useEffect, useMemo } from 'react'
import { useKeys } from '../lib/keys.ts'
import { momentsOf } from '../lib/moments.ts'
import { useMarks } from '../lib/place.ts'
import { useStudio } from '../lib/studio.ts'
import { useTree } from '../lib/use-tree.ts'
import { Failure } from '../parts/failure.tsx'
import { Empty } from '../parts/small.tsx'
import { EditView } from './edit-view.tsx'
import { PastView } from './past-view.tsx'
import { RedoBanner } from './redo-banner.tsx'
import { Teach } from './teach.tsx'
import { TimeSlider } from './time-slider.tsx'
import { Timeline } from './timeline.tsx'
import { TurnView } from './turn-view.tsx'

// Diffs are in a file of their own. It is fetched when the history is on the screen, before somebody asks for one.
const warmUpMs = 600

export function History() {
  const { status } = useStudio()
  const [marks, mark] = useMarks()
  const sessions = status.sessions
  const active = sessions.find((one) => one.active) ?? sessions[0]
  const session = marks.session === 'none' ? undefined : (marks.session ?? active?.id)
  const { tree, failure } = useTree(session)
  const moments = useMemo(() => (tree === undefined ? [] : momentsOf(tree)), [tree])
  const past = marks.past === undefined ? undefined : moments.find(({ key }) => key === marks.past)
  const chosen = { turn: marks.turn, step: marks.step, op: marks.op }
  const hasDetail = past !== undefined || chosen.turn !== undefined || chosen.op !== undefined
  const slide = (to: string | undefined) => mark({ past: to }, 'replace')
  const slideBy = (by: number) => {
    const at = past === undefined ? moments.length - 1 : moments.indexOf(past)
    const next = moments[Math.max(0, at + by)]
    slide(next === undefined || at + by >= moments.length - 1 ? undefined : next.key)
  }
  useKeys('Time', [
    { key: '[', does: 'the files one moment earlier', run: () => slideBy(-1) },
    { key: ']', does: 'the files one moment later', run: () => slideBy(1) },
  ])
  useEffect(() => {
    const timer = setTimeout(() => void import('../diff/diff-view.tsx'), warmUpMs)
    return () => clearTimeout(timer)
  }, [])
  if (sessions.length === 0) return <Teach />
  return (
    <div className={hasDetail ? 'history has-detail' : 'history'}>
      <section className="history-list" aria-label="Timeline">
        {tree === undefined ? null : <RedoBanner session={tree.session} />}
        {failure === undefined ? null : <Failure failure={failure} />}
        <Timeline
          sessions={sessions}
          session={session}
          tree={tree}
          chosen={chosen}
          onSession={(id) =>
            mark({ session: id ?? 'none', turn: undefined, step: undefined, op: undefined, past: undefined })
          }
          onChoose={({ turn, step, op }) => mark({ session, turn, step, op, past: undefined })}
        />
        <TimeSlider moments={moments} at={past} onSlide={slide} />
      </section>
      <section className="history-detail" aria-label="Details">
        {past !== undefined && session !== undefined ? (
          <PastView moment={past} session={session} onLeave={() => slide(undefined)} />
        ) : chosen.turn !== undefined ? (
          <TurnView key={chosen.turn} turn={chosen.turn} step={chosen.step} />
        ) : chosen.op !== undefined ? (
          <EditView
            key={chosen.op}
            op={chosen.op}
            edit={tree?.userEdits.find(({ op }) => op === chosen.op)}
          />
        ) : (
          <Empty title="Choose a turn">
            <p className="muted">
              See what it changed, and take it back. <kbd>j</kbd> and <kbd>k</kbd> go through the turns,{' '}
              <kbd>?</kbd> shows all keys.
            </p>
          </Empty>
        )}
      </section>
    </div>
  )
}
