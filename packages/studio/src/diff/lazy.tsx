/** Diffs come in a file of their own: the history is on the screen before it is here. */

import { lazy, Suspense } from 'react'
import { Mishap } from '../parts/mishap.tsx'
import type { DiffViewProps } from './diff-view.tsx'

const DiffView = lazy(async () => ({ default: (await import('./diff-view.tsx')).DiffView }))
const FileView = lazy(async () => ({ default: (await import('./file-view.tsx')).FileView }))

export function Diff<T = undefined>(props: DiffViewProps<T>) {
  const View = DiffView as unknown as (props: DiffViewProps<T>) => React.JSX.Element
  return (
    <Mishap what="The difference">
      <Suspense fallback={<p className="wait">Loading …</p>}>
        <View {...props} />
      </Suspense>
    </Mishap>
  )
}

export function WholeFile(props: { readonly path: string; readonly text: string; readonly label: string }) {
  return (
    <Mishap what="The file">
      <Suspense fallback={<p className="wait">Loading …</p>}>
        <FileView {...props} />
      </Suspense>
    </Mishap>
  )
}
