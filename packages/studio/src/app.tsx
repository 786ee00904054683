import type { Unturn } from '@unturn/client'
import { always, useAsk } from './lib/ask.ts'
import { useKey, useNewKey } from './lib/key.ts'
import { usePlace } from './lib/place.ts'
import { useTheme } from './lib/theme.ts'
import { Failure } from './parts/failure.tsx'
import { Empty } from './parts/small.tsx'
import { Toasts } from './parts/toast.tsx'
import { Workspace } from './views/workspace.tsx'
import { WorkspaceList } from './views/workspace-list.tsx'

export function App({ unturn }: { readonly unturn: Unturn }) {
  useTheme()
  const key = useKey()
  return (
    <>
      {key === undefined ? <NoToken /> : <Chosen unturn={unturn} />}
      <Toasts />
    </>
  )
}

/** Without the token nobody may ask the server anything, not even this page. */
function NoToken() {
  return (
    <main className="lone">
      <Empty title="This page was opened without its key">
        <p className="muted">Open it from a terminal, which hands the key over in the address:</p>
        <pre className="command">unturn studio</pre>
      </Empty>
    </main>
  )
}

function Chosen({ unturn }: { readonly unturn: Unturn }) {
  const { workspace } = usePlace()
  const { data, failure, again } = useAsk(
    undefined,
    'workspaces',
    (signal) => unturn.workspaces({ signal }),
    always,
  )
  useNewKey(again)
  if (failure !== undefined && data === undefined)
    return (
      <main className="lone">
        <Failure failure={failure} again={again} />
      </main>
    )
  const only = data?.length === 1 ? data[0]?.id : undefined
  const id = workspace ?? only
  if (id !== undefined) return <Workspace key={id} unturn={unturn} id={id} workspaces={data ?? []} />
  return data === undefined ? null : <WorkspaceList workspaces={data} />
}
