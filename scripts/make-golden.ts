/**
 * Writes e2e/golden/format-N: a small store of today's format, and what the workspace looked like at every point.
 * For a new format only. A golden store that exists is never written again: it stands for the stores that people have.
 * With a name, `format-N-NAME`: what that adds to a format that people already have. So far there is `review`.
 */

import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { storeFormat } from '../packages/core/src/store-folder.ts'
import {
  type GoldenStore,
  type GoldenTurn,
  placeOfStore,
  readTree,
  reviewWords,
  writeTree,
} from '../packages/core/src/testing/golden.ts'
import { Fixture } from '../packages/core/src/testing/workspace.ts'
import { relPathUnchecked, type SessionId, type TurnId } from '../packages/core/src/values.ts'

const part = process.argv[2]
if (part !== undefined && part !== 'review') throw new Error(`there is no ${part} to make a golden store of`)
const name = part === undefined ? `format-${storeFormat}` : `format-${storeFormat}-${part}`
const folder = fileURLToPath(new URL(`../e2e/golden/${name}`, import.meta.url))
if (existsSync(folder)) throw new Error(`${folder} exists, and golden stores are never edited`)
process.umask(0o022)

const lines = (marks: Readonly<Record<number, string>> = {}) =>
  Array.from({ length: 20 }, (_, at) => `${marks[at] ?? `line ${at}`}\n`).join('')

const start = {
  'a.txt': `f644 ${lines()}`,
  'b.txt': `f644 ${lines()}`,
  'moved.txt': `f644 ${'a file that will have another name\n'.repeat(5)}`,
  'old.txt': 'f644 no newline at the end',
  'run.sh': 'f755 #!/bin/sh\necho run\n',
  secret: 'f600 s3cret\n',
  empty: 'd755',
  private: 'd700',
  'private/note': 'f644 one\r\ntwo\r\n',
  link: 'l a.txt',
  '\xff\xfe name': 'f644 \0binary\xff\x01',
} as const

let ids = 0
await using w = new Fixture({
  newId: (letter) => {
    ids += 1
    return `${letter}golden${String(ids).padStart(3, '0')}`
  },
})
const at = (name: string) => Buffer.from(join(w.dir, name), 'latin1')
const write = (name: string, text: string) => writeFileSync(at(name), text, 'latin1')
const remove = (name: string) => rmSync(at(name), { recursive: true })

const befores = new Map<string, Record<string, string>>()
const afters = new Map<string, Record<string, string>>()

async function turn(
  session: string,
  prompt: string,
  status: 'ok' | 'failed',
  steps: readonly Step[],
): Promise<TurnId> {
  const wish = { session: session as SessionId, agent: 'golden-agent', prompt, message: `message ${prompt}` }
  const { turn } = await w.workspace.beginTurn(wish)
  befores.set(turn, readTree(w.dir))
  for (const { paths = [], act } of steps) {
    const { step } = await w.workspace.beginStep({
      turn,
      tool: paths.length === 0 ? 'shell' : 'edit',
      paths: paths.map(relPathUnchecked),
      ...(paths.length === 0 ? { command: 'make it so' } : {}),
    })
    act()
    await w.workspace.endStep(step)
  }
  await w.workspace.endTurn(turn, status)
  afters.set(turn, readTree(w.dir))
  return turn
}

interface Step {
  readonly paths?: readonly string[]
  readonly act: () => void
}

const one = 'one'
const two = 'Session/Zwei ü' // no good as the name of a ref

writeTree(w.dir, start)
await w.open()
await w.workspace.capture()

await turn(one, 'Mix', 'ok', [
  {
    act: () => {
      write('a.txt', lines({ 2: 'the agent, line 2' }))
      remove('old.txt')
      chmodSync(at('run.sh'), 0o644)
      mkdirSync(at('new/deep'), { recursive: true })
      write('new/deep/file.txt', 'deep\n')
    },
  },
])
write('a.txt', lines({ 2: 'the agent, line 2', 17: 'the user, line 17' }))
const second = await turn(two, 'Edit "b"', 'ok', [
  { paths: ['b.txt'], act: () => write('b.txt', lines({ 9: 'session two, line 9' })) },
])
await turn(one, 'Rename', 'ok', [
  {
    act: () => {
      const text = readFileSync(at('moved.txt'), 'latin1')
      remove('moved.txt')
      write('renamed.txt', text)
      remove('link')
      symlinkSync('nowhere', at('link'))
    },
  },
  {
    act: () => {
      write('\xff\xfe name', '\0other\xfe')
      remove('empty')
      mkdirSync(at('another'))
      chmodSync(at('secret'), 0o640)
    },
  },
])
await w.workspace.undo({ session: one as SessionId })
await turn(one, 'Another way', 'ok', [
  {
    paths: ['a.txt'],
    act: () => write('a.txt', lines({ 2: 'the agent, line 2', 10: 'another way', 17: 'the user, line 17' })),
  },
])
write('user.txt', 'a file of the user\n')
await turn(two, '', 'failed', [
  { paths: ['b.txt'], act: () => write('b.txt', lines({ 9: 'session two, line 9', 15: 'and line 15' })) },
  { act: () => write('private/note', 'one\r\nTWO\r\n') },
])
const rolledBack = await w.workspace.rollback({ selection: { turns: [second] }, session: two as SessionId })
if (rolledBack.op === undefined) throw new Error('nothing was rolled back')
await w.workspace.rollback({ selection: { ops: [rolledBack.op] }, session: two as SessionId })

