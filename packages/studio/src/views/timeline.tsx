import './timeline.css'
import type { Session, Step } from '@unturn/client'
import { useCallback, useMemo, useRef, useState } from 'react'
import { useAsk } from '../lib/ask.ts'
import { useKeys } from '../lib/keys.ts'
import { type Row, rowHeights, rowsOf } from '../lib/rows.ts'
import { useStudio } from '../lib/studio.ts'
import type { Known } from '../lib/tree.ts'
import { useInView, useVirtual } from '../lib/virtual.ts'
import { TimelineRow } from './timeline-row.tsx'

export interface Chosen {
  readonly turn?: string | undefined
  readonly step?: string | undefined
  readonly op?: string | undefined
}

interface Props {
  readonly sessions: readonly Session[]
  readonly session: string | undefined
  readonly tree: Known | undefined
  readonly chosen: Chosen
  readonly onSession: (session: string | undefined) => void
  readonly onChoose: (chosen: Chosen) => void
}

/** Sessions, turns and steps as a tree, newest first. */
export function Timeline({ sessions, session, tree, chosen, onSession, onChoose }: Props) {
  const [openTurns, setOpenTurns] = useState<ReadonlySet<string>>(new Set())
  const steps = useSteps(openTurns)
  const rows = useMemo(
    () => rowsOf(sessions, { session, tree, turns: openTurns, steps }),
    [sessions, session, tree, openTurns, steps],
  )
  const scroller = useRef<HTMLDivElement>(null)
  const heightOf = useCallback((row: number) => rowHeights[rows[row]?.kind ?? 'note'], [rows])
  const view = useVirtual(scroller, rows.length, heightOf)
  const at = rows.findIndex((row) => isChosen(row, chosen))
  const [cursor, setCursor] = useState<string>()
  const cursorAt = Math.max(
    0,
    rows.findIndex(({ key }) => key === cursor),
  )
  useInView(scroller, at, heightOf, view)
  useInView(scroller, cursor === undefined ? -1 : cursorAt, heightOf, view)

  const toggleTurn = (turn: string) =>
    setOpenTurns((open) => {
      const next = new Set(open)
      if (!next.delete(turn)) next.add(turn)
      return next
    })
  const activate = (row: Row) => {
    setCursor(row.key)
    if (row.kind === 'session') onSession(row.isOpen ? undefined : row.session.id)
    else if (row.kind === 'turn') onChoose({ turn: row.turn.id })
    else if (row.kind === 'step') onChoose({ turn: row.turn, step: row.step.id })
    else if (row.kind === 'edit') onChoose({ op: row.edit.op })
  }
  const move = (by: number) => {
    const from = at >= 0 ? at : cursorAt
    for (let next = from + by; next >= 0 && next < rows.length; next += Math.sign(by)) {
      const row = rows[next]
      if (row === undefined || row.kind === 'note') continue
      setCursor(row.key)
      if (row.kind !== 'session') activate(row)
      return
    }
  }
  const moveCursor = (to: number) => {
    const row = rows[Math.min(Math.max(to, 0), rows.length - 1)]
    if (row !== undefined) setCursor(row.key)
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    const row = rows[cursorAt]
    const to = cursorAfter(event.key, cursorAt, rows.length)
    if (to !== undefined) moveCursor(to)
    else if (event.key === 'Enter' && row !== undefined) activate(row)
    else if (event.key === 'ArrowRight' && row?.kind === 'turn' && !row.isOpen) toggleTurn(row.turn.id)
    else if (event.key === 'ArrowLeft' && row?.kind === 'turn' && row.isOpen) toggleTurn(row.turn.id)
    else return
    event.preventDefault()
  }
  useKeys('History', [
    { key: 'j', does: 'next (older) turn', run: () => move(1) },
    { key: 'k', does: 'previous (newer) turn', run: () => move(-1) },
    {
      key: 'o',
      does: 'open or close the steps of the turn',
      run: () => {
        const row = rows[at]
        if (row?.kind === 'turn') toggleTurn(row.turn.id)
      },
    },
  ])

  return (
    <div
      ref={scroller}
      className="timeline"
      role="tree"
      aria-label="Sessions and turns"
      tabIndex={0}
      aria-activedescendant={rows.length === 0 ? undefined : rowId(rows[cursorAt]?.key ?? '')}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" className="timeline-all" style={{ height: view.height }}>
        {rows.slice(view.first, view.end).map((row, offset) => (
          <TimelineRow
            key={row.key}
            id={rowId(row.key)}
            row={row}
            top={view.topOf(view.first + offset)}
            isChosen={view.first + offset === at}
            isCursor={row.key === cursor}
            onActivate={() => activate(row)}
            onToggle={() => (row.kind === 'turn' ? toggleTurn(row.turn.id) : activate(row))}
          />
        ))}
      </div>
    </div>
  )
}

/** Where a key leads in the list; undefined for keys that do something else. */
function cursorAfter(key: string, at: number, rows: number): number | undefined {
  const places = [
    ['ArrowDown', at + 1],
    ['ArrowUp', at - 1],
    ['PageDown', at + 12],
    ['PageUp', at - 12],
    ['Home', 0],
    ['End', rows - 1],
  ] as const
  return places.find(([name]) => name === key)?.[1]
}

function rowId(key: string): string {
  return `row-${key}`
}

function isChosen(row: Row, { turn, step, op }: Chosen): boolean {
  if (row.kind === 'step') return row.step.id === step
  if (row.kind === 'turn') return step === undefined && row.turn.id === turn
  return row.kind === 'edit' && row.edit.op === op
}

/** Steps of the turns that are open. */
function useSteps(turns: ReadonlySet<string>): ReadonlyMap<string, readonly Step[]> {
  const { workspace, live } = useStudio()
  const key = [...turns].join(' ')
  const { data } = useAsk(
    live,
    key === '' ? undefined : key,
    async (signal) => {
      const details = await Promise.all([...turns].map((turn) => workspace.turn(turn, { signal })))
      return new Map(details.map(({ turn, steps }) => [turn.id, steps]))
    },
    (event) => 'turn' in event && turns.has(event.turn ?? ''),
  )
  const last = useRef<ReadonlyMap<string, readonly Step[]>>(new Map())
  // While another turn is opened, those that were open stay as they are.
  if (data !== undefined) last.current = data
  return last.current
}
