import './blame.css'
import type { BlameLine } from '@unturn/client'
import { useCallback, useMemo, useRef } from 'react'
import { useAsk } from '../lib/ask.ts'
import { colourOf } from '../lib/colour.ts'
import { goTo, useMarks } from '../lib/place.ts'
import { useStudio } from '../lib/studio.ts'
import { useVirtual } from '../lib/virtual.ts'
import { BackToList } from '../parts/back.tsx'
import { Failure } from '../parts/failure.tsx'
import { FileTree } from '../parts/file-tree.tsx'
import { preview } from '../parts/preview.tsx'
import { Agent, Empty, Path, Shown, When } from '../parts/small.tsx'

const now = { at: 'now', side: 'after' } as const

/** Files as they are, and who wrote each line. */
export function BlameView() {
  const [{ file }, mark] = useMarks()
  return (
    <div className={file === undefined ? 'blame' : 'blame has-file'}>
      <FileTree point={now} chosen={file} onChoose={(path) => mark({ file: path })} />
      {file === undefined ? (
        <Empty title="Who wrote this?">
          <p className="muted">Choose a file to see the turn behind each of its lines.</p>
        </Empty>
      ) : (
        <Blamed key={file} file={file} />
      )}
    </div>
  )
}

function Blamed({ file }: { readonly file: string }) {
  const { workspace, live, status } = useStudio()
  const { data, failure, again } = useAsk(
    live,
    file,
    (signal) => workspace.blame(file, { signal }),
    (event) => event.type === 'change' && event.change.path === file,
  )
  const session = status.sessions.find((one) => one.active)?.id
  return (
    <section className="blamed" aria-label={`Blame of ${file}`}>
      <div className="bar">
        <BackToList to="Files" />
        <span className="grow cut">
          <Path path={file} />
        </span>
        <button
          type="button"
          onClick={() =>
            preview({
              kind: 'rollback',
              ...(session === undefined ? {} : { session }),
              selection: { files: [file] },
              what: file,
            })
          }
        >
          Roll back this file…
        </button>
      </div>
      {failure === undefined ? null : <Failure failure={failure} again={again} />}
      {data === undefined ? null : data.lines.length === 0 ? (
        <p className="wait">The file is empty.</p>
      ) : (
        <Lines lines={data.lines} />
      )}
    </section>
  )
}

const lineHeight = 20
const sameHeight = () => lineHeight

function Lines({ lines }: { readonly lines: readonly BlameLine[] }) {
  const scroller = useRef<HTMLElement>(null)
  const view = useVirtual(scroller, lines.length, sameHeight)
  const starts = useMemo(() => startsOf(lines), [lines])
  const jump = useCallback((line: BlameLine) => {
    if (line.turn !== null) goTo('history', { session: line.session ?? undefined, turn: line.turn })
    else if (line.op !== null && line.by === 'user') goTo('history', { op: line.op })
  }, [])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keys.
    <section ref={scroller} className="blame-lines" tabIndex={0} aria-label="Lines">
      <div className="blame-all" style={{ height: view.height }}>
        {lines.slice(view.first, view.end).map((line, offset) => (
          <div
            key={line.line}
            className="blame-line"
            style={{ transform: `translateY(${view.topOf(view.first + offset)}px)` }}
          >
            <span className="blame-who small" style={{ borderColor: barOf(line) }}>
              {starts.has(line.line) || offset === 0 ? <Who line={line} onJump={() => jump(line)} /> : null}
            </span>
            <span className="blame-number num">{line.line}</span>
            <code className="blame-text">
              <Shown text={line.text} />
            </code>
          </div>
        ))}
      </div>
    </section>
  )
}

function startsOf(lines: readonly BlameLine[]): ReadonlySet<number> {
  const starts = new Set<number>()
  let last: BlameLine | undefined
  for (const line of lines) {
    if (last === undefined || last.op !== line.op) starts.add(line.line)
    last = line
  }
  return starts
}

function barOf({ by, agent }: BlameLine): string {
  if (by === 'agent') return colourOf(agent ?? '')
  return by === 'user' ? 'var(--user)' : 'transparent'
}

function Who({ line, onJump }: { readonly line: BlameLine; readonly onJump: () => void }) {
  const { by, agent, prompt, at, turn } = line
  if (by === 'before') return <span className="muted">before the first capture</span>
  if (by === 'user')
    return (
      <button type="button" className="link blame-turn" onClick={onJump}>
        <Agent name="user" /> {at === null ? null : <When at={at} />}
      </button>
    )
  if (turn === null) return <span className="muted">unturn</span>
  return (
    <button type="button" className="link blame-turn" title={prompt ?? ''} onClick={onJump}>
      <Agent name={agent ?? ''} /> {at === null ? null : <When at={at} />} <Shown text={prompt ?? ''} />
    </button>
  )
}
