import type { UserEdit } from '@unturn/client'
import { Binaries, wholePaths } from '../diff/binary.tsx'
import { Diff } from '../diff/lazy.tsx'
import { never, useAsk } from '../lib/ask.ts'
import { usePreferences } from '../lib/preferences.ts'
import { useStudio } from '../lib/studio.ts'
import { BackToList } from '../parts/back.tsx'
import { DiffSwitches } from '../parts/diff-switches.tsx'
import { Failure } from '../parts/failure.tsx'
import { Agent, Lines, Shown, When } from '../parts/small.tsx'

/** What the user changed between two turns. */
export function EditView({ op, edit }: { readonly op: string; readonly edit: UserEdit | undefined }) {
  const { workspace } = useStudio()
  const [{ whitespace }] = usePreferences()
  const { data, failure, again } = useAsk(
    undefined,
    `${op} ${whitespace}`,
    (signal) =>
      workspace.show(op, { ...(whitespace === 'ignore' ? { whitespace: 'ignore' } : {}) }, { signal }),
    never,
  )
  return (
    <article className="turn">
      <header className="turn-head">
        <BackToList />
        <div className="turn-facts">
          <Agent name="user" />
          {edit === undefined ? null : <When at={edit.at} />}
          {edit === undefined ? null : <Lines additions={edit.additions} deletions={edit.deletions} />}
        </div>
        <h2 className="turn-prompt">
          {edit?.label == null ? 'Your own edits' : <Shown text={edit.label} />}
        </h2>
        <p className="muted">No undo of a turn takes these back: they are yours.</p>
      </header>
      <div className="turn-body">
        <div className="turn-diff">
          <div className="bar">
            <span className="grow" />
            <DiffSwitches whitespace />
          </div>
          {failure === undefined ? null : <Failure failure={failure} again={again} />}
          {data === undefined ? null : (
            <Diff
              patch={data.patch}
              label="What you changed"
              without={wholePaths(data.changes)}
              above={<Binaries changes={data.changes} point={{ at: op }} />}
            />
          )}
        </div>
      </div>
    </article>
  )
}
