import { Empty } from '../parts/small.tsx'
import { Agents } from './agent-list.tsx'

/** Nothing has been recorded yet: how to change that. */
export function Teach() {
  return (
    <Empty title="No agent has worked here yet">
      <p className="muted">
        Connect your agent once, in a terminal in this folder. It shows the exact file changes first, and{' '}
        <code>unturn init --remove</code> takes them out again.
      </p>
      <pre className="command">unturn init</pre>
      <p className="muted">No hooks? Run any command as a turn of its own:</p>
      <pre className="command">unturn run --agent my-agent -- COMMAND</pre>
      <p className="muted">Turns appear here as they happen.</p>
      <Agents />
    </Empty>
  )
}
