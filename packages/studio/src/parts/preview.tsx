import { type MoveResult, UnturnRequestError } from '@unturn/client'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { Diff } from '../diff/lazy.tsx'
import { useStudio } from '../lib/studio.ts'
import { doneWords, dryRun, type How, titleOf, type Wish } from '../lib/wish.ts'
import { count } from '../lib/words.ts'
import { Conflicts } from './conflicts.tsx'
import { Dialog } from './dialog.tsx'
import { DiffSwitches } from './diff-switches.tsx'
import { Failure } from './failure.tsx'
import { NotUndone } from './not-undone.tsx'
import { Planned } from './planned.tsx'
import { tell } from './toast.tsx'

let wanted: Wish | undefined
const watchers = new Set<() => void>()

/** Shows what would happen. Nothing does before somebody says so there. */
export function preview(wish: Wish | undefined): void {
  wanted = wish
  for (const watcher of watchers) watcher()
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

export function Preview() {
  const wish = useSyncExternalStore(watch, () => wanted)
  return wish === undefined ? null : <PreviewOf key={JSON.stringify(wish)} wish={wish} />
}

interface Answer {
  readonly result?: MoveResult
  readonly failure?: Error
}

function PreviewOf({ wish }: { readonly wish: Wish }) {
  const { workspace } = useStudio()
  const [how, setHow] = useState<How>({})
  const [answer, setAnswer] = useState<Answer>({})
  const [tries, setTries] = useState(0)
  const [isBusy, setBusy] = useState(false)
  const again = () => setTries((number) => number + 1)

  // biome-ignore lint/correctness/useExhaustiveDependencies: `tries` counts how often somebody wanted it asked again.
  useEffect(() => {
    let isOld = false
    setBusy(true)
    dryRun(workspace, wish, how)
      .then(
        (result) => isOld || setAnswer({ result }),
        (failure: Error) => isOld || setAnswer({ failure }),
      )
      .finally(() => isOld || setBusy(false))
    return () => {
      isOld = true
    }
  }, [workspace, wish, how, tries])

  const apply = async (plan: string) => {
    setBusy(true)
    try {
      const done = await workspace.applyPlan(plan)
      preview(undefined)
      tellDone(wish, done, () => takeBack(workspace, done))
    } catch (error) {
      if (error instanceof UnturnRequestError && error.code === 'plan-stale') {
        tell({ text: error.message, isBad: true })
        again()
      } else if (error instanceof Error) setAnswer({ failure: error })
      setBusy(false)
    }
  }

  const { result, failure } = answer
  const plan = result?.kind === 'planned' ? result.plan : null
  const isRunning = failure instanceof UnturnRequestError && failure.code === 'turn-running'
  return (
    <Dialog
      title={titleOf(wish)}
      size="large"
      onClose={() => preview(undefined)}
      footer={
        <>
          <span className="muted grow">{summaryOf(result)}</span>
          <button type="button" onClick={() => preview(undefined)}>
            Cancel
          </button>
          {isRunning ? (
            <button type="button" className="danger" onClick={() => setHow({ ...how, force: true })}>
              Go ahead although a turn is running
            </button>
          ) : (
            <button
              type="button"
              className="primary"
              disabled={plan === null || isBusy}
              onClick={() => (plan === null ? undefined : void apply(plan))}
            >
              {titleOf(wish)}
            </button>
          )}
        </>
      }
    >
      {failure === undefined ? null : <Failure failure={failure} again={again} />}
      {result === undefined && failure === undefined ? (
        <p className="wait">Working out what would change …</p>
      ) : null}
      {result === undefined ? null : <Content result={result} wish={wish} how={how} onHow={setHow} />}
    </Dialog>
  )
}

interface ContentProps {
  readonly result: MoveResult
  readonly wish: Wish
  readonly how: How
  readonly onHow: (how: How) => void
}

function Content({ result, wish, how, onHow }: ContentProps) {
  const patch = result.patch ?? ''
  const isMove = wish.kind !== 'rollback'
  const merged = useMemo(
    () => new Set(result.files.filter((file) => file.merged).map(({ path }) => path)),
    [result],
  )
  if (result.kind === 'nothing') return <p className="wait">{result.message}</p>
  return (
    <div className="preview">
      <div className="preview-facts">
        {result.conflicts.length > 0 || how.choices !== undefined || how.onConflict !== undefined ? (
          <Conflicts
            conflicts={result.conflicts}
            isSettled={result.kind === 'planned'}
            how={how}
            onHow={onHow}
          />
        ) : null}
        <Planned result={result} />
        <NotUndone
          result={result}
          git={how.git ?? false}
          {...(isMove ? { onGit: (git: boolean) => onHow({ ...how, git }) } : {})}
        />
      </div>
      {patch === '' ? null : (
        <div className="preview-diff">
          <div className="bar">
            <h3 className="grow">What would be written</h3>
            <DiffSwitches />
          </div>
          <div className="preview-patch">
            <Diff
              patch={patch}
              label="What would be written"
              beside={(path) =>
                merged.has(path) ? <span className="tag accent">merged with later edits</span> : null
              }
            />
          </div>
        </div>
      )}
    </div>
  )
}

function summaryOf(result: MoveResult | undefined): string {
  if (result === undefined || result.kind === 'nothing') return ''
  if (result.kind === 'conflicts') return 'Nothing happens before every conflict has a choice.'
  return `${count(result.files.length, 'path')} will change. You can take it back afterwards.`
}

function tellDone(wish: Wish, done: MoveResult, undo: () => void): void {
  const turns = done.reverted.length + done.redone.length
  const what = [turns === 0 ? '' : count(turns, 'turn'), count(done.files.length, 'path')].filter(
    (part) => part !== '',
  )
  const hasOp = done.op !== null
  tell({
    text: `${doneWords(wish)}: ${what.join(', ')}.`,
    ...(hasOp ? { action: { label: 'Undo', run: undo } } : {}),
  })
}

async function takeBack(
  workspace: ReturnType<typeof useStudio>['workspace'],
  done: MoveResult,
): Promise<void> {
  if (done.op === null) return
  try {
    const back = await workspace.rollback({ selection: { ops: [done.op] } })
    if (back.kind === 'conflicts')
      preview({ kind: 'rollback', selection: { ops: [done.op] }, what: 'what was just done' })
    else
      tell({
        text: back.kind === 'done' ? 'Taken back.' : (back.message ?? 'There was nothing to take back.'),
      })
  } catch (error) {
    if (error instanceof Error) tell({ text: error.message, isBad: true })
  }
}