const three = 'three'
const sessions = part === 'review' ? [one, two, three] : [one, two]
if (part === 'review') await underReview()

const now = readTree(w.dir)
mkdirSync(folder, { recursive: true })
await putAway()
const golden: GoldenStore = {
  turns: sessions.flatMap(turnsOf),
  heads: Object.fromEntries(w.workspace.index.sessions().map(({ id, head }) => [id, head.turn])),
  operations: w.workspace.index
    .operations()
    .map(({ record }) => record.kind)
    .reverse(),
  now,
  ...(part === 'review' ? { review: await reviewWords(w.workspace, three as SessionId) } : {}),
  undone: await undone(),
}
writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(golden, undefined, 1)}\n`)

/** Only what has to be kept; nothing about this machine. */
async function putAway(): Promise<void> {
  await w.close()
  const store = placeOfStore(w.env, w.dir)
  for (const name of ['objects.git', 'workspace.json'])
    cpSync(join(store, name), join(folder, 'store', name), { recursive: true })
  const facts = JSON.parse(readFileSync(join(store, 'workspace.json'), 'utf8')) as object
  writeFileSync(
    join(folder, 'store/workspace.json'),
    `${JSON.stringify({ ...facts, root: '/golden/project' })}\n`,
  )
  await w.open()
}

function turnsOf(session: string): readonly GoldenTurn[] {
  const { index } = w.workspace
  return index.turns(session as SessionId).map((row) => ({
    id: row.id,
    session,
    parent: row.parent.turn,
    prompt: row.prompt ?? '',
    status: row.status,
    changes: index
      .changesOfTurn(row.id)
      .map(
        (c) =>
          `${c.kind} ${c.path} +${c.additions} -${c.deletions}${c.from === undefined ? '' : ` from ${c.from}`}`,
      ),
    before: befores.get(row.id) ?? {},
    after: afters.get(row.id) ?? {},
  }))
}

/** Hunks: pending, accepted, rejected with a comment, taken back; and proposals, one of them contested. */
async function underReview(): Promise<void> {
  const session = three as SessionId
  write('c.txt', lines())
  write('e.txt', lines())
  await turn(three, 'Much to look at', 'ok', [
    {
      act: () => {
        write('c.txt', lines({ 1: 'three 1', 5: 'three 5', 9: 'three 9', 13: 'three 13', 17: 'three 17' }))
        remove('e.txt')
        write('f.txt', lines({ 3: 'three 3' }))
        write('\xff\xfe name', '\0three\xfe')
        chmodSync(at('run.sh'), 0o755)
      },
    },
  ])
  const idOf = async (path: string, nth: number): Promise<string> => {
    const { files } = await w.workspace.review(session)
    return files.find((file) => file.path === path)?.hunks[nth]?.id ?? ''
  }
  const accept = async (id: string) => w.workspace.accept({ session, selection: { hunks: [id] } })
  const { turn: offering } = await w.workspace.beginTurn({ session, agent: 'golden-agent', prompt: 'Offer' })
  befores.set(offering, readTree(w.dir))
  for (const [path, text] of [
    ['a.txt', readFileSync(at('a.txt'), 'latin1').replace('line 4\n', 'offered 4\n')],
    ['offered.txt', 'offered\n'],
    ['user.txt', 'the agent would change it\n'],
  ] as const)
    await w.workspace.propose({
      turn: offering,
      path: relPathUnchecked(path),
      content: Buffer.from(text, 'latin1'),
      group: 'both',
    })
  await w.workspace.endTurn(offering)
  write('c.txt', readFileSync(at('c.txt'), 'latin1').replace('line 11\n', 'the user, line 11\n'))
  write('user.txt', 'the user has changed it\n')
  await accept(await idOf('c.txt', 0))
  await w.workspace.reject({
    session,
    selection: { hunks: [await idOf('c.txt', 1)] },
    comment: 'Not this one.',
  })
  const taken = await accept(await idOf('c.txt', 2))
  await w.workspace.rollback({ selection: { ops: taken.ops }, session })
  await accept(await idOf('offered.txt', 0))
  afters.set(offering, readTree(w.dir))
}

async function undone(): Promise<Record<string, string>> {
  for (const session of sessions.toReversed()) {
    const outcome = await w.workspace.undo({ session: session as SessionId, turns: 99 })
    if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome))
  }
  return readTree(w.dir)
}
