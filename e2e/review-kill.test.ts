/** kill -9 in the middle of a decision, then the next command: every path old or every path new, and the same for the review. */

import { expect, test } from 'vitest'
import { changesOf, Kept, killed, leftovers, points } from './killing.ts'

const names = ['a.txt', 'b.txt', 'deep/c.txt', 'gone.txt']

function withProposals(): Kept {
  const kept = new Kept(Object.fromEntries(names.map((name) => [name, `old ${name}\n`])))
  const { project } = kept
  const { turn } = project.ask('turn', 'begin', '--session', 's1')
  project.write({ '../content': 'new\n' })
  for (const file of ['a.txt', 'b.txt', 'deep/c.txt', 'fresh/d.txt'])
    project.ask('propose', '--turn', turn, '--file', file, '--content-file', '../content', '--group', 'g')
  project.ask('propose', '--turn', turn, '--file', 'gone.txt', '--delete', '--group', 'g')
  project.ask('turn', 'end', '--turn', turn)
  return kept
}

function withTurn(): Kept {
  const kept = new Kept(Object.fromEntries(names.map((name) => [name, `old ${name}\n`])))
  kept.project.turn({
    'a.txt': 'new\n',
    'b.txt': 'new\n',
    'deep/c.txt': 'new\n',
    'fresh/d.txt': 'new\n',
    'gone.txt': null,
  })
  return kept
}

test.each([
  ['reject', withTurn],
  ['accept', withProposals],
] as const)(
  '[P2] [U322] %s that is killed at any change of the disk is done, or has not happened',
  (verb, prepare) => {
    using kept = prepare()
    const { project } = kept
    const args = [verb, '--all']
    kept.keep()
    const before = { files: project.files(), pending: project.ask('review').pending }
    kept.putBack()
    const total = changesOf(project, args)
    const after = project.files()
    expect(before.pending).toBe(5)
    const seen = new Set<string>()
    for (const at of points(total, 3)) {
      kept.putBack()
      const ran = killed(project, args, at)
      const { pending } = project.ask('review')
      const isDone = pending === 0
      seen.add(isDone ? 'new' : 'old')
      expect(project.files(), `killed at ${at}`).toEqual(isDone ? after : before.files)
      expect(pending, `killed at ${at}`).toBe(isDone ? 0 : before.pending)
      if (ran.code === 0) expect(isDone).toBe(true)
      expect(project.ask('doctor'), `killed at ${at}`).toMatchObject({ ok: true, findings: [] })
      expect(leftovers(project), `killed at ${at}`).toEqual([])
    }
    expect([...seen].sort()).toEqual(['new', 'old'])
  },
)
