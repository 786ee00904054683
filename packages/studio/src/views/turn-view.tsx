import type { Change, TurnDetail } from '@unturn/client'
import { useMemo, useState } from 'react'
import { Binaries, wholePaths } from '../diff/binary.tsx'
import type { ShownFile } from '../diff/diff-view.tsx'
import { Diff } from '../diff/lazy.tsx'
import { useAsk } from '../lib/ask.ts'
import { useKeys } from '../lib/keys.ts'
import { goTo, useMarks } from '../lib/place.ts'
import { usePreferences } from '../lib/preferences.ts'
import { useStudio } from '../lib/studio.ts'
import { count } from '../lib/words.ts'
import { BackToList } from '../parts/back.tsx'
import { DiffSwitches } from '../parts/diff-switches.tsx'
import { Failure } from '../parts/failure.tsx'
import { preview } from '../parts/preview.tsx'
import { Agent, Lines, Path, Shown, When } from '../parts/small.tsx'

/** One turn, or one step of it: prompt, what it changed, what it ran, and the ways back. */
export function TurnView({ turn, step }: { readonly turn: string; readonly step: string | undefined }) {
  const { workspace, live } = useStudio()
  const isOurs = (event: { readonly type: string; readonly turn?: string | null }) =>
    event.turn === turn || ['undo', 'redo', 'restore', 'session.updated'].includes(event.type)
  const { data, failure, again } = useAsk(
    live,
    turn,
    (signal) => workspace.turn(turn, { signal }),
    (event) => isOurs(event) || (event.type === 'change' && event.change.turn === turn),
  )
  if (failure !== undefined && data === undefined) return <Failure failure={failure} again={again} />
  if (data === undefined) return <p className="wait">Loading …</p>
  return <Known detail={data} step={step} />
}

function Known({ detail, step }: { readonly detail: TurnDetail; readonly step: string | undefined }) {
  const { turn } = detail
  const chosenStep = detail.steps.find(({ id }) => id === step)
  const changes = chosenStep?.changes ?? detail.changes
  const commands = detail.steps.filter(({ command }) => command !== null)
  const ways = waysOf(detail, chosenStep?.id)
  const [shown, setShown] = useState<ShownFile>()
  useKeys('Turn', [
    { key: 'u', does: 'undo to here', run: ways.undo },
    { key: 'x', does: 'roll back only this', run: ways.rollback },
    { key: 'e', does: 'restore to after this', run: () => ways.restore('after') },
  ])
  return (
    <article className="turn">
      <header className="turn-head">
        <BackToList />
        <div className="turn-facts">
          <Agent name={turn.agent} />
          <When at={turn.began} />
          <span className="mono small muted">{turn.id}</span>
          {turn.status === 'ok' ? null : (
            <span className="tag warn">{turn.status === 'open' ? 'running' : turn.status}</span>
          )}
          {turn.head ? <span className="tag accent">now</span> : null}
          {turn.reverted ? <span className="tag">undone</span> : null}
        </div>
        <Prompt prompt={turn.prompt ?? ''} />
        <div className="ways">
          <button type="button" disabled={turn.reverted} onClick={ways.undo}>
            Undo to here…
          </button>
          <button type="button" onClick={() => ways.restore('before')}>
            Restore to before…
          </button>
          <button type="button" onClick={() => ways.restore('after')}>
            Restore to after…
          </button>
          <button type="button" disabled={turn.reverted} onClick={ways.rollback}>
            Roll back only this…
          </button>
        </div>
      </header>
      <div className="turn-body">
        <aside className="turn-aside">
          <Files changes={changes} detail={detail} onShow={setShown} />
          {chosenStep === undefined && commands.length > 0 ? (
            <section>
              <h3>{count(commands.length, 'command')}</h3>
              <ul className="commands">
                {commands.map(({ id, command }) => (
                  <li key={id} className="mono small">
                    <Shown text={command ?? ''} />
                  </li>
                ))}
              </ul>
            </section>
          ) : null}
          {turn.commits.length === 0 ? null : (
            <section>
              <h3>{count(turn.commits.length, 'commit')}</h3>
              <ul className="commits">
                {turn.commits.map(({ id, subject }) => (
                  <li key={id}>
                    <code>{id.slice(0, 9)}</code> <Shown text={subject} />
                  </li>
                ))}
              </ul>
            </section>
          )}
          <Missed detail={detail} />
        </aside>
        <Changes
          id={chosenStep?.id ?? turn.id}
          session={turn.session}
          changes={changes}
          isStep={chosenStep !== undefined}
          shown={shown}
        />
      </div>
    </article>
  )
}

/** Its first line is what the turn is called; the rest is there to read. */
function Prompt({ prompt }: { readonly prompt: string }) {
  const [first = '', ...rest] = prompt.trim().split('\n')
  const more = rest.join('\n').trim()
  return (
    <>
      <h2 className="turn-prompt">
        {first === '' ? <span className="muted">No prompt was recorded</span> : <Shown text={first} />}
      </h2>
      {more === '' ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keys.
        <section className="turn-prompt-more" tabIndex={0} aria-label="The rest of the prompt">
          <Shown text={more} />
        </section>
      )}
    </>
  )
}

