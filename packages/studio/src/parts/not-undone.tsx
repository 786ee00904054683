import type { MoveResult, Skipped } from '@unturn/client'
import { Path, Shown } from './small.tsx'

interface Props {
  readonly result: MoveResult
  readonly git: boolean
  /** Absent where a branch cannot be moved along. */
  readonly onGit?: (git: boolean) => void
}

const reasons: Readonly<Record<Skipped['reason'], string>> = {
  ignored: 'ignored',
  'too-large': 'too large',
  unreadable: 'unreadable',
  special: 'special file',
  'nested-git': 'nested repository',
  purged: 'purged',
}

/** What this cannot take back, honestly. */
export function NotUndone({ result, git, onGit }: Props) {
  const { commands, commits, skipped, branch } = result.notUndone
  if (commands.length + commits.length + skipped.length === 0 && branch === undefined && !git) return null
  return (
    <section aria-label="What is not undone" className="not-undone">
      <h3>Not undone</h3>
      {commands.length === 0 ? null : (
        <>
          <p className="muted">What these commands did outside of the captured files stays:</p>
          <ul>
            {commands.map((command, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the same command may have run twice, and the list never changes.
              <li key={at} className="mono cut">
                <Shown text={command} />
              </li>
            ))}
          </ul>
        </>
      )}
      {commits.length === 0 && !git ? null : (
        <>
          <p className="muted">Commits stay in your repository:</p>
          <ul>
            {commits.map(({ id, subject }) => (
              <li key={id} className="cut">
                <code>{id.slice(0, 9)}</code> <Shown text={subject} />
              </li>
            ))}
          </ul>
          {onGit === undefined ? null : (
            <label className="check">
              <input type="checkbox" checked={git} onChange={(event) => onGit(event.target.checked)} />
              Also move the branch back over them
            </label>
          )}
          {result.git === undefined || result.git.moved ? null : <p className="muted">{result.git.reason}</p>}
        </>
      )}
      {branch === undefined ? null : (
        <p className="muted">
          Another branch stays checked out: {branch.to ?? 'a detached HEAD'} instead of{' '}
          {branch.from ?? 'a detached HEAD'}.
        </p>
      )}
      {skipped.length === 0 ? null : (
        <>
          <p className="muted">Never captured, so left alone:</p>
          <ul>
            {skipped.map(({ path, reason }) => (
              <li key={path}>
                <span className="grow cut">
                  <Path path={path} />
                </span>
                <span className="tag">{reasons[reason]}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}
