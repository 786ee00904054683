import type { ReviewHunk } from '@unturn/client'
import { goTo } from '../lib/place.ts'
import { Agent, Shown } from '../parts/small.tsx'

interface Props {
  readonly hunk: ReviewHunk
  readonly prompts: ReadonlyMap<string, string>
  readonly isCurrent: boolean
  /** In a file's heading there is no room for whose it is. */
  readonly isSmall?: boolean
  readonly onAccept: () => void
  readonly onReject: () => void
  readonly onComment: () => void
}

export const kindWords: Readonly<Record<ReviewHunk['kind'], string>> = {
  text: '',
  create: 'new file',
  delete: 'deleted',
  rename: 'renamed',
  mode: 'mode',
  binary: 'binary',
  link: 'link',
  type: 'other kind',
}

/** The word on one hunk: whose it is, and what to do with it. */
export function HunkBar({ hunk, prompts, isCurrent, isSmall = false, onAccept, onReject, onComment }: Props) {
  const { turns, agents, contested, kind, proposal, oldMode, newMode } = hunk
  const turn = turns.at(-1)
  return (
    <div
      className={isCurrent ? 'hunk-bar current' : 'hunk-bar'}
      aria-current={isCurrent ? 'true' : undefined}
    >
      <button type="button" className="accept" onClick={onAccept}>
        Accept{isCurrent ? <kbd>a</kbd> : null}
      </button>
      <button type="button" className="reject" onClick={onReject}>
        Reject{isCurrent ? <kbd>r</kbd> : null}
      </button>
      <button type="button" className="quiet" onClick={onComment}>
        Reject with comment…
      </button>
      {kindWords[kind] === '' ? null : (
        <span className="tag">
          {kindWords[kind]}
          {kind === 'mode' ? ` ${oldMode ?? ''} → ${newMode ?? ''}` : ''}
        </span>
      )}
      {contested ? (
        <span className="tag warn" title="You have edited inside this hunk since">
          contested
        </span>
      ) : null}
      {proposal === undefined ? null : <span className="tag accent">proposed, not on disk</span>}
      {isSmall ? null : (
        <span className="grow hunk-who">
          {agents.map((agent) => (
            <Agent key={agent} name={agent} />
          ))}
          {turn === undefined ? null : (
            <button type="button" className="link cut" onClick={() => goTo('history', { turn })}>
              <Shown text={(prompts.get(turn) ?? turn).split('\n', 1)[0] ?? ''} />
            </button>
          )}
        </span>
      )}
    </div>
  )
}
