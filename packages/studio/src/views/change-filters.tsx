import { type RefObject, useEffect, useState } from 'react'
import { useMarks } from '../lib/place.ts'
import { type Preferences, usePreferences } from '../lib/preferences.ts'
import { useStudio } from '../lib/studio.ts'
import { visible } from '../lib/visible.ts'
import { preview } from '../parts/preview.tsx'

const groupings: readonly { readonly by: Preferences['groupBy']; readonly name: string }[] = [
  { by: 'turn', name: 'turn' },
  { by: 'file', name: 'file' },
  { by: 'agent', name: 'agent' },
  { by: 'day', name: 'day' },
  { by: 'none', name: 'nothing' },
]

interface Props {
  readonly searchRef: RefObject<HTMLInputElement | null>
  /** Everybody whose changes have been listed. */
  readonly actors: readonly string[]
}

export function ChangeFilters({ searchRef, actors }: Props) {
  const { status } = useStudio()
  const [marks, mark] = useMarks()
  const [{ groupBy }, change] = usePreferences()
  // Several agents may have worked in one session, and a list that is narrowed to one of them no longer has the others.
  const [met, meet] = useState<readonly string[]>([])
  const agents = [...new Set([...met, ...status.sessions.map(({ agent }) => agent), ...actors])].filter(
    (name) => name !== 'user' && name !== 'unturn',
  )
  if (agents.some((name) => !met.includes(name))) meet(agents)
  const session = status.sessions.find((one) => one.active)?.id
  const since = marks.since
  return (
    <search className="filters">
      <Text
        name="text"
        label="Text in path, prompt or command"
        value={marks.text}
        searchRef={searchRef}
        onChange={(text) => mark({ text }, 'replace')}
      />
      <Text
        name="file"
        label="File or folder"
        value={marks.file}
        onChange={(file) => mark({ file }, 'replace')}
      />
      <label>
        <span className="hidden">Agent</span>
        <select
          value={marks.agent ?? ''}
          onChange={(event) => mark({ agent: event.target.value || undefined }, 'replace')}
        >
          <option value="">Any agent</option>
          {agents.map((agent) => (
            <option key={agent} value={agent}>
              {visible(agent)}
            </option>
          ))}
          <option value="user">you</option>
        </select>
      </label>
      <Text name="turn" label="Turn" value={marks.turn} onChange={(turn) => mark({ turn }, 'replace')} />
      <label className="since">
        <span className="muted">since</span>
        <input
          type="datetime-local"
          value={since ?? ''}
          onChange={(event) => mark({ since: event.target.value || undefined }, 'replace')}
        />
      </label>
      <label className="since">
        <span className="muted">until</span>
        <input
          type="datetime-local"
          value={marks.until ?? ''}
          onChange={(event) => mark({ until: event.target.value || undefined }, 'replace')}
        />
      </label>
      {since === undefined ? null : (
        <button
          type="button"
          onClick={() =>
            preview({
              kind: 'rollback',
              ...(session === undefined ? {} : { session }),
              selection: { after: new Date(since).toISOString() },
              what: 'everything since then',
            })
          }
        >
          Roll back everything since…
        </button>
      )}
      <span className="grow" />
      <label>
        <span className="muted">group by </span>
        <select
          value={groupBy}
          onChange={(event) => change({ groupBy: event.target.value as Preferences['groupBy'] })}
        >
          {groupings.map(({ by, name }) => (
            <option key={by} value={by}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </search>
  )
}

interface TextProps {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
  readonly searchRef?: RefObject<HTMLInputElement | null>
}

const patienceMs = 200

function Text({ name, label, value = '', onChange, searchRef }: TextProps) {
  const [typed, setTyped] = useState(value)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what was typed starts the clock.
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => onChange(typed === '' ? undefined : typed), patienceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      ref={searchRef}
      type="search"
      name={name}
      aria-label={label}
      placeholder={label}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  )
}
