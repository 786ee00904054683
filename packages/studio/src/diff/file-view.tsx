import './diff.css'
import { CodeView } from '@pierre/diffs/react'
import { useMemo } from 'react'
import { visible } from '../lib/visible.ts'
import { Path } from '../parts/small.tsx'
import { useDrawing } from './options.ts'
import { languageOf } from './parse.ts'
import { DiffPool } from './pool.tsx'

let versions = 0

/** One whole file, to read. */
export function FileView({
  path,
  text,
  label,
}: {
  readonly path: string
  readonly text: string
  readonly label: string
}) {
  const drawing = useDrawing()
  const items = useMemo(() => {
    versions += 1
    // A line ending at the end of a file is no further line.
    const contents = text
      .replace(/\r?\n$/, '')
      .split('\n')
      .map(withoutReturn)
      .join('\n')
    const file = { name: path, contents, lang: languageOf(path), cacheKey: `file-${versions}` }
    return [{ id: path, type: 'file' as const, file, version: versions }]
  }, [path, text])
  return (
    <DiffPool>
      <CodeView
        className="diff"
        items={items}
        options={drawing}
        renderCustomHeader={() => (
          <div className="diff-header">
            <Path path={path} />
          </div>
        )}
        containerRef={(element) => {
          element?.setAttribute('role', 'region')
          element?.setAttribute('aria-label', label)
          element?.setAttribute('tabindex', '0')
        }}
      />
    </DiffPool>
  )
}

function withoutReturn(line: string): string {
  return visible(line.endsWith('\r') ? line.slice(0, -1) : line)
}
