import { expect, test } from 'vitest'
import { type Files, type Fixture, workspace } from '../testing/workspace.ts'
import type { RelPath, SessionId, TurnId } from '../values.ts'
import type { DirtyFolders } from '../workspace/scan.ts'
import type { FileWatch } from './engine.ts'

/** Somebody who says that nothing ever happens; as told, of whole looks too. */
class BlindWatch implements FileWatch {
  dirty: DirtyFolders | undefined
  others: readonly TurnId[] = []
  readonly looks: string[] = []

  async look(at: 'everywhere' | 'turn' | 'step') {
    const isHint = at !== 'everywhere' && this.dirty !== undefined
    this.looks.push(isHint ? 'hint' : 'full')
    return { ...(isHint && this.dirty !== undefined ? { dirty: this.dirty } : {}), done: () => {} }
  }

  async unaudited() {
    return this.others
  }

  blind(): void {
    this.dirty = { folders: new Set(), trees: new Set() }
  }
}

async function watched(files: Files): Promise<{ readonly w: Fixture; readonly watch: BlindWatch }> {
  const watch = new BlindWatch()
  const w = await workspace(files, { watch, now: Date.now })
  // What is racy is looked at in any case.
  await new Promise((resolve) => setTimeout(resolve, 2_050))
  await w.workspace.audit()
  watch.looks.length = 0
  return { w, watch }
}

function changes(w: Fixture): readonly string[] {
  return w.workspace.index
    .findChanges({ everybody: true })
    .map(({ actor, path, step, turn }) => `${actor} ${path}${step === undefined ? '' : ` ${turn}`}`)
    .sort()
}

const files: Files = { 'a.txt': 'a\n', 'b/b.txt': 'b\n', 'c/c.txt': 'c\n', 'c/d.txt': 'd\n' }

test('[H340] [W130] what hints had missed goes to the step that was running, and the rest to the user', async () => {
  const { w, watch } = await watched(files)
  await using _ = w
  watch.blind()
  w.userWrites({ 'b/b.txt': 'mine, before\n' })
  await new Promise((resolve) => setTimeout(resolve, 60))
  const { turn, changes: told } = await w.turn('Work', {
    'a.txt': 'A\n',
    'c/new/n.txt': 'n\n',
    'c/d.txt': null,
  })
  expect(told).toEqual([])
  expect(watch.looks).not.toContain('full')
  await new Promise((resolve) => setTimeout(resolve, 60))
  w.userWrites({ 'c/c.txt': 'mine, after\n' })
  expect(w.workspace.hasUnaudited).toBe(true)
  await w.workspace.audit()
  expect(w.workspace.hasUnaudited).toBe(false)
  expect(changes(w)).toEqual(
    [
      `test-agent a.txt ${turn}`,
      `test-agent c/d.txt ${turn}`,
      `test-agent c/new/n.txt ${turn}`,
      'user b/b.txt',
      'user c/c.txt',
    ].sort(),
  )
  await w.undo()
  expect(w.files()).toEqual({ ...files, 'b/b.txt': 'mine, before\n', 'c/c.txt': 'mine, after\n' })
  expect(await w.workspace.doctor()).toEqual([])
})

test('[H341] a path that a running step names is that step’s', async () => {
  const { w, watch } = await watched(files)
  await using _ = w
  watch.blind()
  const shell = await w.beginTurn('Shell')
  const { step } = await w.workspace.beginStep({ turn: shell, tool: 'shell', paths: [] })
  w.inSession('other')
  const edit = await w.beginTurn('Edit')
  const named = await w.workspace.beginStep({ turn: edit, tool: 'edit', paths: ['a.txt' as RelPath] })
  w.userWrites({ 'a.txt': 'A\n', 'b/b.txt': 'B\n' })
  await w.workspace.endStep(step)
  await w.workspace.endTurn(shell)
  await w.workspace.audit()
  await w.workspace.endStep(named.step)
  await w.workspace.endTurn(edit)
  expect(changes(w)).toEqual([`test-agent a.txt ${edit}`, `test-agent b/b.txt ${shell}`].sort())
})

test('[H342] a turn that was taken out before its audit gets nothing any more', async () => {
  const { w, watch } = await watched(files)
  await using _ = w
  watch.blind()
  const { turn } = await w.turn('Work', { 'a.txt': 'A\n' })
  w.workspace.engine.unaudited.clear() // as in another process, which knows nothing of it
  await w.workspace.undo({ session: w.session })
  w.workspace.engine.unaudited.add(turn)
  await w.workspace.audit()
  expect(changes(w)).toEqual(['user a.txt'])
})

test('[H343] a move audits first what others have recorded by hints', async () => {
  const { w, watch } = await watched(files)
  await using _ = w
  watch.blind()
  const { turn } = await w.turn('Work', { 'a.txt': 'A\n', 'c/new/n.txt': 'n\n' })
  w.workspace.engine.unaudited.clear()
  watch.others = [turn]
  const { files: undone } = await w.workspace.undo({ session: w.session })
  expect(undone.map(({ path }) => path)).toEqual(['a.txt', 'c/new/n.txt'])
  expect(w.files()).toEqual({ 'a.txt': 'a\n', 'b/b.txt': 'b\n', 'c/c.txt': 'c\n', 'c/d.txt': 'd\n' })
})

test('[H345] blame and review as of the last operation look at no file and record nothing', async () => {
  await using w = await workspace({ 'a.txt': 'one\n' })
  await w.turn('Work', { 'a.txt': 'two\n' })
  w.userWrites({ 'a.txt': 'three\n', 'mine.txt': 'm\n' })
  const operations = w.workspace.index.counts().operations
  const [line] = await w.workspace.blame('a.txt' as RelPath, { lastKnown: true })
  expect([line?.text, line?.by]).toEqual(['two', 'agent'])
  const { files: pending } = await w.workspace.review(w.session as SessionId, { lastKnown: true })
  expect(pending.map(({ path }) => path)).toEqual(['a.txt'])
  expect(w.workspace.index.counts().operations).toBe(operations)
  expect((await w.workspace.blame('a.txt' as RelPath))[0]?.text).toBe('three')
  expect(w.workspace.index.counts().operations).toBe(operations + 1)
})
