import type { WorkspaceEntry } from '@unturn/client'
import { type View, views } from '../lib/address.ts'
import { goTo, openWorkspaceAt, usePlace } from '../lib/place.ts'
import { usePreferences } from '../lib/preferences.ts'
import { useStudio } from '../lib/studio.ts'
import { useTheme } from '../lib/theme.ts'
import { visible } from '../lib/visible.ts'
import { useConnection } from '../parts/connection.tsx'
import { Shown } from '../parts/small.tsx'

export const viewNames: Readonly<Record<View, string>> = {
  history: 'History',
  changes: 'Changes',
  review: 'Review',
  files: 'Files',
  store: 'Store',
}
const liveWords = {
  connecting: 'connecting',
  open: 'live',
  lost: 'connection lost',
  refused: 'refused',
} as const

interface Props {
  readonly workspaces: readonly WorkspaceEntry[]
  readonly onHelp: () => void
}

export function Header({ workspaces, onHelp }: Props) {
  const { status } = useStudio()
  const { view } = usePlace()
  const connection = useConnection()
  const [, change] = usePreferences()
  const theme = useTheme()
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <header className="header">
      <span className="brand" aria-hidden="true">
        ↶
      </span>
      {workspaces.length > 1 ? (
        <select
          className="workspace-name"
          aria-label="Workspace"
          value={status.id}
          onChange={(event) => openWorkspaceAt(event.target.value)}
        >
          {workspaces.map(({ id, name }) => (
            <option key={id} value={id}>
              {visible(name)}
            </option>
          ))}
        </select>
      ) : (
        <span className="workspace-name cut" title={visible(status.root)}>
          <Shown text={status.name} />
        </span>
      )}
      <nav className="tabs" aria-label="Views">
        {views.map((one) => (
          <button
            key={one}
            type="button"
            className="tab"
            aria-current={one === view ? 'page' : undefined}
            onClick={() => goTo(one, {})}
          >
            {viewNames[one]}
            {one === 'review' && status.pendingHunks > 0 ? (
              <span className="tag accent num">{status.pendingHunks}</span>
            ) : null}
          </button>
        ))}
      </nav>
      <span className="grow" />
      <span className={`live ${connection}`} title={liveWords[connection]}>
        <span className="dot" aria-hidden="true" />
        <span className="live-word small">{liveWords[connection]}</span>
      </span>
      <button
        type="button"
        className="quiet"
        aria-label={`Switch to ${other} colours`}
        onClick={() => change({ theme: other })}
      >
        {theme === 'dark' ? '☀' : '☾'}
      </button>
      <button type="button" className="quiet" aria-label="Keys" onClick={onHelp}>
        ?
      </button>
    </header>
  )
}
