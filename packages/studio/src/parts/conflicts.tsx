import type { Conflict } from '@unturn/client'
import { useState } from 'react'
import type { How, OnConflict } from '../lib/wish.ts'
import { Path, Shown } from './small.tsx'

interface Props {
  readonly conflicts: readonly Conflict[]
  /** Every file has a choice, and the result is shown below. */
  readonly isSettled: boolean
  readonly how: How
  readonly onHow: (how: How) => void
}

const choices: readonly { readonly choice: OnConflict; readonly label: string; readonly what: string }[] = [
  { choice: 'abort', label: 'Stop', what: 'change nothing at all' },
  { choice: 'keep', label: 'Keep yours', what: 'leave this file, do the rest' },
  { choice: 'overwrite', label: 'Take the old one', what: 'the newer version stays recoverable' },
  { choice: 'markers', label: 'Write both', what: 'with conflict markers, to be sorted out by hand' },
]

/** Files where newer work and the old version overlap, each with its four choices. */
export function Conflicts({ conflicts: told, isSettled, how, onHow }: Props) {
  // One path may be in the way of several turns; it is one decision.
  const conflicts = [...new Map(told.map((conflict) => [conflict.path, conflict])).values()]
  const chosen = how.choices ?? {}
  const choose = (paths: readonly string[], choice: OnConflict) =>
    onHow({ ...how, choices: { ...chosen, ...Object.fromEntries(paths.map((path) => [path, choice])) } })
  const all = conflicts.map(({ path }) => path)
  return (
    <section aria-label="Conflicts" className="conflicts">
      <div className="bar">
        <h3 className="grow">
          {isSettled ? 'Conflicts, as you decided' : 'Newer work overlaps here. Nothing was changed.'}
        </h3>
        {all.length < 2 ? null : (
          <span className="switches">
            <span className="muted">All:</span>
            {choices.slice(1).map(({ choice, label }) => (
              <button key={choice} type="button" className="quiet" onClick={() => choose(all, choice)}>
                {label}
              </button>
            ))}
          </span>
        )}
      </div>
      <ul>
        {conflicts.map((conflict) => (
          <li key={conflict.path}>
            <One
              conflict={conflict}
              choice={chosen[conflict.path] ?? 'abort'}
              onChoose={(choice) => choose([conflict.path], choice)}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

interface OneProps {
  readonly conflict: Conflict
  readonly choice: OnConflict
  readonly onChoose: (choice: OnConflict) => void
}

function One({ conflict, choice, onChoose }: OneProps) {
  const { path, message, versions } = conflict
  const [isOpen, setOpen] = useState(true)
  return (
    <fieldset className="conflict">
      <legend>
        <button type="button" className="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Path path={path} />
        </button>
      </legend>
      <p className="muted">
        <Shown text={message} />
      </p>
      {isOpen ? (
        <div className="three">
          <Version title="Base" of="as the turn left it" text={versions?.base} />
          <Version
            title="Yours"
            of="as it is now"
            text={versions === undefined ? conflict.ours : versions.ours}
          />
          <Version
            title="Old"
            of="as it would be"
            text={versions === undefined ? conflict.theirs : versions.theirs}
          />
        </div>
      ) : null}
      <div className="choices" role="radiogroup" aria-label={`What to do with ${path}`}>
        {choices.map((one) => (
          <label key={one.choice} className={one.choice === choice ? 'chosen' : ''}>
            <input
              type="radio"
              name={`choice ${path}`}
              checked={one.choice === choice}
              onChange={() => onChoose(one.choice)}
            />
            <span>
              <strong>{one.label}</strong>
              <span className="muted small"> {one.what}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

function Version({
  title,
  of,
  text,
}: {
  readonly title: string
  readonly of: string
  readonly text: string | null | undefined
}) {
  return (
    <div className="version">
      <h4>
        {title} <span className="muted small">{of}</span>
      </h4>
      {text === null || text === undefined ? (
        <p className="muted">{text === null ? 'The file is not there.' : 'Not known.'}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keys.
        <section tabIndex={0} aria-label={`${title}: ${of}`} className="version-text">
          <pre>
            <Shown text={text} />
          </pre>
        </section>
      )}
    </div>
  )
}
