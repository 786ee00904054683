import type { MoveResult } from '@unturn/client'
import { Path, Shown } from './small.tsx'

const words = { write: 'write', delete: 'delete', rename: 'rename', mode: 'mode' } as const

/** Which paths would change, and how. */
export function Planned({ result }: { readonly result: MoveResult }) {
  const { files, prompt } = result
  if (result.kind !== 'planned') return null
  return (
    <section aria-label="Paths that would change">
      <h3>Changes</h3>
      {files.length === 0 ? (
        <p className="muted">No file changes: they are already as they would be.</p>
      ) : null}
      <ul className="plan">
        {files.map(({ path, action, from, merged }) => (
          <li key={path}>
            <span className={`action ${action}`}>{words[action]}</span>
            <span className="grow cut">
              <Path path={path} from={from} />
            </span>
            {merged ? <span className="tag accent">merged</span> : null}
          </li>
        ))}
      </ul>
      {prompt === undefined ? null : (
        <>
          <h3>The prompt comes back for editing</h3>
          <blockquote className="prompt-back">
            <Shown text={prompt} />
          </blockquote>
        </>
      )}
    </section>
  )
}
