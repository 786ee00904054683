import './review.css'
import type { CodeViewHandle } from '@pierre/diffs/react'
import type { HunkSelection, Review, ReviewFile, ReviewHunk } from '@unturn/client'
import { useEffect, useMemo, useRef, useState } from 'react'
import { isImage } from '../diff/binary.tsx'
import { itemId, wholeId } from '../diff/item-id.ts'
import { Diff } from '../diff/lazy.tsx'
import { useAsk } from '../lib/ask.ts'
import { useKeys } from '../lib/keys.ts'
import { useMarks } from '../lib/place.ts'
import { patchOfFile, placeOf } from '../lib/review-patch.ts'
import { useStudio } from '../lib/studio.ts'
import { useTree } from '../lib/use-tree.ts'
import { useViewed } from '../lib/viewed.ts'
import { visible } from '../lib/visible.ts'
import { count, shortSession } from '../lib/words.ts'
import { DiffSwitches } from '../parts/diff-switches.tsx'
import { Failure } from '../parts/failure.tsx'
import { Empty } from '../parts/small.tsx'
import { useDecide } from './decide.tsx'
import { HunkBar } from './hunk-bar.tsx'
import { ReviewFiles, seenOf } from './review-files.tsx'
import { Teach } from './teach.tsx'
import { isWholeFile, WholeFiles } from './whole-files.tsx'

const news = new Set([
  'change',
  'undo',
  'redo',
  'restore',
  'rollback',
  'accept',
  'reject',
  'propose',
  'turn.ended',
  'session.updated',
])

/** What waits for somebody's word, block by block. */
export function ReviewView() {
  const { workspace, live, status } = useStudio()
  const [marks, mark] = useMarks()
  const session = marks.session ?? status.sessions.find((one) => one.active)?.id ?? status.sessions[0]?.id
  const hasLooked = useRef<string>(undefined)
  const { data, failure, again } = useAsk(
    live,
    session,
    (signal) => {
      const of = session === undefined ? {} : { session }
      if (hasLooked.current === session) return workspace.review(of, { signal })
      hasLooked.current = session
      return workspace.lookReview(of, { signal })
    },
    ({ type }) => news.has(type),
  )
  if (session === undefined) return <Teach />
  if (failure !== undefined && data === undefined) return <Failure failure={failure} again={again} />
  if (data === undefined) return <p className="wait">Looking at the files …</p>
  return (
    <div className="review">
      <Pending
        key={session}
        review={data}
        session={session}
        sessions={status.sessions.map(({ id, agent }) => ({
          id,
          name: `${visible(agent)} ${shortSession(id)}`,
        }))}
        onSession={(id) => mark({ session: id, turn: undefined })}
      />
    </div>
  )
}

interface Place {
  readonly file: ReviewFile
  readonly hunk: ReviewHunk
}

interface PendingProps {
  readonly review: Review
  readonly session: string
  readonly sessions: readonly { readonly id: string; readonly name: string }[]
  readonly onSession: (session: string) => void
}

