import type { Change, PastFile } from '@unturn/client'
import { type ReactNode, useEffect, useMemo } from 'react'
import { never, useAsk } from '../lib/ask.ts'
import { useStudio } from '../lib/studio.ts'
import { size } from '../lib/words.ts'
import { Path } from '../parts/small.tsx'
import { wholeId } from './item-id.ts'

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

export function isImage(path: string): boolean {
  return typeOf(path) !== undefined
}

/** Worth showing as a whole: binary, or an image that happens to be text. */
function isWhole(change: Change): boolean {
  return change.binary || isImage(change.path)
}

/** Paths of changes that are shown as a whole. */
export function wholePaths(changes: readonly Change[]): ReadonlySet<string> {
  return new Set(changes.filter(isWhole).map(({ path }) => path))
}

interface Point {
  readonly at: string
  readonly session?: string | undefined
}

interface BinariesProps {
  readonly changes: readonly Change[]
  readonly point: Point
  /** What stands at the right of a file's name. */
  readonly beside?: (path: string) => ReactNode
}

/** Files that cannot be compared line by line: images side by side, of others what there is to say. */
export function Binaries({ changes, point, beside }: BinariesProps) {
  const { workspace } = useStudio()
  const shown = [...new Map(changes.filter(isWhole).map((change) => [change.path, change])).values()]
  if (shown.length === 0) return null
  const { at, session } = point
  return (
    <ul className="binaries">
      {shown.map(({ id, path, from = path, kind }) => (
        <li key={id}>
          <Sides
            path={path}
            from={from}
            isNew={kind === 'add'}
            isGone={kind === 'delete'}
            version={at}
            load={(side, signal) =>
              workspace.file(
                {
                  path: side === 'before' ? from : path,
                  at,
                  side,
                  ...(session === undefined ? {} : { session }),
                },
                { signal },
              )
            }
            beside={beside?.(path)}
          />
        </li>
      ))}
    </ul>
  )
}

type SideName = 'before' | 'after'

interface SidesProps {
  readonly path: string
  readonly from?: string | undefined
  readonly isNew: boolean
  readonly isGone: boolean
  /** Another one when the content may be another. */
  readonly version: string
  readonly load: (side: SideName, signal: AbortSignal) => Promise<PastFile>
  readonly beside?: ReactNode
  /** Below the sides. */
  readonly children?: ReactNode
}

/** One file as a whole, before and after. */
export function Sides({ path, from, isNew, isGone, version, load, beside, children }: SidesProps) {
  return (
    <section aria-label={path} id={wholeId(path)}>
      <div className="diff-header">
        <span className="grow cut">
          <Path path={path} from={from} />
        </span>
        <span className="tag">{isImage(path) ? 'image' : 'binary'}</span>
        {beside}
      </div>
      <div className="sides">
        <Side
          title="Before"
          path={from ?? path}
          side="before"
          isThere={!isNew}
          version={version}
          load={load}
        />
        <Side title="After" path={path} side="after" isThere={!isGone} version={version} load={load} />
      </div>
      {children}
    </section>
  )
}

interface SideProps extends Pick<SidesProps, 'path' | 'version' | 'load'> {
  readonly title: string
  readonly side: SideName
  readonly isThere: boolean
}

function Side({ title, path, side, isThere, version, load }: SideProps) {
  const key = isThere ? `${version} ${side} ${path}` : undefined
  const { data, failure } = useAsk(undefined, key, (signal) => load(side, signal), never)
  return (
    <figure className="side">
      <figcaption className="muted small">
        {title}
        {data === undefined ? '' : ` · ${size(data.size)}`}
      </figcaption>
      {isThere ? (
        <WholeContent file={data} failure={failure} path={path} />
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

/** What can be shown of a file that is no text: the image that it is, or its fingerprint. */
export function WholeContent({ file, failure, path }: ContentProps) {
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
