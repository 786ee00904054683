import type { Session, Step, UserEdit } from '@unturn/client'
import type { ReactNode } from 'react'
import { colourOf } from '../lib/colour.ts'
import { type Row, rowHeights } from '../lib/rows.ts'
import type { TreeTurn } from '../lib/tree.ts'
import { count, shortSession } from '../lib/words.ts'
import { GraphLines } from '../parts/graph-lines.tsx'
import { Agent, Lines, Shown, When } from '../parts/small.tsx'

interface Props {
  readonly id: string
  readonly row: Row
  readonly top: number
  readonly isChosen: boolean
  readonly isCursor: boolean
  readonly onActivate: () => void
  readonly onToggle: () => void
}

const levels: Readonly<Record<Row['kind'], number>> = { session: 1, turn: 2, edit: 2, note: 2, step: 3 }

export function TimelineRow({ id, row, top, isChosen, isCursor, onActivate, onToggle }: Props) {
  const classes = [
    'row',
    `is-${row.kind}`,
    isChosen ? 'chosen' : '',
    isCursor ? 'cursor' : '',
    isOff(row) ? 'is-off' : '',
  ]
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the tree itself has the focus and names the row that is meant.
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the tree's.
    <div
      id={id}
      role="treeitem"
      aria-level={levels[row.kind]}
      aria-selected={isChosen}
      {...('isOpen' in row ? { 'aria-expanded': row.isOpen } : {})}
      className={classes.filter((name) => name !== '').join(' ')}
      style={{ height: rowHeights[row.kind], transform: `translateY(${top}px)` }}
      onClick={onActivate}
    >
      {contentOf(row, onToggle)}
    </div>
  )
}

function isOff(row: Row): boolean {
  return (row.kind === 'turn' && row.turn.reverted) || (row.kind === 'step' && row.step.reverted)
}

function contentOf(row: Row, onToggle: () => void): ReactNode {
  switch (row.kind) {
    case 'session':
      return <SessionRow session={row.session} isOpen={row.isOpen} />
    case 'turn':
      return (
        <>
          <GraphLines
            drawn={row.drawn}
            height={rowHeights.turn}
            colour={colourOf(row.turn.agent)}
            kind="turn"
            isHead={row.turn.head}
            isOff={row.turn.reverted}
          />
          <TurnRow turn={row.turn} isOpen={row.isOpen} onToggle={onToggle} />
        </>
      )
    case 'step':
      return (
        <>
          <GraphLines drawn={row.drawn} height={rowHeights.step} colour="" kind="step" />
          <StepRow step={row.step} />
        </>
      )
    case 'edit':
      return (
        <>
          <GraphLines drawn={row.drawn} height={rowHeights.edit} colour="" kind="edit" />
          <EditRow edit={row.edit} />
        </>
      )
    case 'note':
      return <span className="muted">{row.text}</span>
  }
}

function SessionRow({ session, isOpen }: { readonly session: Session; readonly isOpen: boolean }) {
  const { id, agent, turns, reverted, running } = session
  return (
    <>
      <span className="chevron" aria-hidden="true">
        {isOpen ? '▾' : '▸'}
      </span>
      <Agent name={agent} />
      <span className="mono muted cut grow" title={id}>
        <Shown text={shortSession(id)} />
      </span>
      {running.length > 0 ? <span className="tag accent">running</span> : null}
      <span className="muted small num">
        {count(turns, 'turn')}
        {reverted.length === 0 ? '' : ` · ${reverted.length} undone`}
      </span>
    </>
  )
}

interface TurnProps {
  readonly turn: TreeTurn
  readonly isOpen: boolean
  readonly onToggle: () => void
}

function TurnRow({ turn, isOpen, onToggle }: TurnProps) {
  const { prompt, agent, began, files, additions, deletions, status, head, reverted } = turn
  return (
    <div className="turn-row grow">
      <div className="first">
        <span className="cut grow prompt">
          {prompt === null || prompt.trim() === '' ? (
            <span className="muted">no prompt</span>
          ) : (
            <Shown text={firstLine(prompt)} />
          )}
        </span>
        {status === 'open' ? <span className="tag accent pulse">running</span> : null}
        {status === 'interrupted' || status === 'failed' ? <span className="tag warn">{status}</span> : null}
        {head ? <span className="tag accent">now</span> : null}
        {reverted ? <span className="tag">undone</span> : null}
      </div>
      <div className="second muted small">
        <Agent name={agent} />
        <When at={began} />
        <span className="grow cut">{files === 0 ? 'no files' : count(files, 'file')}</span>
        {files === 0 ? null : <Lines additions={additions} deletions={deletions} />}
        <button
          type="button"
          className="quiet opener"
          tabIndex={-1}
          aria-label={isOpen ? 'Hide steps' : 'Show steps'}
          onClick={(event) => {
            event.stopPropagation()
            onToggle()
          }}
        >
          {isOpen ? '▾' : '▸'}
        </button>
      </div>
    </div>
  )
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? ''
}

function StepRow({ step }: { readonly step: Step }) {
  const { tool, command, changes, running } = step
  const path = changes[0]?.path
  return (
    <>
      <span className="tag mono">
        <Shown text={tool} />
      </span>
      <span className="cut grow mono small">
        {command !== null ? (
          <Shown text={command} />
        ) : path === undefined ? (
          <span className="muted">no files</span>
        ) : (
          <Shown text={path} />
        )}
        {command === null && changes.length > 1 ? (
          <span className="muted"> and {changes.length - 1} more</span>
        ) : null}
      </span>
      {running ? <span className="tag accent pulse">running</span> : null}
    </>
  )
}

function EditRow({ edit }: { readonly edit: UserEdit }) {
  const { label, files, additions, deletions, at } = edit
  return (
    <>
      <span className="cut grow small">
        <Agent name="user" />{' '}
        <span className="muted">
          {label === null ? `edited ${count(files, 'file')}` : <Shown text={label} />}
        </span>{' '}
        <span className="muted">
          <When at={at} />
        </span>
      </span>
      <Lines additions={additions} deletions={deletions} />
    </>
  )
}
