/** Reviews beside gc and purge: what stays is whole, and what goes is nowhere. */

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  accept,
  at,
  edited,
  hunks,
  ids,
  offer,
  pending,
  reject,
  ten,
  withoutIndex,
} from '../testing/reviewing.ts'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { SessionId } from '../values.ts'

const kept = 'kept' as SessionId

/** One session to keep, with much under review, and others that worked on the same files meanwhile. */
async function busy(): Promise<Fixture> {
  const w = await workspace({ a: ten, b: ten, c: ten }, { honest: false })
  w.inSession('kept')
  await w.turn('Shout', { a: edited(ten, { 2: 'TWO', 5: 'FIVE', 9: 'NINE' }), b: edited(ten, { 1: 'ONE' }) })
  await accept(w, { hunks: [(await ids(w))[0] ?? ''] })
  await offer(w, { c: edited(ten, { 3: 'THREE' }) })
  const turn = await w.inSession('other').beginTurn('Between')
  await w.step(turn, { a: edited(ten, { 2: 'TWO', 3: 'other 3', 5: 'FIVE', 9: 'NINE' }), n: 'n\n' })
  await w.step(turn, { a: edited(ten, { 2: 'TWO', 3: 'other 3', 5: 'FIVE other', 9: 'NINE' }) })
  await w.workspace.endTurn(turn)
  await hunks(w, kept)
  await w.turn('Move', () => renameSync(w.pathOf('b'), w.pathOf('moved')))
  await w.turn('After', {
    a: edited(ten, { 2: 'TWO', 3: 'other 3', 5: 'FIVE other', 7: 'other 7', 9: 'NINE' }),
  })
  w.userWrites({
    a: edited(ten, { 2: 'TWO', 3: 'other 3', 5: 'FIVE mine', 7: 'other 7', 8: 'mine', 9: 'NINE' }),
  })
  await w.workspace.capture()
  await w.inSession('third').turn('Last', { 'third.txt': 't\n' })
  return w
}

test('[R216] [P11] what is under review in a session stays, by the same ids, when others are dropped', async () => {
  await using w = await busy()
  // Which turn a line is of may be lost with a dropped rename; what is pending is not.
  const found = async () => (await hunks(w, kept)).map(({ turns: _, ...hunk }) => hunk)
  const before = await found()
  expect(before.length).toBeGreaterThan(3)
  expect(before.some(({ contested }) => contested)).toBe(true)

  await w.workspace.pin(kept)
  const { dropped } = await w.workspace.gc({ keepSessions: 2 })

  expect(dropped.map(({ facts }) => facts.session)).toEqual(['other'])
  expect(await found()).toEqual(before)
  await w.reopen()
  expect(await found()).toEqual(before)
  await withoutIndex(w)
  expect(await found()).toEqual(before)
  expect(await w.workspace.doctor()).toEqual([])
  w.inSession('kept')
  const refused = await reject(w, {}, { onConflict: 'keep' })
  expect(refused.conflicts).toHaveLength(1)
  expect(w.files().a).toBe(edited(ten, { 2: 'TWO', 3: 'other 3', 5: 'FIVE mine', 7: 'other 7', 8: 'mine' }))
  await w.rollback({ ops: refused.ops })
  expect(await ids(w)).toEqual(before.map(({ id }) => id))
})

test('[R216] keeping a review makes no session younger', async () => {
  await using w = await busy()
  await hunks(w, kept)
  const facts = () => w.workspace.index.sessions().map(({ id, lastSeq }) => [id, lastSeq])
  const before = facts()
  await w.workspace.pin(kept)
  await w.workspace.gc({ keepSessions: 2 })
  expect(facts()).toEqual(before.filter(([id]) => id !== 'other'))
})

const secret = 'TOP-SECRET-4711'

/** Everything in the store: git's objects, and every file as it is, also as base64. */
function traces(w: Fixture): readonly string[] {
  const { folder } = w.workspace.engine.folders
  const repo = join(folder, 'objects.git')
  const objects = execFileSync('git', ['--git-dir', repo, 'cat-file', '--batch-all-objects', '--batch'], {
    env: w.env,
    encoding: 'latin1',
    maxBuffer: 1 << 28,
  })
  const words = [secret, ...[0, 1, 2].map((shift) => inBase64(secret, shift))]
  const found = words.some((word) => objects.includes(word)) ? ['objects'] : []
  for (const path of filesIn(folder)) {
    const bytes = readFileSync(path, 'latin1')
    if (words.some((word) => bytes.includes(word))) found.push(path.slice(folder.length))
  }
  return found
}

/** The part of the base64 of any text around it that depends on the word alone. */
function inBase64(word: string, shift: number): string {
  const text = Buffer.from(`${'\0'.repeat(shift)}${word}`).toString('base64')
  return text.slice(shift === 0 ? 0 : 4, -4)
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? filesIn(path) : [path]
  })
}

test('[R217] a purged path leaves no byte in hunks, acceptances, rejections and proposals, and other paths keep theirs', async () => {
  const start = edited(ten, { 1: `${secret} 1` })
  const long = ten.replace(/^/gm, 'a line that is not so short: ').trimEnd()
  const files = { s: start, d: start, b: ten, r: `${secret} r\n${long}` }
  await using w = await workspace(files, { honest: false })
  await w.turn('Shout', () => {
    w.userWrites({ s: edited(start, { 3: `${secret} 3`, 5: `${secret} 5`, 9: `${secret} 9` }), d: null })
    w.userWrites({ b: edited(ten, { 2: 'TWO', 7: 'SEVEN' }) })
    renameSync(w.pathOf('r'), w.pathOf('q'))
    w.userWrites({ q: `clean\n${long.replace('short: 4', 'long: 4')}` })
  })
  await offer(w, { s: `${secret} offered\n`, b: edited(ten, { 2: 'TWO', 7: 'SEVEN', 10: 'TEN' }) })
  w.userWrites({ s: edited(start, { 3: `${secret} 3 mine`, 5: `${secret} 5`, 9: `${secret} 9` }) })
  const found = await hunks(w)
  const inS = found.filter(({ path, proposal }) => path === 's' && proposal === undefined)
  await accept(w, { hunks: [inS[1]?.id ?? ''] })
  await reject(w, { hunks: [inS[2]?.id ?? ''] }, { comment: 'No.' })
  const inQ = found.filter(({ path }) => path === 'q').map(({ id, kind }) => `${kind} ${id}`.split(' '))
  expect(inQ.map(([kind]) => kind)).toEqual(['rename', 'text', 'text'])
  await accept(w, { hunks: [inQ[0]?.[1] ?? ''] })
  await reject(w, { hunks: [inQ[2]?.[1] ?? ''] })
  w.userWrites({ q: `clean\n${long}` })
  const before = (await hunks(w)).filter(({ path }) => path === 'b')
  expect(before).toHaveLength(3)
  expect(traces(w)).not.toEqual([])

  w.userWrites({ s: null })
  await w.workspace.capture()
  const { proof } = await w.workspace.purge([at('s'), at('d'), at('r')])

  expect([proof.strays, [...proof.stay.values()]]).toEqual([[], []])
  expect(traces(w)).toEqual([])
  expect((await hunks(w)).filter(({ path }) => path === 'b')).toEqual(before)
  await withoutIndex(w)
  expect((await hunks(w)).filter(({ path }) => path === 'b')).toEqual(before)
  expect(await pending(w)).not.toContainEqual(expect.stringContaining(secret))
  expect(await w.workspace.doctor()).toEqual([])
  await reject(w, { paths: [at('b')] })
  expect(w.files().b).toBe(ten)
})
