import type { AgentList } from '@unturn/client'
import { always, useAsk } from '../lib/ask.ts'
import { useStudio } from '../lib/studio.ts'
import { count } from '../lib/words.ts'
import { Shown, When } from '../parts/small.tsx'

/** The agents of this machine: whether Unturn hears of what they do, and what to do where it does not. */
export function Agents() {
  const { workspace } = useStudio()
  const { data } = useAsk(undefined, 'agents', (signal) => workspace.agents({ signal }), always)
  const known =
    data?.agents.filter(({ found, installed, lastHeard }) => found || installed || lastHeard) ?? []
  if (data === undefined || known.length === 0) return null
  return (
    <section aria-label="Agents">
      <div className="bar">
        <h2 className="grow">Agents on this machine</h2>
      </div>
      <ul className="findings">
        {known.map((agent) => (
          <li key={agent.agent}>
            <One agent={agent} />
          </li>
        ))}
      </ul>
      {data.waitingEvents === 0 ? null : (
        <p>
          <span className="tag warn">waiting</span> {count(data.waitingEvents, 'event')} of agents could not
          be recorded yet. The next command tries again.
        </p>
      )}
    </section>
  )
}

function One({ agent }: { readonly agent: AgentList['agents'][number] }) {
  const { title, installed, trusted, lastHeard, problems } = agent
  const isHeard = installed !== null && trusted !== 'no' && problems.length === 0
  return (
    <>
      <span className={isHeard ? 'tag good' : 'tag warn'}>{isHeard ? 'connected' : 'not connected'}</span>{' '}
      <strong>{title}</strong>{' '}
      {installed === null ? (
        <>
          its hooks are not installed: <code>unturn init {agent.agent}</code>
        </>
      ) : (
        <span className="muted">hooks installed {installed === 'user' ? 'for you' : 'in this project'}</span>
      )}{' '}
      {lastHeard === null ? null : (
        <span className="muted">
          last heard <When at={lastHeard} />
        </span>
      )}
      {problems.map((problem) => (
        <p key={problem} className="muted">
          <Shown text={problem} />
        </p>
      ))}
    </>
  )
}
