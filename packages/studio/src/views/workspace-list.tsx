import type { WorkspaceEntry } from '@unturn/client'
import { openWorkspaceAt } from '../lib/place.ts'
import { Empty, Shown } from '../parts/small.tsx'

export function WorkspaceList({ workspaces }: { readonly workspaces: readonly WorkspaceEntry[] }) {
  if (workspaces.length === 0)
    return (
      <main className="lone">
        <Empty title="No workspace has a history yet">
          <p className="muted">Go to a project in a terminal and connect your agent:</p>
          <pre className="command">unturn init</pre>
        </Empty>
      </main>
    )
  return (
    <main className="lone">
      <h1>Workspaces</h1>
      <ul className="workspaces">
        {workspaces.map(({ id, name, root }) => (
          <li key={id}>
            <button type="button" onClick={() => openWorkspaceAt(id)}>
              <strong>
                <Shown text={name} />
              </strong>
              <span className="muted mono small cut">
                <Shown text={root} />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </main>
  )
}
