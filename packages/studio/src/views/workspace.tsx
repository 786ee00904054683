import type { ServerEvent, Unturn, WorkspaceEntry } from '@unturn/client'
import { useEffect, useMemo, useState } from 'react'
import type { View } from '../lib/address.ts'
import { useAsk } from '../lib/ask.ts'
import { Early } from '../lib/early.ts'
import { useNewKey } from '../lib/key.ts'
import { useKeys } from '../lib/keys.ts'
import { Live } from '../lib/live.ts'
import { goTo, usePlace } from '../lib/place.ts'
import { usePreferences } from '../lib/preferences.ts'
import { type Studio, StudioProvider } from '../lib/studio.ts'
import { Connection } from '../parts/connection.tsx'
import { Failure } from '../parts/failure.tsx'
import { KeyList } from '../parts/key-list.tsx'
import { Preview } from '../parts/preview.tsx'
import { BlameView } from './blame-view.tsx'
import { ChangesView } from './changes-view.tsx'
import { Header, viewNames } from './header.tsx'
import { History } from './history.tsx'
import { ReviewView } from './review-view.tsx'
import { StoreView } from './store-view.tsx'

interface Props {
  readonly unturn: Unturn
  readonly id: string
  readonly workspaces: readonly WorkspaceEntry[]
}

/** One workspace, with everything that can be seen and done in it. */
export function Workspace({ unturn, id, workspaces }: Props) {
  const workspace = useMemo(() => unturn.workspace(id), [unturn, id])
  const live = useMemo(() => new Live(workspace), [workspace])
  const { data: status, failure, again } = useAsk(live, id, (signal) => workspace.status({ signal }), isNews)
  useNewKey(again)
  // Asked side by side: to wait for one before the other is asked would make the first sight of a long history later.
  const early = useMemo(() => new Early(workspace, live), [workspace, live])
  const from = status?.eventId
  const [first, setFirst] = useState<string>()
  if (first === undefined && from !== undefined) setFirst(from)
  useEffect(() => {
    if (first === undefined) return
    return live.begin(first)
  }, [live, first])
  if (status === undefined || first === undefined)
    return (
      <main className="lone">
        {failure === undefined ? (
          <p className="wait">Loading …</p>
        ) : (
          <Failure failure={failure} again={again} />
        )}
      </main>
    )
  return <Known studio={{ unturn, workspace, live, status, early, since: first }} workspaces={workspaces} />
}

// What the status says of sessions; not every single change.
function isNews(event: ServerEvent): boolean {
  return event.type !== 'step.began' && event.type !== 'change'
}

const views: Readonly<Record<View, () => React.JSX.Element>> = {
  history: History,
  changes: ChangesView,
  review: ReviewView,
  files: BlameView,
  store: StoreView,
}

function Known({
  studio,
  workspaces,
}: {
  readonly studio: Studio
  readonly workspaces: readonly WorkspaceEntry[]
}) {
  const { view } = usePlace()
  const [preferences, change] = usePreferences()
  const [isHelping, setHelping] = useState(false)
  const help = () => setHelping(true)
  useKeys('Everywhere', [
    { key: '1', does: 'history', run: () => goTo('history', {}) },
    { key: '2', does: 'changes', run: () => goTo('changes', {}) },
    { key: '3', does: 'review', run: () => goTo('review', {}) },
    { key: '4', does: 'files and blame', run: () => goTo('files', {}) },
    { key: '5', does: 'store', run: () => goTo('store', {}) },
    {
      key: 's',
      does: 'split or unified diffs',
      run: () => change({ diffStyle: preferences.diffStyle === 'split' ? 'unified' : 'split' }),
    },
    {
      key: 'w',
      does: 'show or ignore whitespace changes',
      run: () => change({ whitespace: preferences.whitespace === 'show' ? 'ignore' : 'show' }),
    },
    { key: '?', does: 'these keys', run: help },
  ])
  const Shown = views[view]
  return (
    <StudioProvider value={studio}>
      <div className="shell">
        <Header workspaces={workspaces} onHelp={help} />
        <Connection />
        <main className="view">
          <h1 className="hidden">{viewNames[view]}</h1>
          <Shown />
        </main>
      </div>
      <Preview />
      {isHelping ? <KeyList onClose={() => setHelping(false)} /> : null}
    </StudioProvider>
  )
}
