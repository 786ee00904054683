import { expect, test } from 'vitest'
import { workspace } from '../testing/workspace.ts'

test('[H252] a conflict names the later turn that stands on what would be taken out', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n' })
  const { turn } = await w.turn('first', { 'a.txt': '1\nTWO\n3\n4\n5\n' })
  const later = await w.turn('second', { 'a.txt': '1\nTWO again\n3\n4\n5\n' })
  const outcome = await w.workspace.rollback({ session: w.session, selection: { turns: [turn] } })
  expect(outcome).toMatchObject({
    kind: 'conflicts',
    conflicts: [
      { path: 'a.txt', ours: 'TWO again', theirs: '2', later: [{ turn: later.turn, actor: 'test-agent' }] },
    ],
  })
  expect(outcome.conflicts[0]?.message).toContain(later.turn)
})

test('[H252] the user is named as such, and each overlapping block is shown', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n4\n5\n6\n7\n8\n9\n' })
  await w.turn('both', { 'a.txt': '1\nB\n3\n4\n5\n6\n7\nH\n9\n' })
  w.userWrites({ 'a.txt': '1\nmine\n3\n4\n5\n6\n7\nmine too\n9\n' })
  const outcome = await w.undo()
  expect(outcome.conflicts).toMatchObject([
    { ours: 'mine\n…\nmine too', theirs: '2\n…\n8', later: [{ actor: 'user' }] },
  ])
})

test('[H253] a plan comes with the diff that it would make to the files', async () => {
  await using w = await workspace({ 'a.txt': '1\n2\n3\n' })
  await w.turn('edit', { 'a.txt': '1\nTWO\n3\n', 'new.txt': 'n\n' })
  w.userWrites({ 'a.txt': '1\nTWO\n3\nmine\n' })
  const { patch } = await w.undo({ dryRun: true })
  expect(patch).toContain('-TWO\n+2\n 3\n mine\n')
  expect(patch).toContain('deleted file mode 100644')
})
