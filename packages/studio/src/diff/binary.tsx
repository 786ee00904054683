import type { Change, PastFile } from '@unturn/client'
import { useEffect, useMemo } from 'react'
import { never, useAsk } from '../lib/ask.ts'
import { useStudio } from '../lib/studio.ts'
import { size } from '../lib/words.ts'
import { Path } from '../parts/small.tsx'

const images: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  svg: 'image/svg+xml',
  webp: 'image/webp',
}

function typeOf(path: string): string | undefined {
  return images[path.slice(path.lastIndexOf('.') + 1).toLowerCase()]
}

/** Worth showing as a whole: binary, or an image that happens to be text. */
function isWhole(change: Change): boolean {
  return change.binary || typeOf(change.path) !== undefined
}

/** Paths of changes that are shown as a whole. */
export function wholePaths(changes: readonly Change[]): ReadonlySet<string> {
  return new Set(changes.filter(isWhole).map(({ path }) => path))
}

interface Point {
  readonly at: string
  readonly session?: string | undefined
}

/** Files that cannot be compared line by line: images side by side, of others what there is to say. */
export function Binaries({ changes, point }: { readonly changes: readonly Change[]; readonly point: Point }) {
  const shown = [...new Map(changes.filter(isWhole).map((change) => [change.path, change])).values()]
  if (shown.length === 0) return null
  return (
    <ul className="binaries">
      {shown.map((change) => (
        <li key={change.id}>
          <Sides change={change} point={point} />
        </li>
      ))}
    </ul>
  )
}

function Sides({ change, point }: { readonly change: Change; readonly point: Point }) {
  const { path, from = path, kind } = change
  return (
    <section aria-label={path}>
      <div className="diff-header">
        <span className="grow cut">
          <Path path={path} from={change.from} />
        </span>
        <span className="tag">{typeOf(path) === undefined ? 'binary' : 'image'}</span>
      </div>
      <div className="sides">
        <Side title="Before" path={from} point={point} side="before" isThere={kind !== 'add'} />
        <Side title="After" path={path} point={point} side="after" isThere={kind !== 'delete'} />
      </div>
    </section>
  )
}

interface SideProps {
  readonly title: string
  readonly path: string
  readonly point: Point
  readonly side: 'before' | 'after'
  readonly isThere: boolean
}

function Side({ title, path, point, side, isThere }: SideProps) {
  const { workspace } = useStudio()
  const key = isThere ? `${point.at} ${side} ${path}` : undefined
  const { data, failure } = useAsk(
    undefined,
    key,
    (signal) =>
      workspace.file(
        { path, at: point.at, side, ...(point.session === undefined ? {} : { session: point.session }) },
        { signal },
      ),
    never,
  )
  return (
    <figure className="side">
      <figcaption className="muted small">
        {title}
        {data === undefined ? '' : ` · ${size(data.size)}`}
      </figcaption>
      {isThere ? (
        <SideContent file={data} failure={failure} path={path} />
      ) : (
        <p className="muted">The file was not there.</p>
      )}
    </figure>
  )
}

interface ContentProps {
  readonly file: PastFile | undefined
  readonly failure: Error | undefined
  readonly path: string
}

function SideContent({ file, failure, path }: ContentProps) {
  const url = useImage(file, path)
  if (failure !== undefined) return <p className="muted">{failure.message}</p>
  if (file === undefined) return <p className="muted">Loading …</p>
  if (file.tooLarge) return <p className="muted">Too large to be shown here.</p>
  if (url !== undefined) return <img src={url} alt={`${path}, ${size(file.size)}`} />
  return (
    <p className="mono small muted">
      {file.blob.slice(0, 12)} · mode {file.mode}
    </p>
  )
}

function useImage(file: PastFile | undefined, path: string): string | undefined {
  const url = useMemo(() => {
    const type = typeOf(path)
    if (file === undefined || type === undefined || file.tooLarge) return undefined
    const bytes =
      file.base64 === undefined ? file.text : Uint8Array.from(atob(file.base64), (c) => c.charCodeAt(0))
    return bytes === undefined ? undefined : URL.createObjectURL(new Blob([bytes], { type }))
  }, [file, path])
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url])
  return url
}
