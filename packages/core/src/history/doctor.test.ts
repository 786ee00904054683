import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { refOf } from '../log/log.ts'
import { type OperationRecord, serializeRecord } from '../log/record.ts'
import type { Operation } from '../log/rows.ts'
import { writeRef } from '../store/refs.ts'
import { type Fixture, workspace } from '../testing/workspace.ts'
import type { CommitId, OpId, SessionId, TurnId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'

const heapMegabytes = 32
const turns = 700
const promptBytes = 48 * 1024

test('[L124] a history larger than the memory is taken in, checked and indexed anew', async () => {
  await using fixture = await workspace({ 'a.txt': '0\n' })
  lengthen(fixture)
  await fixture.close()
  const script = `
    const { openWorkspace } = await import(${JSON.stringify(new URL('../workspace.ts', import.meta.url).href)})
    await using workspace = await openWorkspace(${JSON.stringify(fixture.dir)}, { explicit: true, env: process.env })
    const found = [await workspace.doctor(), await workspace.doctor({ repair: true })]
    console.log(JSON.stringify({ found, last: workspace.index.lastSeq() }))`
  const output = execFileSync(
    process.execPath,
    [`--max-old-space-size=${heapMegabytes}`, '--input-type=module', '-e', script],
    { env: fixture.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 60_000 },
  )
  expect(JSON.parse(output)).toEqual({
    found: [[], [{ severity: 'mended', what: 'the query index was rebuilt from the log' }]],
    last: 1 + 2 * turns,
  })
})

/** Turns of two sessions by turns, with long prompts, straight into the log: to record them one by one takes minutes. */
function lengthen({ workspace: { engine } }: Fixture): void {
  const { log, objects } = engine
  const start = log.index.lastOperation() as Operation
  const batch = objects.newBatch()
  const tips = new Map<SessionId, CommitId>()
  const append = (record: OperationRecord & { readonly session: SessionId }) => {
    const { tree, attrs } = start.after
    const parent = tips.get(record.session)
    const commit = batch.commit({
      tree: batch.tree([
        { name: 'before', mode: '40000', id: tree },
        { name: 'before.attrs', mode: '100644', id: attrs },
        { name: 'after', mode: '40000', id: tree },
        { name: 'after.attrs', mode: '100644', id: attrs },
        { name: 'skipped', mode: '100644', id: start.skipped },
        { name: 'op.json', mode: '100644', id: batch.blob(serializeRecord(record)) },
      ]),
      parents: parent === undefined ? [] : [parent],
      message: `${record.kind} ${record.id}\n`,
      atSeconds: 1,
    })
    tips.set(record.session, commit)
  }
  for (let at = 0; at < turns; at += 1) {
    const session = `agent-${at % 2}` as SessionId
    const turn = `t${at}` as TurnId
    const prompt = `turn ${at}\n`.repeat(promptBytes / 10)
    const common = { session, turn, atMs: 1_000 * at }
    append({
      ...common,
      kind: 'turn-begin',
      id: `ob${at}` as OpId,
      seq: 2 + 2 * at,
      parent: { turn: at < 2 ? null : (`t${at - 2}` as TurnId) },
      agent: 'test-agent',
      prompt,
    })
    append({
      ...common,
      kind: 'turn-end',
      id: `oe${at}` as OpId,
      seq: 3 + 2 * at,
      status: 'ok',
      commits: [],
    })
  }
  batch.flush()
  for (const [session, tip] of tips) writeRef(nodeFs, objects.folder, refOf(session), tip)
}
