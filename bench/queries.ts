/** Questions to an index of 100,000 changes: they must not take longer in a long history, or in a large repository. */

import { join } from 'node:path'
import type {
  Operation,
  OperationRecord,
  RelPath,
  SessionId,
  StepId,
  TurnId,
} from '../packages/core/src/index.ts'
import { IndexDb } from '../packages/core/src/log/index-db.ts'
import type { AbsPath } from '../packages/core/src/values.ts'
import { absolute, type Row } from './report.ts'
import { median, timed } from './timing.ts'
import { pathOf, type Tree } from './tree.ts'

const turns = 10_000
const perTurn = 10
const beginMs = Date.parse('2026-01-01T00:00:00Z')

export async function queries(tree: Tree, runs: number): Promise<readonly Row[]> {
  using index = IndexDb.open(join(tree.ground.place('queries'), '../queries.db') as AbsPath)
  index.atomically(() => {
    for (let turn = 0; turn < turns; turn++) fill(index, turn)
  })
  const session = sessionOf(0)
  const asked: Readonly<Record<string, () => unknown>> = {
    'the last 100 changes': () => index.findChanges({ limit: 100 }),
    'the last 100 of a session': () => index.findChanges({ session, limit: 100 }),
    'one file': () => index.findChanges({ paths: [pathOf(7) as RelPath], limit: 100 }),
    'one agent, last 100': () => index.findChanges({ agents: ['agent-1'], limit: 100 }),
    'the last hour': () => index.findChanges({ afterMs: beginMs + (turns - 60) * 60_000 }),
    'one turn': () => index.changesOfTurn(turnOf(turns >> 1)),
    'turns of a session': () => index.turns(session),
  }
  const rows: Row[] = []
  for (const [work, ask] of Object.entries(asked)) {
    const all: number[] = []
    for (let run = 0; run < runs * 4; run++) all.push(await timed(ask))
    const row = {
      work: `query: ${work}`,
      files: turns * perTurn,
      unit: 'ms' as const,
      ours: median(all),
      all: { Unturn: all },
    }
    rows.push(absolute(row, 20))
  }
  return rows
}

const sessionOf = (turn: number) => `session-${turn % 20}` as SessionId
const turnOf = (turn: number) => `t${String(turn).padStart(6, '0')}` as TurnId
const hex = (value: number) => value.toString(16).padStart(40, '0')

function fill(index: IndexDb, turn: number): void {
  const session = sessionOf(turn)
  const common = { session, turn: turnOf(turn), agent: `agent-${turn % 3}`, atMs: beginMs + turn * 60_000 }
  const begin = { ...common, kind: 'turn-begin', id: `o${turn}b`, seq: turn * 2 + 1, parent: { turn: null } }
  const step = {
    ...common,
    kind: 'step',
    id: `o${turn}s`,
    seq: turn * 2 + 2,
    step: `s${turn}` as StepId,
    tool: 'shell',
    paths: [],
    certainty: 'inferred',
    ended: true,
    beganMs: common.atMs,
  }
  for (const record of [begin, step]) {
    const operation = operationOf(record as unknown as OperationRecord)
    index.project(operation, `refs/unturn/sessions/${session}`)
    if (record === step) index.describe(operation, changesOf(turn))
  }
}

function operationOf(record: OperationRecord): Operation {
  const snapshot = { tree: hex(record.seq), attrs: hex(0) }
  return {
    record,
    commit: hex(record.seq),
    before: snapshot,
    after: snapshot,
    skipped: hex(0),
  } as unknown as Operation
}

function changesOf(turn: number) {
  return Array.from({ length: perTurn }, (_, at) => ({
    path: pathOf((turn * 7 + at * 131) % 5000) as RelPath,
    kind: 'modify' as const,
    additions: 1,
    deletions: 1,
    binary: false,
  }))
}
