import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import {
  type GoldenStore,
  type GoldenTurn,
  placeOfStore,
  putStore,
  readTree,
  reviewWords,
  writeTree,
} from '../testing/golden.ts'
import { Fixture } from '../testing/workspace.ts'
import type { SessionId, TurnId } from '../values.ts'
import { patchOfTurn } from './views.ts'

const folder = fileURLToPath(new URL('../../../../e2e/golden', import.meta.url))
const formats = readdirSync(folder).filter((name) => name.startsWith('format-'))

// A name that is not UTF-8 is in there, which some file systems refuse.
const skip = process.platform !== 'linux'

/** A golden store with its workspace as it was when it was put away. It has no index and no stat cache. */
async function opened(format: string): Promise<{ readonly w: Fixture; readonly golden: GoldenStore }> {
  const golden = JSON.parse(readFileSync(`${folder}/${format}/expected.json`, 'utf8')) as GoldenStore
  const w = new Fixture()
  writeTree(w.dir, golden.now)
  putStore(`${folder}/${format}/store`, placeOfStore(w.env, w.dir))
  await w.open()
  return { w, golden }
}

function shownTurn(w: Fixture, id: string): Omit<GoldenTurn, 'before' | 'after'> {
  const { index } = w.workspace
  const turn = index.findTurn(id as TurnId)
  if (turn === undefined) throw new Error(`there is no turn ${id}`)
  const changes = index.changesOfTurn(turn.id).map(({ kind, path, additions, deletions, from }) => {
    const origin = from === undefined ? '' : ` from ${from}`
    return `${kind} ${path} +${additions} -${deletions}${origin}`
  })
  const { session, prompt = '', status } = turn
  return { id, session, parent: turn.parent.turn, prompt, status, changes }
}

// The last first, as they were when the store was made.
function inUndoOrder({ heads }: GoldenStore): readonly string[] {
  const sessions = Object.keys(heads)
  return sessions.includes('three') ? ['three', ...sessions.filter((name) => name !== 'three')] : sessions
}

for (const format of formats) {
  test(`[R221] what is under review in the store of ${format} is as it was, and can be decided`, {
    skip,
  }, async (context) => {
    const { w, golden } = await opened(format)
    await using _ = w
    if (golden.review === undefined) return context.skip('no review was in there')
    const session = 'three' as SessionId
    expect(await reviewWords(w.workspace, session)).toEqual(golden.review)
    const decided = await w.workspace.reject({ session, selection: {}, onConflict: 'keep' })
    expect(decided.kind).toBe('done')
    for (const op of decided.ops.toReversed())
      await w.workspace.rollback({ selection: { ops: [op] }, session })
    expect(readTree(w.dir)).toEqual(golden.now)
    expect(await reviewWords(w.workspace, session)).toEqual(golden.review)
  })

  test(`[H170] the store of ${format} opens, its index is rebuilt, and every turn is shown`, {
    skip,
  }, async () => {
    const { w, golden } = await opened(format)
    await using _ = w
    const { index } = w.workspace
    const shown = golden.turns.map(({ before: _before, after: _after, ...turn }) => turn)

    expect(await w.workspace.doctor()).toEqual([])
    expect(golden.turns.map(({ id }) => shownTurn(w, id))).toEqual(shown)
    expect(Object.fromEntries(index.sessions().map(({ id, head }) => [id, head.turn]))).toEqual(golden.heads)
    expect(
      index
        .operations()
        .map(({ record }) => record.kind)
        .reverse(),
    ).toEqual(golden.operations)
    for (const { id, changes } of golden.turns) {
      const patch = await patchOfTurn(w.workspace.engine, id as TurnId)
      expect(patch.length > 0).toBe(changes.length > 0)
    }
    expect((await w.workspace.capture()).changes).toEqual([])
    expect(readTree(w.dir)).toEqual(golden.now)
  })

  test(`[H171] [P6] the store of ${format} gives back every point exactly`, { skip }, async () => {
    const { w, golden } = await opened(format)
    await using _ = w
    for (const { id, session, before, after } of [...golden.turns, ...golden.turns.toReversed()]) {
      w.inSession(session)
      await w.restore(id as TurnId, 'after', { exact: true })
      expect(readTree(w.dir)).toEqual(after)
      await w.restore(id as TurnId, 'before', { exact: true })
      expect(readTree(w.dir)).toEqual(before)
    }
  })

  test(`[H172] every turn in the store of ${format} can be undone`, { skip }, async () => {
    const { w, golden } = await opened(format)
    await using _ = w
    for (const session of inUndoOrder(golden))
      await w.workspace.undo({ session: session as SessionId, turns: 99 })
    expect(readTree(w.dir)).toEqual(golden.undone)
    for (const session of inUndoOrder(golden).toReversed())
      await w.workspace.redo({ session: session as SessionId, turns: 99 })
    expect(readTree(w.dir)).toEqual(golden.now)
  })
}