function Pending({ review, session, sessions, onSession }: PendingProps) {
  const [{ turn }, mark] = useMarks()
  const { tree } = useTree(session)
  const prompts = useMemo(
    () => new Map(tree?.turns.map(({ id, prompt }) => [id, prompt ?? 'no prompt'])),
    [tree],
  )
  const turns = useMemo(
    () => [...new Set(review.files.flatMap(({ hunks }) => hunks.flatMap((hunk) => hunk.turns)))],
    [review],
  )
  const files = useMemo(
    () =>
      inOrderOfScreen(turn === undefined ? review.files : review.files.flatMap((file) => ofTurn(file, turn))),
    [review, turn],
  )
  const places = useMemo(
    () => files.flatMap((file) => file.hunks.map((hunk): Place => ({ file, hunk }))),
    [files],
  )
  const [chosen, setChosen] = useState<string>()
  const at = Math.max(
    0,
    places.findIndex(({ hunk }) => hunk.id === chosen),
  )
  const current = places[at]
  const { decide, asking } = useDecide(session)
  const handle = useRef<CodeViewHandle<ReviewHunk, undefined>>(null)
  const viewed = useViewed(`${session}`)
  const isClosed = (path: string) =>
    files.some((file) => file.path === path && viewed.isViewed(path, seenOf(file)))

  const show = (place: Place | undefined) => {
    if (place === undefined) return
    setChosen(place.hunk.id)
    const drawn = files.filter((file) => !isWholeFile(file))
    const id = itemId(place.file.path, drawn.indexOf(place.file))
    const where = placeOf(place.hunk)
    if (isWholeFile(place.file))
      document.getElementById(wholeId(place.file.path))?.scrollIntoView({ block: 'start' })
    else if (where === undefined) handle.current?.scrollTo({ type: 'item', id, align: 'start' })
    else
      handle.current?.scrollTo({
        type: 'line',
        id,
        lineNumber: where.line,
        side: where.side,
        align: 'center',
      })
  }
  const step = (by: number) => show(places[Math.min(Math.max(at + by, 0), places.length - 1)])
  const hunkWish = (): HunkSelection | undefined =>
    current === undefined ? undefined : { hunks: [current.hunk.id] }
  const all: HunkSelection = turn === undefined ? { all: true } : { turns: [turn] }
  const accept = (selection: HunkSelection | undefined) =>
    selection !== undefined && void decide('accept', selection)
  const reject = (selection: HunkSelection | undefined, comment?: 'comment') =>
    selection !== undefined && void decide('reject', selection, comment === 'comment')
  useKeys('Review', [
    { key: 'j', does: 'next hunk', run: () => step(1) },
    { key: 'k', does: 'previous hunk', run: () => step(-1) },
    { key: 'a', does: 'accept the hunk', run: () => accept(hunkWish()) },
    { key: 'r', does: 'reject the hunk', run: () => reject(hunkWish()) },
    { key: 'c', does: 'reject the hunk, and say why', run: () => reject(hunkWish(), 'comment') },
    {
      key: 'A',
      does: 'accept the file',
      run: () => current !== undefined && accept({ files: [current.file.path] }),
    },
    {
      key: 'R',
      does: 'reject the file',
      run: () => current !== undefined && reject({ files: [current.file.path] }),
    },
    {
      key: 'v',
      does: 'mark the file as viewed',
      run: () => current !== undefined && viewed.mark(current.file.path, seenOf(current.file)),
    },
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the one that was looked at is gone.
  useEffect(() => {
    if (chosen !== undefined && !places.some(({ hunk }) => hunk.id === chosen))
      setChosen(places[Math.min(at, places.length - 1)]?.hunk.id)
  }, [places])

  const patch = useMemo(() => files.map(patchOfFile).join(''), [files])
  const withoutLines = useMemo(
    () => new Set(files.filter((file) => isWholeFile(file)).map(({ path }) => path)),
    [files],
  )
  const isAnyWhole = files.some((file) => isWholeFile(file) || isImage(file.path))
  const hunkBar = (hunk: ReviewHunk, isSmall = false) => (
    <HunkBar
      key={hunk.id}
      hunk={hunk}
      prompts={prompts}
      isSmall={isSmall}
      isCurrent={hunk.id === current?.hunk.id}
      onAccept={() => accept({ hunks: [hunk.id] })}
      onReject={() => reject({ hunks: [hunk.id] })}
      onComment={() => reject({ hunks: [hunk.id] }, 'comment')}
    />
  )
  return (
    <>
      <div className="bar review-bar">
        {sessions.length < 2 ? null : (
          <select aria-label="Session" value={session} onChange={(event) => onSession(event.target.value)}>
            {sessions.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
        <select
          aria-label="Turn"
          value={turn ?? ''}
          onChange={(event) => mark({ turn: event.target.value || undefined }, 'replace')}
        >
          <option value="">All turns</option>
          {turns.map((id) => (
            <option key={id} value={id}>
              {visible(prompts.get(id)?.split('\n', 1)[0] ?? id).slice(0, 60)}
            </option>
          ))}
        </select>
        <span className="muted grow" role="status">
          {count(review.pending, 'hunk')} pending
        </span>
        <DiffSwitches />
        <button type="button" disabled={places.length === 0} onClick={() => reject(all)}>
          Reject {turn === undefined ? 'all' : 'turn'}
        </button>
        <button type="button" className="primary" disabled={places.length === 0} onClick={() => accept(all)}>
          Accept {turn === undefined ? 'all' : 'turn'}
        </button>
      </div>
      {asking}
      {places.length === 0 ? (
        <Empty title="Everything is reviewed">
          <p className="muted">
            What an agent changes next waits here for your word. Rejected hunks go back to the agent with your
            comment.
          </p>
        </Empty>
      ) : (
        <div className="review-body">
          <ReviewFiles
            files={files}
            current={current?.file}
            viewed={viewed}
            onShow={(file) => show(places.find((place) => place.file === file))}
            onAccept={(file) => accept({ files: [file.path] })}
            onReject={(file) => reject({ files: [file.path] })}
          />
          <Diff<ReviewHunk>
            patch={patch}
            label="Pending hunks"
            handle={handle}
            version={`${current?.hunk.id} ${files
              .filter(({ path }) => isClosed(path))
              .map(({ path }) => path)
              .join(' ')}`}
            isClosed={isClosed}
            marks={(path) => (files.find((file) => file.path === path)?.hunks ?? []).flatMap(markOf)}
            renderMark={(hunk) => hunkBar(hunk)}
            without={withoutLines}
            above={
              isAnyWhole ? (
                <WholeFiles
                  session={session}
                  files={files}
                  isClosed={isClosed}
                  renderHunk={(hunk) => hunkBar(hunk)}
                />
              ) : null
            }
            beside={(path) => {
              const whole = (files.find((file) => file.path === path)?.hunks ?? []).filter(
                (hunk) => placeOf(hunk) === undefined,
              )
              return whole.map((hunk) => hunkBar(hunk, true))
            }}
          />
        </div>
      )}
    </>
  )
}

/** What is shown as a whole stands above the rest: the next hunk is the one below. */
function inOrderOfScreen(files: readonly ReviewFile[]): readonly ReviewFile[] {
  return [...files.filter(isWholeFile), ...files.filter((file) => !isWholeFile(file))]
}

function ofTurn(file: ReviewFile, turn: string): readonly ReviewFile[] {
  const hunks = file.hunks.filter((hunk) => hunk.turns.includes(turn))
  return hunks.length === 0 ? [] : [{ ...file, hunks }]
}

function markOf(hunk: ReviewHunk) {
  const place = placeOf(hunk)
  return place === undefined ? [] : [{ side: place.side, lineNumber: place.line, metadata: hunk } as const]
}
