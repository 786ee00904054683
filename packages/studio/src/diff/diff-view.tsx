import './diff.css'
import type { CodeViewItem, DiffLineAnnotation } from '@pierre/diffs'
import { CodeView, type CodeViewHandle } from '@pierre/diffs/react'
import { type ReactNode, type RefObject, useEffect, useMemo, useRef } from 'react'
import { Path } from '../parts/small.tsx'
import { itemId, wholeId } from './item-id.ts'
import { useDrawing } from './options.ts'
import { type ParsedFile, parsed } from './parse.ts'
import { DiffPool } from './pool.tsx'

export type Mark<T> = DiffLineAnnotation<T>

/** A file that somebody wants to see now; another object when he wants to see it again. */
export interface ShownFile {
  readonly path: string
}

export interface DiffViewProps<T> {
  readonly patch: string
  readonly label: string
  /** What stands at the right of a file's name. */
  readonly beside?: (path: string) => ReactNode
  /** Above all files: what cannot be drawn as lines. */
  readonly above?: ReactNode
  /** Files that are shown above. */
  readonly without?: ReadonlySet<string>
  readonly isClosed?: (path: string) => boolean
  readonly marks?: (path: string) => readonly Mark<T>[]
  readonly renderMark?: (mark: T) => ReactNode
  readonly handle?: RefObject<CodeViewHandle<T, undefined> | null>
  /** Changes whenever marks or closed files do. */
  readonly version?: string
  readonly shown?: ShownFile | undefined
}

let versions = 0

/** A patch, file by file. Only what can be seen is drawn. */
export function DiffView<T = undefined>(props: DiffViewProps<T>) {
  const { patch, label, beside, above, without, isClosed, marks, renderMark, version = '' } = props
  const drawing = useDrawing()
  const files = useMemo(
    () => parsed(patch).filter(({ path, isBare }) => !(isBare && without?.has(path) === true)),
    [patch, without],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when marks and closed files have changed; the functions themselves are new each time.
  const items = useMemo((): CodeViewItem<T>[] => {
    versions += 1
    return files.map(({ path, diff }, at) => ({
      id: itemId(path, at),
      type: 'diff',
      fileDiff: diff,
      version: versions,
      collapsed: isClosed?.(path) ?? false,
      annotations: [...(marks?.(path) ?? [])],
    }))
  }, [files, version])
  const own = useRef<CodeViewHandle<T, undefined>>(null)
  const { handle = own, shown } = props
  useEffect(() => {
    if (shown === undefined) return
    const at = files.findIndex(({ path }) => path === shown.path)
    const file = files[at]
    if (file === undefined) document.getElementById(wholeId(shown.path))?.scrollIntoView({ block: 'start' })
    else handle.current?.scrollTo({ type: 'item', id: itemId(file.path, at), align: 'start' })
  }, [shown, files, handle])
  const fileAt = useMemo(() => new Map(files.map((file, at) => [itemId(file.path, at), file])), [files])
  return (
    <DiffPool>
      <CodeView<T>
        ref={handle}
        className="diff"
        items={items}
        options={drawing}
        {...(above === undefined || above === null ? {} : { renderCodeViewHeader: () => above })}
        renderCustomHeader={({ id }) => <Header file={fileAt.get(id)} beside={beside} />}
        {...(renderMark === undefined
          ? {}
          : { renderAnnotation: (...[mark]) => renderMark(mark.metadata as T) })}
        containerRef={(element) => {
          element?.setAttribute('role', 'region')
          element?.setAttribute('aria-label', label)
          element?.setAttribute('tabindex', '0')
        }}
      />
    </DiffPool>
  )
}

interface HeaderProps {
  readonly file: ParsedFile | undefined
  readonly beside: ((path: string) => ReactNode) | undefined
}

const kinds: Readonly<Record<string, string>> = {
  new: 'new',
  deleted: 'deleted',
  'rename-pure': 'renamed',
  'rename-changed': 'renamed',
}

function Header({ file, beside }: HeaderProps) {
  if (file === undefined) return null
  const { path, from, diff, isBare } = file
  const kind = kinds[diff.type]
  return (
    <div className="diff-header">
      <span className="grow cut">
        <Path path={path} from={from} />
      </span>
      {kind === undefined ? null : <span className="tag">{kind}</span>}
      {diff.prevMode !== undefined && diff.mode !== undefined && diff.prevMode !== diff.mode ? (
        <span className="tag mono">
          {diff.prevMode} → {diff.mode}
        </span>
      ) : null}
      {isBare && kind === undefined && beside === undefined ? (
        <span className="tag">no lines to compare</span>
      ) : null}
      {beside?.(path)}
    </div>
  )
}
