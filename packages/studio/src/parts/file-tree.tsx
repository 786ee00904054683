import type { PastEntry } from '@unturn/client'
import { useState } from 'react'
import { useAsk } from '../lib/ask.ts'
import { useStudio } from '../lib/studio.ts'
import { Failure } from './failure.tsx'
import { Shown } from './small.tsx'

interface Point {
  readonly at: string
  readonly side: 'before' | 'after'
  readonly session?: string
}

interface Props {
  readonly point: Point
  readonly chosen: string | undefined
  readonly onChoose: (path: string) => void
}

/** Files and folders at a point of the history; a folder is asked for when it is opened. */
export function FileTree({ point, chosen, onChoose }: Props) {
  return (
    <nav className="file-tree" aria-label="Files">
      <Folder point={point} chosen={chosen} onChoose={onChoose} under={undefined} />
    </nav>
  )
}

function Folder({ point, chosen, onChoose, under }: Props & { readonly under: string | undefined }) {
  const { workspace, live } = useStudio()
  const { data, failure } = useAsk(
    live,
    `${point.at} ${point.side} ${under ?? ''}`,
    (signal) => workspace.files({ ...point, ...(under === undefined ? {} : { under }) }, { signal }),
    (event) =>
      point.at === 'now' &&
      (event.type === 'change' ||
        event.type === 'undo' ||
        event.type === 'redo' ||
        event.type === 'restore' ||
        event.type === 'rollback'),
  )
  if (failure !== undefined) return <Failure failure={failure} />
  if (data === undefined) return <p className="muted small">Loading …</p>
  const entries = [...data.entries].sort((a, b) => Number(b.kind === 'folder') - Number(a.kind === 'folder'))
  return (
    <ul>
      {entries.map((entry) => (
        <Entry key={entry.path} entry={entry} point={point} chosen={chosen} onChoose={onChoose} />
      ))}
      {data.complete ? null : <li className="muted small">More than can be listed here.</li>}
    </ul>
  )
}

function Entry({ entry, ...props }: Props & { readonly entry: PastEntry }) {
  const { path, kind } = entry
  const [isOpen, setOpen] = useState(props.chosen?.startsWith(`${path}/`) ?? false)
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (kind === 'folder')
    return (
      <li>
        <button type="button" className="entry" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span className="chevron" aria-hidden="true">
            {isOpen ? '▾' : '▸'}
          </span>
          <span className="cut">
            <Shown text={name} />
          </span>
        </button>
        {isOpen ? <Folder {...props} under={path} /> : null}
      </li>
    )
  return (
    <li>
      <button
        type="button"
        className="entry file"
        aria-current={path === props.chosen ? 'true' : undefined}
        onClick={() => props.onChoose(path)}
      >
        <span className="cut">
          <Shown text={name} />
        </span>
        {kind === 'link' ? <span className="tag">link</span> : null}
      </button>
    </li>
  )
}