function waysOf({ turn }: TurnDetail, step: string | undefined) {
  const { id, session } = turn
  const place = step === undefined ? {} : { step }
  return {
    undo: () => preview({ kind: 'undo', session, to: id }),
    restore: (side: 'before' | 'after') => preview({ kind: 'restore', session, turn: id, side, ...place }),
    rollback: () =>
      preview({
        kind: 'rollback',
        session,
        selection: step === undefined ? { turns: [id] } : { steps: [step] },
        what: step === undefined ? 'only this turn' : 'only this step',
      }),
  }
}

interface FilesProps {
  readonly changes: readonly Change[]
  readonly detail: TurnDetail
  readonly onShow: (file: ShownFile) => void
}

function Files({ changes, detail, onShow }: FilesProps) {
  const { turn } = detail
  return (
    <section>
      <h3>
        {changes.length === 0 ? 'No files changed' : count(changes.length, 'change')}{' '}
        {changes === detail.changes && changes.length > 0 ? (
          <Lines additions={turn.additions} deletions={turn.deletions} />
        ) : null}
      </h3>
      <ul className="files">
        {changes.map((change) => (
          <li key={change.id}>
            <button type="button" className="link grow cut" onClick={() => onShow({ path: change.path })}>
              <Path path={change.path} from={change.from} />
            </button>
            {change.certainty === 'exact' ? null : (
              <span className="tag" title={certainties[change.certainty]}>
                {change.certainty}
              </span>
            )}
            {change.binary ? (
              <span className="tag">binary</span>
            ) : (
              <Lines additions={change.additions} deletions={change.deletions} />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

const certainties: Readonly<Record<string, string>> = {
  inferred: 'It changed while a command of the turn ran',
  shared: 'It changed while several sessions worked at once',
}

function Missed({ detail }: { readonly detail: TurnDetail }) {
  if (detail.missed.length === 0) return null
  return (
    <section>
      <h3>Not captured</h3>
      <ul className="files">
        {detail.missed.map(({ path, reason }) => (
          <li key={path}>
            <span className="grow cut">
              <Path path={path} />
            </span>
            <span className="tag warn">{reason}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface ChangesProps {
  readonly id: string
  readonly session: string
  readonly changes: readonly Change[]
  readonly isStep: boolean
  readonly shown: ShownFile | undefined
}

function Changes({ id, session, changes, isStep, shown }: ChangesProps) {
  const { workspace, live } = useStudio()
  const [{ whitespace }] = usePreferences()
  const [, mark] = useMarks()
  const { data, failure, again } = useAsk(
    live,
    `${id} ${whitespace}`,
    (signal) =>
      workspace.show(id, { ...(whitespace === 'ignore' ? { whitespace: 'ignore' } : {}) }, { signal }),
    (event) => event.type === 'change' && [event.change.turn, event.change.step].includes(id),
  )
  const whole = useMemo(() => wholePaths(changes), [changes])
  const stats = useMemo(() => new Map(changes.map((change) => [change.path, change])), [changes])
  const beside = (path: string) => (
    <Beside change={stats.get(path)} path={path} session={session} id={id} isStep={isStep} />
  )
  const binaries = <Binaries changes={changes} point={{ at: id, session }} beside={beside} />
  return (
    <div className="turn-diff">
      <div className="bar">
        <span className="grow">
          {isStep ? (
            <button type="button" className="link" onClick={() => mark({ step: undefined })}>
              Show the whole turn
            </button>
          ) : null}
        </span>
        <DiffSwitches whitespace />
      </div>
      {failure === undefined ? null : <Failure failure={failure} again={again} />}
      {data === undefined && failure === undefined ? <p className="wait">Loading …</p> : null}
      {data === undefined ? null : data.patch === '' ? (
        <>
          {binaries}
          <p className="wait">
            {changes.length === 0
              ? 'It changed no files.'
              : whitespace === 'ignore'
                ? 'Only whitespace has changed.'
                : 'There is nothing to compare line by line.'}
          </p>
        </>
      ) : (
        <Diff
          patch={data.patch}
          label="What it changed"
          without={whole}
          above={binaries}
          beside={beside}
          shown={shown}
        />
      )}
    </div>
  )
}

interface BesideProps {
  readonly change: Change | undefined
  readonly path: string
  readonly session: string
  readonly id: string
  readonly isStep: boolean
}

function Beside({ change, path, session, id, isStep }: BesideProps) {
  return (
    <>
      {change === undefined || change.binary ? null : (
        <Lines additions={change.additions} deletions={change.deletions} />
      )}
      {change?.binary === true ? null : (
        <button type="button" className="quiet small" onClick={() => goTo('files', { file: path })}>
          Blame
        </button>
      )}
      <button
        type="button"
        className="quiet small"
        onClick={() =>
          preview({
            kind: 'rollback',
            session,
            selection: { ...(isStep ? { steps: [id] } : { turns: [id] }), files: [path] },
            what: `${path} of this ${isStep ? 'step' : 'turn'}`,
          })
        }
      >
        Roll back…
      </button>
    </>
  )
}
