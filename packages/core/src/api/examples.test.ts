import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { agentLoop } from '../../examples/agent-loop.ts'
import { follow } from '../../examples/events.ts'
import { reviewed } from '../../examples/review.ts'
import { snapshotByHash } from '../../examples/snapshots.ts'
import { twoAgents } from '../../examples/tracker.ts'
import { Fixture } from '../testing/workspace.ts'

/** The examples open their workspace as a user's program does: with the environment of the process. */
async function printed(
  example: (folder: string, print: (line: string) => void) => Promise<void>,
): Promise<string> {
  await using w = new Fixture()
  const env = { ...process.env }
  const lines: string[] = []
  Object.assign(process.env, w.env)
  try {
    await example(w.dir, (line) => lines.push(line))
  } finally {
    for (const name of Object.keys(w.env)) delete process.env[name]
    Object.assign(process.env, env)
  }
  return lines.join('\n')
}

test('[H248] the example of an agent loop', async () => {
  expect(await printed(agentLoop)).toMatchInlineSnapshot(`
    "add hello.txt +1
    undo would touch hello.txt
    undone; the prompt was: Greet the world
    reverted turns: 1
    redone; nothing more: nothing"
  `)
})

test('[H248] the example of events', async () => {
  expect(await printed(follow)).toMatchInlineSnapshot(`
    "turn.began
      list.txt +3 -0
    turn.ended
    undo"
  `)
})

test('[H248] the example of snapshots by hash', async () => {
  expect(await printed(snapshotByHash)).toMatchInlineSnapshot(`
    "changed: a.txt, b.txt
    modified a.txt +1 -1
    added b.txt +1 -0
    as before: true"
  `)
})

test('[H248] the example of the tracker', async () => {
  expect(await printed(twoAgents)).toMatchInlineSnapshot(`
    "planner changed plan.md
    coder changed code.ts
    would remove code.ts
    left: plan.md"
  `)
})

test('[H248] the example of a review', async () => {
  expect(await printed(reviewed)).toMatchInlineSnapshot(`
    "3 hunks are pending
    list.txt: text ONE
    list.txt: text FOUR
    notes.md: create Louder! (not on disk)
    for the agent: list.txt FOUR: Not so loud.
    pending again: 1"
  `)
})

test('[H248] the code in the documentation is code of the examples', () => {
  const page = readFileSync(new URL('../../../../docs/library.md', import.meta.url), 'utf8')
  const folder = new URL('../../examples/', import.meta.url)
  const examples = readdirSync(folder).map((name) => plain(readFileSync(new URL(name, folder), 'utf8')))
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => plain(match[1] ?? ''))
  expect(blocks.length).toBeGreaterThan(4)
  for (const block of blocks)
    expect(
      examples.find((example) => example.includes(block)),
      block,
    ).toBeDefined()
})

function plain(code: string): string {
  return code.replace(/^ +/gm, '').trimEnd()
}
