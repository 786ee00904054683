import './store.css'
import type { Collected, Findings, SessionSize, Store } from '@unturn/client'
import { useState } from 'react'
import { useAsk } from '../lib/ask.ts'
import { goTo } from '../lib/place.ts'
import { useStudio } from '../lib/studio.ts'
import { count, shortSession, size } from '../lib/words.ts'
import { Failure } from '../parts/failure.tsx'
import { Agent, Shown, When } from '../parts/small.tsx'
import { tell } from '../parts/toast.tsx'
import { Agents } from './agent-list.tsx'
import { CleanStore } from './clean-store.tsx'

/** What the history takes, and whether it is sound. */
export function StoreView() {
  const { workspace, live } = useStudio()
  const { data, failure, again } = useAsk(
    live,
    'store',
    (signal) => workspace.store({ signal }),
    (event) => event.type === 'turn.ended' || event.type === 'gc' || event.type === 'session.updated',
  )
  if (failure !== undefined && data === undefined) return <Failure failure={failure} again={again} />
  if (data === undefined) return <p className="wait">Loading …</p>
  return (
    <div className="store">
      <Totals store={data} />
      <Sessions sessions={data.sessions} onChange={again} />
      <Agents />
      <Health />
    </div>
  )
}

function Totals({ store }: { readonly store: Store }) {
  const facts = [
    ['On disk', size(store.diskBytes)],
    ['Linked from your repository', size(store.borrowedBytes)],
    ['Packs', store.packs.toLocaleString('en')],
    ['Operations', store.operations.toLocaleString('en')],
  ] as const
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt className="muted small">{name}</dt>
          <dd className="num">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Sessions({
  sessions,
  onChange,
}: {
  readonly sessions: readonly SessionSize[]
  readonly onChange: () => void
}) {
  const { workspace } = useStudio()
  const [plan, setPlan] = useState<Collected>()
  const most = Math.max(1, ...sessions.map(({ bytes }) => bytes))
  const pin = async ({ session, pinned }: SessionSize) => {
    try {
      await (pinned ? workspace.unpin(session) : workspace.pin(session))
      onChange()
    } catch (error) {
      if (error instanceof Error) tell({ text: error.message, isBad: true })
    }
  }
  const look = async () => {
    try {
      setPlan(await workspace.gc({ dryRun: true }))
    } catch (error) {
      if (error instanceof Error) tell({ text: error.message, isBad: true })
    }
  }
  return (
    <section aria-label="Sessions">
      <div className="bar">
        <h2 className="grow">Sessions by size</h2>
        <button type="button" onClick={() => void look()}>
          Clean up…
        </button>
      </div>
      <div className="table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Session</th>
              <th scope="col" className="right">
                Size
              </th>
              <th scope="col" className="right wide-only-cell">
                Turns
              </th>
              <th scope="col" className="wide-only-cell">
                Last
              </th>
              <th scope="col">
                <span className="hidden">Keep</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sessions.map((one) => (
              <tr key={one.session}>
                <td>
                  <button
                    type="button"
                    className="link"
                    onClick={() => goTo('history', { session: one.session })}
                  >
                    <Agent name={one.agent} />{' '}
                    <span className="mono">
                      <Shown text={shortSession(one.session)} />
                    </span>
                  </button>
                  <meter
                    className="size-bar"
                    min={0}
                    max={most}
                    value={one.bytes}
                    aria-label={`${size(one.bytes)} of the largest session's ${size(most)}`}
                  />
                </td>
                <td className="right num">{size(one.bytes)}</td>
                <td className="right num wide-only-cell">{one.turns.toLocaleString('en')}</td>
                <td className="wide-only-cell">
                  <When at={one.lastAt} />
                </td>
                <td className="right">
                  <button type="button" aria-pressed={one.pinned} onClick={() => void pin(one)}>
                    {one.pinned ? 'Pinned' : 'Pin'}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {sessions.length === 0 ? <p className="muted">No session has been recorded.</p> : null}
      {plan === undefined ? null : (
        <CleanStore
          plan={plan}
          onClose={() => {
            setPlan(undefined)
            onChange()
          }}
        />
      )}
    </section>
  )
}

function Health() {
  const { workspace } = useStudio()
  const [findings, setFindings] = useState<Findings>()
  const [isBusy, setBusy] = useState(false)
  const check = async (repair: boolean) => {
    setBusy(true)
    try {
      setFindings(await workspace.doctor(repair ? { repair } : {}))
    } catch (error) {
      if (error instanceof Error) tell({ text: error.message, isBad: true })
    }
    setBusy(false)
  }
  return (
    <section aria-label="Health">
      <div className="bar">
        <h2 className="grow">Health</h2>
        {findings === undefined || findings.findings.length === 0 ? null : (
          <button type="button" disabled={isBusy} onClick={() => void check(true)}>
            Repair
          </button>
        )}
        <button type="button" disabled={isBusy} onClick={() => void check(false)}>
          {isBusy ? 'Checking …' : 'Check the store'}
        </button>
      </div>
      <div role="status">
        {findings === undefined ? (
          <p className="muted">
            Reads every stored object and compares the index with the log. Changes nothing.
          </p>
        ) : findings.findings.length === 0 ? (
          <p>
            <span className="tag good">sound</span> Nothing is missing or damaged.
          </p>
        ) : (
          <>
            <p>{count(findings.findings.length, 'finding')}</p>
            <ul className="findings">
              {findings.findings.map(({ severity, what }) => (
                <li key={what}>
                  <span className={severity === 'error' ? 'tag bad' : 'tag warn'}>{severity}</span>{' '}
                  <Shown text={what} />
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </section>
  )
}
