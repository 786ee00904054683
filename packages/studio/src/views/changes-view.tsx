import './changes.css'
import type { Change, Selection } from '@unturn/client'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { colourOf } from '../lib/colour.ts'
import { type GroupRow, groupsOf } from '../lib/groups.ts'
import { useKeys } from '../lib/keys.ts'
import { goTo, useMarks } from '../lib/place.ts'
import { usePreferences } from '../lib/preferences.ts'
import { useChanges } from '../lib/use-changes.ts'
import { useVirtual } from '../lib/virtual.ts'
import { dayOf, short } from '../lib/words.ts'
import { Failure } from '../parts/failure.tsx'
import { preview } from '../parts/preview.tsx'
import { Agent, Empty, Lines, Path, Shown, When } from '../parts/small.tsx'
import { ChangeFilters } from './change-filters.tsx'
import { Teach } from './teach.tsx'

/** All changes, narrowed and grouped as somebody likes, and the ways to take them back. */
export function ChangesView() {
  const [marks] = useMarks()
  const [{ groupBy }] = usePreferences()
  const filters = useRef<HTMLInputElement>(null)
  const { changes, prompts, failure, isComplete, more, again } = useChanges(marks)
  const rows = useMemo(() => groupsOf(changes, groupBy), [changes, groupBy])
  const actors = useMemo(() => [...new Set(changes.map(({ actor }) => actor))], [changes])
  const isNarrowed = Object.values(marks).some((mark) => mark !== undefined)
  useKeys('Changes', [{ key: '/', does: 'search', run: () => filters.current?.focus() }])
  return (
    <div className="changes">
      <ChangeFilters searchRef={filters} actors={actors} />
      {failure === undefined ? null : <Failure failure={failure} again={again} />}
      {isComplete && changes.length === 0 && !isNarrowed ? (
        <Teach />
      ) : isComplete && changes.length === 0 ? (
        <Empty title="No change fits">
          <p className="muted">Take a filter away, or wait: changes appear here as they are made.</p>
        </Empty>
      ) : (
        <Rows rows={rows} prompts={prompts} onEnd={more} isComplete={isComplete} />
      )}
    </div>
  )
}

interface RowsProps {
  readonly prompts: Prompts
  readonly rows: readonly GroupRow[]
  readonly onEnd: () => void
  readonly isComplete: boolean
}

function Rows({ rows, prompts, onEnd, isComplete }: RowsProps) {
  const scroller = useRef<HTMLElement>(null)
  const heightOf = useCallback((row: number) => (rows[row]?.kind === 'group' ? 34 : 30), [rows])
  const view = useVirtual(scroller, rows.length, heightOf)
  useEffect(() => {
    if (!isComplete && view.end >= rows.length) onEnd()
  }, [view.end, rows.length, isComplete, onEnd])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keys.
    <section ref={scroller} className="change-rows" tabIndex={0} aria-label="Changes">
      <div className="change-all" style={{ height: view.height }}>
        {rows.slice(view.first, view.end).map((row, offset) => (
          <div
            key={row.key}
            className={`change-row ${row.kind}`}
            style={{ transform: `translateY(${view.topOf(view.first + offset)}px)` }}
          >
            {row.kind === 'group' ? <Group row={row} prompts={prompts} /> : <One change={row.change} />}
          </div>
        ))}
      </div>
    </section>
  )
}

type Prompts = Readonly<Record<string, string | null>>

function Group({
  row,
  prompts,
}: {
  readonly row: Extract<GroupRow, { kind: 'group' }>
  readonly prompts: Prompts
}) {
  const { by, first } = row
  const what = wordsOf(by, first)
  const selection = selectionOf(by, first)
  return (
    <>
      <h2 className="grow cut">
        {by === 'file' ? <Path path={first.path} /> : null}
        {by === 'agent' ? <Agent name={first.actor} /> : null}
        {by === 'turn' ? <TurnName change={first} prompts={prompts} /> : null}
        {by === 'day' ? dayOf(first.at) : null}
      </h2>
      {selection === undefined ? null : (
        <button
          type="button"
          className="quiet small"
          onClick={() =>
            preview({
              kind: 'rollback',
              ...(first.session === null ? {} : { session: first.session }),
              selection,
              what,
            })
          }
        >
          Roll back {what}…
        </button>
      )}
    </>
  )
}

function TurnName({ change, prompts }: { readonly change: Change; readonly prompts: Prompts }) {
  if (change.turn === null) return <>{change.actor === 'user' ? 'Your own edits' : 'Unturn'}</>
  const { turn, session } = change
  return (
    <button
      type="button"
      className="link cut"
      onClick={() => goTo('history', { session: session ?? undefined, turn })}
    >
      <span style={{ color: colourOf(change.actor) }}>●</span>{' '}
      <Shown text={prompts[turn]?.split('\n', 1)[0] ?? `turn ${short(turn)}`} />
    </button>
  )
}

function wordsOf(by: GroupRow['by'], { actor }: Change): string {
  if (by === 'file') return 'this file'
  if (by === 'agent') return actor
  return by === 'turn' ? 'this turn' : 'everything from this day on'
}

/** Only agents' work can be rolled back; what the user wrote is not ours to take. */
function selectionOf(by: GroupRow['by'], first: Change): Selection | undefined {
  const isAgent = first.actor !== 'user' && first.actor !== 'unturn'
  if (by === 'file') return { files: [first.path] }
  if (by === 'agent') return isAgent ? { agents: [first.actor] } : undefined
  if (by === 'turn') return first.turn === null ? undefined : { turns: [first.turn] }
  const start = new Date(first.at)
  start.setHours(0, 0, 0, 0)
  return { after: start.toISOString() }
}

const kinds = { add: 'A', modify: 'M', delete: 'D', rename: 'R', mode: 'P', type: 'T' } as const
const kindWords = {
  add: 'added',
  modify: 'modified',
  delete: 'deleted',
  rename: 'renamed',
  mode: 'mode changed',
  type: 'kind changed',
} as const

function One({ change }: { readonly change: Change }) {
  const { kind, path, from, actor, at, binary, additions, deletions, turn, session, id } = change
  return (
    <>
      <abbr className={`kind ${kind}`} title={kindWords[kind]}>
        {kinds[kind]}
      </abbr>
      <button
        type="button"
        className="link grow cut change-path"
        disabled={turn === null}
        onClick={() => (turn === null ? undefined : goTo('history', { session: session ?? undefined, turn }))}
      >
        <Path path={path} from={from} />
      </button>
      <Agent name={actor} />
      <span className="muted small">
        <When at={at} />
      </span>
      <span className="change-lines">
        {binary ? <span className="tag">binary</span> : <Lines additions={additions} deletions={deletions} />}
      </span>
      {actor === 'user' || actor === 'unturn' ? (
        <span className="change-act" />
      ) : (
        <button
          type="button"
          className="quiet small change-act"
          aria-label={`Roll back this change of ${path}`}
          onClick={() =>
            preview({
              kind: 'rollback',
              ...(session === null ? {} : { session }),
              selection: { changes: [id] },
              what: 'this change',
            })
          }
        >
          Roll back…
        </button>
      )}
    </>
  )
}
