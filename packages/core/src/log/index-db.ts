/**
 * `index.db`: the query index over the log. It holds nothing that the log does not, is deleted and rebuilt at
 * will, and is only ever written by `project`, one operation at a time, in order.
 */

import { createHash } from 'node:crypto'
import { bytesOfText } from '../errors.ts'
import type {
  AbsPath,
  ChangeId,
  CommitId,
  OpId,
  RelPath,
  SessionId,
  Snapshot,
  StepId,
  TurnId,
} from '../values.ts'
import { unreachable } from '../values.ts'
import { type OperationRecord, type OutNote, type Point, type Stage, serializeRecord } from './record.ts'
import {
  type ChangeRow,
  changeId,
  changeOf,
  type ListedChange,
  listedOf,
  maybe,
  type NewChange,
  type Operation,
  type OutRow,
  operationOf,
  outOf,
  type Row,
  type SessionRow,
  type StepRow,
  sessionOf,
  stepOf,
  type TurnRow,
  text,
  turnOf,
} from './rows.ts'
import { type DatabaseSync, openDatabase, type StatementSync, sqliteBusy, sqliteCode } from './sqlite.ts'

/** Which changes; an empty selection is all of them. */
export interface ChangeSelection {
  readonly changes?: readonly ChangeId[]
  readonly steps?: readonly StepId[]
  readonly turns?: readonly TurnId[]
  readonly agents?: readonly string[]
  readonly agentIds?: readonly string[]
  readonly opSeqs?: readonly number[]
  /** Files, or folders with everything below. */
  readonly paths?: readonly RelPath[]
  readonly afterMs?: number
  readonly untilMs?: number
  readonly session?: SessionId
  /** Also the user's own, and Unturn's. */
  readonly everybody?: boolean
  /** In the path, the prompt or the command; as text, whatever the case of its letters. */
  readonly text?: string
  /** Only what comes behind this one in the order of the answer. */
  readonly behind?: Pick<ChangeRow, 'opSeq' | 'path'>
  readonly limit?: number
  readonly offset?: number
}

/** Which operations; an empty filter is all of them. */
export interface OperationFilter {
  readonly session?: SessionId
  /** With a session: the user's own operations, too. */
  readonly own?: boolean
  readonly kinds?: readonly string[]
  readonly sinceMs?: number
  readonly untilMs?: number
  readonly afterSeq?: number
  readonly beforeSeq?: number
  readonly limit?: number
}

/** An operation with what it changed, counted. */
export interface CountedOperation extends TurnTotals {
  readonly operation: Operation
}

export interface TurnTotals {
  readonly files: number
  readonly additions: number
  readonly deletions: number
}

function totalsOf(row: Row): TurnTotals {
  return {
    files: Number(row.files),
    additions: Number(row.additions),
    deletions: Number(row.deletions),
  }
}

const schemaVersion = 5

const schema = `
create table meta (key text primary key, value text not null) without rowid;
create table refs (name text primary key, commit_id text not null) without rowid;
create table ops (
  seq integer primary key, id text not null unique, commit_id blob not null unique, kind text not null,
  session text, turn text, step text, at_ms integer not null,
  before_tree blob not null, before_attrs blob not null, after_tree blob not null, after_attrs blob not null,
  skipped blob not null, record text not null, described integer not null default 0,
  actor text not null, agent_id text, certainty text not null
);
create index ops_time on ops (at_ms);
create index ops_turn on ops (turn, seq) where turn is not null;
create index ops_step on ops (step, seq) where step is not null;
create index ops_session on ops (session, seq);
create index ops_undescribed on ops (seq) where described = 0;
create table sessions (
  id text primary key, agent text not null, head_turn text, head_before text,
  first_seq integer not null, last_seq integer not null
) without rowid;
create table turns (
  id text primary key, session text not null, parent_turn text, parent_before text, agent text not null,
  agent_id text, prompt text, message text, pid integer, status text not null, begin_seq integer not null,
  end_seq integer, began_ms integer not null, ended_ms integer, visited_seq integer not null,
  commits text not null default '[]', git_before text, git_after text, removed integer not null default 0
) without rowid;
create index turns_session on turns (session, begin_seq);
create table steps (
  id text primary key, session text not null, turn text not null, tool text not null, agent text not null,
  agent_id text, part text, command text, first_seq integer not null, began_ms integer not null,
  removed integer not null default 0
) without rowid;
create index steps_turn on steps (turn, first_seq);
create table changes (
  op_seq integer not null, ord integer not null, path text not null, kind text not null, from_path text,
  additions integer not null, deletions integer not null, is_binary integer not null,
  primary key (op_seq, ord)
) without rowid;
create index changes_path on changes (path);
create index changes_from on changes (from_path) where from_path is not null;
create table outs (
  op_seq integer not null, path text not null, by_seq integer not null, stage integer not null,
  primary key (op_seq, path)
) without rowid;
create table reviews (
  session text primary key, seq integer not null, state text not null, pending integer
) without rowid;
`

/** The turns of a session after one of its operations, in an index that was filled then. */
interface TurnsRead {
  readonly filled: string
  readonly seq: number
  readonly turns: readonly TurnRow[]
}

const mostTurnsKept = 50_000
const touchesOwnTurnOnly: ReadonlySet<string> = new Set([
  'turn-begin',
  'turn-end',
  'step',
  'propose',
  'accept',
  'reject',
])

export class IndexDb implements Disposable {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * One that is gone when it is closed. It is in memory as long as it is small; SQLite then goes on in a file of its own
   * among the system's temporary ones, which has no name there.
   */
  static temporary(): IndexDb {
    const index = IndexDb.open('' as AbsPath)
    // One transaction for ever: nobody else sees it, and thousands would take their time.
    index.#database.exec('pragma cache_size = -16384; begin')
    return index
  }

  /** Throws SQLite's error where the file is damaged; the log then rebuilds it. */
  static open(path: AbsPath): IndexDb {
    const database = openDatabase(Buffer.from(path, 'latin1').toString('utf8'))
    try {
      // Patience first: even the question for the journal mode may meet somebody who is just closing the file.
      // The log is the truth and is synced; losing the index in a power cut costs a rebuild, nothing else.
      database.exec(
        'pragma busy_timeout = 10000; pragma journal_mode = wal; pragma synchronous = normal; pragma journal_size_limit = 1048576',
      )
      const index = new IndexDb(database)
      index.#prepareSchema()
      return index
    } catch (error) {
      database.close()
      throw error
    }
  }

  #prepareSchema(): void {
    if (this.#schemaVersion() === schemaVersion) return
    this.atomically(() => {
      if (this.#schemaVersion() === schemaVersion) return // another process was quicker
      this.#dropAll()
      this.#database.exec(`${schema} pragma user_version = ${schemaVersion};`)
    })
  }

  #schemaVersion(): number {
    return Number(this.#get('pragma user_version')?.user_version ?? 0)
  }

  // An index of another version is not migrated: the log has everything, and a rebuild cannot get it wrong.
  #dropAll(): void {
    for (const row of this.#all(`select name from sqlite_master where type = 'table'`)) {
      this.#database.exec(`drop table "${String(row.name)}"`)
    }
    this.#statements.clear()
  }

  clear(): void {
    for (const table of ['refs', 'ops', 'sessions', 'turns', 'steps', 'changes', 'outs', 'reviews']) {
      this.#database.exec(`delete from ${table}`)
    }
    this.#noteFilledAnew()
  }

  /** A fingerprint of everything that the log alone decides: two indexes of one log have the same. */
  fingerprint(): string {
    const hash = createHash('sha256')
    for (const table of ['refs', 'ops', 'sessions', 'turns', 'steps', 'outs']) {
      for (const { described: _described, ...row } of this.#each(`select * from ${table} order by 1, 2`))
        hash.update(JSON.stringify(row))
    }
    return hash.digest('hex')
  }

  atomically<T>(work: () => T): T {
    this.#database.exec('begin immediate')
    try {
      const result = work()
      this.#database.exec('commit')
      return result
    } catch (error) {
      this.#database.exec('rollback')
      this.#turnsRead.clear() // it may have been read from what has just been taken back
      throw error
    }
  }

  // ---- reading -----------------------------------------------------------------------------------------------

  lastSeq(): number {
    return Number(this.#get('select max(seq) as seq from ops')?.seq ?? 0)
  }

  lastOperation(): Operation | undefined {
    return maybe(this.#get('select * from ops order by seq desc limit 1'), operationOf)
  }

  refs(): ReadonlyMap<string, CommitId> {
    return new Map(
      this.#all('select name, commit_id from refs').map((row) => [
        text(row, 'name'),
        text(row, 'commit_id') as CommitId,
      ]),
    )
  }

  hasCommit(commit: CommitId): boolean {
    return this.#get('select 1 from ops where commit_id = ?', bytesOfId(commit)) !== undefined
  }

  findOperation(id: OpId): Operation | undefined {
    return maybe(this.#get('select * from ops where id = ?', id), operationOf)
  }

  operationAt(seq: number): Operation | undefined {
    return maybe(this.#get('select * from ops where seq = ?', seq), operationOf)
  }

  operations(filter: { readonly session?: SessionId; readonly limit?: number } = {}): readonly Operation[] {
    const limit = filter.limit ?? -1
    const rows =
      filter.session === undefined
        ? this.#all('select * from ops order by seq desc limit ?', limit)
        : this.#all('select * from ops where session = ? order by seq desc limit ?', filter.session, limit)
    return rows.map(operationOf)
  }

  /** Newest first, each with what it changed. */
  countedOperations(filter: OperationFilter): readonly CountedOperation[] {
    const where: string[] = ['1']
    const values: (string | number)[] = []
    const narrow = (sql: string, ...wanted: readonly (string | number)[]) => {
      where.push(sql)
      values.push(...wanted)
    }
    if (filter.session !== undefined)
      narrow(filter.own === true ? '(session = ? or session is null)' : 'session = ?', filter.session)
    if (filter.kinds !== undefined)
      narrow('kind in (select value from json_each(?))', JSON.stringify(filter.kinds))
    if (filter.sinceMs !== undefined) narrow('at_ms >= ?', filter.sinceMs)
    if (filter.untilMs !== undefined) narrow('at_ms <= ?', filter.untilMs)
    if (filter.afterSeq !== undefined) narrow('seq > ?', filter.afterSeq)
    if (filter.beforeSeq !== undefined) narrow('seq < ?', filter.beforeSeq)
    return this.#all(
      `select chosen.*, count(distinct path) as files, total(additions) as additions, total(deletions) as deletions
         from (select * from ops where ${where.join(' and ')} order by seq desc limit ?) as chosen
         left join changes on op_seq = seq group by seq order by seq desc`,
      ...values,
      filter.limit ?? -1,
    ).map((row) => ({ operation: operationOf(row), ...totalsOf(row) }))
  }

  stepOperations(turn: TurnId): readonly Operation[] {
    return this.#all(
      `select * from ops where turn = ? and kind = 'step' and ${notRemoved} order by seq`,
      turn,
    ).map(operationOf)
  }

  operationsOfStep(step: StepId): readonly Operation[] {
    return this.#all('select * from ops where step = ? order by seq', step).map(operationOf)
  }

  operationsOfTurn(turn: TurnId): readonly Operation[] {
    return this.#all('select * from ops where turn = ? order by seq', turn).map(operationOf)
  }

  /** The next ones behind this number, oldest first. */
  undescribed(behindSeq: number, limit: number): readonly Operation[] {
    const sql = 'select * from ops where described = 0 and seq > ? order by seq limit ?'
    return this.#all(sql, behindSeq, limit).map(operationOf)
  }

  countUndescribed(): number {
    return Number(this.#get('select count(*) as count from ops where described = 0')?.count)
  }

  sessions(): readonly SessionRow[] {
    return this.#all('select * from sessions order by last_seq desc').map(sessionOf)
  }

  findSession(id: SessionId): SessionRow | undefined {
    return maybe(this.#get('select * from sessions where id = ?', id), sessionOf)
  }

  /** Oldest first. */
  operationsSince(seq: number): readonly Operation[] {
    return this.#all('select * from ops where seq > ? order by seq', seq).map(operationOf)
  }

  /** The newest operation that left the workspace in this state. */
  findOperationAfter(snapshot: Snapshot): Operation | undefined {
    return maybe(
      this.#get(
        'select * from ops where after_tree = ? and after_attrs = ? order by seq desc limit 1',
        bytesOfId(snapshot.tree),
        bytesOfId(snapshot.attrs),
      ),
      operationOf,
    )
  }

  firstOperation(): Operation | undefined {
    return maybe(this.#get('select * from ops order by seq limit 1'), operationOf)
  }

  /** The numbers of a session's operations, oldest first; without a session those of the user's own. */
  seqsOf(session: SessionId | undefined): readonly number[] {
    return this.#all('select seq from ops where session is ? order by seq', session ?? null).map(({ seq }) =>
      Number(seq),
    )
  }

  /** All operations, oldest first, a few at a time: a long history does not fit into memory. */
  *eachOperation(): IterableIterator<Operation> {
    const sql = 'select * from ops where seq > ? order by seq limit 100'
    for (let behind = 0; ; ) {
      const next = this.#all(sql, behind).map(operationOf)
      yield* next
      const last = next.at(-1)
      if (last === undefined) return
      behind = last.record.seq
    }
  }

  /** Newest first. */
  operationsOfUser(): readonly Operation[] {
    return this.#all('select * from ops where session is null order by seq desc').map(operationOf)
  }

  countOperations(session: SessionId): number {
    return Number(this.#get('select count(*) as count from ops where session = ?', session)?.count)
  }

  firstOperationOf(session: SessionId): Operation | undefined {
    return maybe(this.#get('select * from ops where session = ? order by seq limit 1', session), operationOf)
  }

  /** Also one that was cleaned up. */
  findTurnEvenRemoved(id: TurnId): TurnRow | undefined {
    return maybe(this.#get('select * from turns where id = ?', id), turnOf)
  }

  /** Also one that was cleaned up. */
  findStepEvenRemoved(id: StepId): StepRow | undefined {
    return maybe(this.#get('select * from steps where id = ?', id), stepOf)
  }

  findTurn(id: TurnId): TurnRow | undefined {
    return maybe(this.#get('select * from turns where id = ? and removed = 0', id), turnOf)
  }

  /** In the order in which they began. */
  turns(session: SessionId): readonly TurnRow[] {
    const seq = Number(this.#get('select last_seq from sessions where id = ?', session)?.last_seq ?? 0)
    const filled = String(this.#get(`select value from meta where key = 'filled'`)?.value)
    const last = this.#turnsRead.get(session)
    const known = last?.filled === filled ? last : undefined
    if (known?.seq === seq) return known.turns
    const turns = this.#turnsSince(session, known) ?? this.#readTurns(session)
    this.#turnsRead.delete(session)
    this.#turnsRead.set(session, { filled, seq, turns })
    this.#forgetOldest()
    return turns
  }

  readonly #turnsRead = new Map<SessionId, TurnsRead>()

  #readTurns(session: SessionId): readonly TurnRow[] {
    const sql = 'select * from turns where session = ? and removed = 0 order by begin_seq'
    return this.#all(sql, session).map(turnOf)
  }

  // To read ten thousand turns takes a tenth of a second, and an agent at work begins and ends one all the time: only
  // that one is read again. Whatever moves the head, or cleans up, may have touched any of them.
  #turnsSince(session: SessionId, known: TurnsRead | undefined): readonly TurnRow[] | undefined {
    if (known === undefined) return undefined
    const rows = this.#all('select kind, turn from ops where session = ? and seq > ?', session, known.seq)
    if (!rows.every(({ kind }) => touchesOwnTurnOnly.has(String(kind)))) return undefined
    const turns = [...known.turns]
    for (const id of new Set(rows.flatMap(({ turn }) => (turn === null ? [] : [turn as TurnId])))) {
      const turn = this.findTurn(id)
      const at = turns.findLastIndex((one) => one.id === id)
      if (turn === undefined) return undefined
      if (at >= 0) turns[at] = turn
      else if (turn.beginSeq > known.seq) turns.push(turn)
      else return undefined
    }
    return turns
  }

  #forgetOldest(): void {
    let kept = 0
    for (const { turns } of this.#turnsRead.values()) kept += turns.length
    for (const [session, { turns }] of this.#turnsRead) {
      if (kept <= mostTurnsKept || this.#turnsRead.size === 1) return
      this.#turnsRead.delete(session)
      kept -= turns.length
    }
  }

  // From here on sequence numbers may stand for something else than what was read under them.
  #noteFilledAnew(): void {
    this.#run(`insert or replace into meta values ('filled', lower(hex(randomblob(8))))`)
    this.#turnsRead.clear()
  }

  /** What each turn of a session changed, in one go: asked turn by turn, a long history takes seconds. */
  turnTotals(session: SessionId): ReadonlyMap<TurnId, TurnTotals> {
    const rows = this.#all(
      `select turn, count(distinct path) as files, sum(additions) as additions, sum(deletions) as deletions
         from ops join changes on op_seq = seq where session = ? and turn is not null and ${notRemoved} group by turn`,
      session,
    )
    return new Map(rows.map((row) => [text(row, 'turn') as TurnId, totalsOf(row)]))
  }

  openTurns(session?: SessionId): readonly TurnRow[] {
    const rows =
      session === undefined
        ? this.#all(`select * from turns where status = 'open' and removed = 0 order by begin_seq`)
        : this.#all(
            `select * from turns where session = ? and status = 'open' and removed = 0 order by begin_seq`,
            session,
          )
    return rows.map(turnOf)
  }

  findTurnByMessage(session: SessionId, message: string): TurnRow | undefined {
    return maybe(
      this.#get(
        'select * from turns where session = ? and message = ? and removed = 0 order by begin_seq desc',
        session,
        message,
      ),
      turnOf,
    )
  }

  steps(turn: TurnId): readonly StepRow[] {
    return this.#all(
      'select * from steps where turn = ? and removed = 0 order by first_seq, began_ms',
      turn,
    ).map(stepOf)
  }

  findStep(id: StepId): StepRow | undefined {
    return maybe(this.#get('select * from steps where id = ? and removed = 0', id), stepOf)
  }

  findStepByPart(turn: TurnId, part: string): StepRow | undefined {
    return maybe(
      this.#get('select * from steps where turn = ? and part = ? and removed = 0', turn, part),
      stepOf,
    )
  }

  outsOf(opSeq: number): readonly OutRow[] {
    return this.#all('select * from outs where op_seq = ?', opSeq).map(outOf)
  }

  changesOfOperation(opSeq: number): readonly ChangeRow[] {
    return this.#all(`${selectChanges} where op_seq = ? order by path`, opSeq).map(changeOf)
  }

  changesOfTurn(turn: TurnId): readonly ChangeRow[] {
    return this.#all(
      `${selectChanges} where op_seq in (select seq from ops where turn = ?) and ${notRemoved} order by op_seq, path`,
      turn,
    ).map(changeOf)
  }

  changesOfStep(step: StepId): readonly ChangeRow[] {
    return this.#all(
      `${selectChanges} where op_seq in (select seq from ops where step = ?) order by op_seq, path`,
      step,
    ).map(changeOf)
  }

  /**
   * Changes by selection: several kinds of selector narrow each other, repeats of one kind add up. Newest first.
   * Only changes of steps, unless one is named by its id.
   */
  findChanges(selection: ChangeSelection): readonly ChangeRow[] {
    const { where, values } = conditionsOf(selection)
    return this.#all(
      `${changeColumns} from ${changesBy(selection)} where ${where} ${newestFirst}`,
      ...values,
    ).map(changeOf)
  }

  /** The same with only what a list of changes shows: to hand over a row takes longer than to find it. */
  listChanges(selection: ChangeSelection): readonly ListedChange[] {
    const { where, values } = conditionsOf(selection)
    return this.#all(
      `select step, path, changes.kind, additions, deletions, ops.agent_id, steps.tool, steps.began_ms,
         exists (select 1 from outs where outs.op_seq = seq and outs.path in ('', changes.path)) as is_out
         from ${changesBy(selection)} join steps on steps.id = ops.step where ${where} ${newestFirst}`,
      ...values,
    ).map(listedOf)
  }

  /** Ids of this kind that begin so; at most a handful, which is enough to say "ambiguous". */
  idsWithPrefix(
    table: 'turns' | 'steps' | 'ops' | 'changes' | 'sessions',
    prefix: string,
  ): readonly string[] {
    if (table === 'changes') return this.#changeIdsWithPrefix(prefix)
    const end = `${prefix}\uffff`
    const alive = table === 'turns' || table === 'steps' ? 'and removed = 0' : ''
    return this.#all(`select id from ${table} where id >= ? and id < ? ${alive} limit 8`, prefix, end).map(
      (row) => text(row, 'id'),
    )
  }

  #changeIdsWithPrefix(prefix: string): readonly string[] {
    const [body = '', number] = prefix.slice(1).split('.')
    const end = number === undefined ? `o${body}\uffff` : `o${body}\u0001`
    const sql = `select ops.id as op_id, ord from ops join changes on op_seq = seq where ops.id >= ? and ops.id < ? limit 64`
    const ids = this.#all(sql, `o${body}`, end).map((row) =>
      changeId(text(row, 'op_id') as OpId, Number(row.ord)),
    )
    return ids.filter((id) => id.startsWith(prefix)).slice(0, 8)
  }

  counts(): { readonly operations: number; readonly turns: number; readonly changes: number } {
    const row = this.#get(
      'select (select count(*) from ops) as ops, (select count(*) from turns where removed = 0) as turns, (select count(*) from changes) as changes',
    )
    return {
      operations: Number(row?.ops),
      turns: Number(row?.turns),
      changes: Number(row?.changes),
    }
  }

  // ---- writing: one operation at a time, in order ---------------------------------------------------------------

  /** Takes one operation in. The same for a new operation and for a rebuild. */
  project(operation: Operation, ref: string): void {
    const { record } = operation
    this.#insertOperation(operation)
    this.#run('insert or replace into refs values (?, ?)', ref, operation.commit)
    if (record.session !== undefined) this.#touchSession(record.session, record.seq)
    switch (record.kind) {
      case 'baseline':
        return this.#projectOut(record.out ?? [], record.seq)
      case 'user-edit':
        return
      case 'turn-begin':
        return this.#projectTurnBegin(record)
      case 'turn-end':
        return this.#projectTurnEnd(record)
      case 'step':
        return this.#projectStep(record)
      case 'undo':
      case 'redo':
      case 'restore':
        this.#moveHead(record.session, record.to)
        this.#visit(record.stages, record.seq)
        return this.#projectStages(record.stages, record.seq)
      case 'rollback':
        if (record.session !== undefined && record.to !== undefined) this.#moveHead(record.session, record.to)
        this.#visit(record.to === undefined ? [] : record.stages, record.seq)
        return this.#projectStages(record.stages, record.seq)
      case 'cleanup':
        for (const turn of record.turns) this.#removeTurn(turn)
        for (const step of record.steps) this.#removeStep(step)
        return
      case 'accept':
      case 'reject':
      case 'propose':
        return
      default:
        return unreachable(record)
    }
  }

  #removeTurn(turn: TurnId): void {
    this.#run('update turns set removed = 1 where id = ?', turn)
    this.#run('update steps set removed = 1 where turn = ?', turn)
  }

  // A turn without its later steps ends where they began: that point is now the turn itself.
  #removeStep(step: StepId): void {
    this.#run('update steps set removed = 1 where id = ?', step)
    this.#run('update sessions set head_before = null where head_before = ?', step)
    this.#run('update turns set parent_before = null where parent_before = ?', step)
  }

  #insertOperation({ record, commit, before, after, skipped }: Operation): void {
    this.#run(
      'insert or replace into ops values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)',
      record.seq,
      record.id,
      bytesOfId(commit),
      record.kind,
      record.session ?? null,
      'turn' in record ? record.turn : null,
      'step' in record ? record.step : null,
      record.atMs,
      bytesOfId(before.tree),
      bytesOfId(before.attrs),
      bytesOfId(after.tree),
      bytesOfId(after.attrs),
      bytesOfId(skipped),
      serializeRecord(record).toString('utf8'),
      record.kind === 'step' ? record.agent : record.kind === 'user-edit' ? 'user' : 'unturn',
      record.kind === 'step' ? (record.agentId ?? null) : null,
      record.kind === 'step' ? record.certainty : 'exact',
    )
  }

  #touchSession(id: SessionId, seq: number): void {
    this.#run(
      `insert into sessions values (?, '', null, null, ?, ?) on conflict (id) do update set last_seq = excluded.last_seq`,
      id,
      seq,
      seq,
    )
  }

  #projectTurnBegin(record: Extract<OperationRecord, { kind: 'turn-begin' }>): void {
    this.#run(
      `insert or replace into turns (id, session, parent_turn, parent_before, agent, agent_id, prompt, message, pid, status,
         begin_seq, began_ms, visited_seq, git_before) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, ?)`,
      record.turn,
      record.session,
      record.parent.turn,
      record.parent.before ?? null,
      record.agent,
      record.agentId ?? null,
      record.prompt ?? null,
      record.message ?? null,
      record.pid ?? null,
      record.seq,
      record.atMs,
      record.seq,
      JSON.stringify(record.git ?? {}),
    )
    this.#run(
      'update sessions set agent = ?, head_turn = ?, head_before = null where id = ?',
      record.agent,
      record.turn,
      record.session,
    )
  }

  #projectTurnEnd(record: Extract<OperationRecord, { kind: 'turn-end' }>): void {
    this.#run(
      'update turns set status = ?, end_seq = ?, ended_ms = ?, commits = ?, git_after = ? where id = ?',
      record.status,
      record.seq,
      record.atMs,
      JSON.stringify(record.commits),
      JSON.stringify(record.git ?? {}),
      record.turn,
    )
  }

  #projectStep(record: Extract<OperationRecord, { kind: 'step' }>): void {
    this.#run(
      `insert or ignore into steps (id, session, turn, tool, agent, agent_id, part, command, first_seq, began_ms)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      record.step,
      record.session,
      record.turn,
      record.tool,
      record.agent,
      record.agentId ?? null,
      record.part ?? null,
      record.command ?? null,
      record.seq,
      record.beganMs,
    )
  }

  #moveHead(session: SessionId, head: Point): void {
    this.#run(
      'update sessions set head_turn = ?, head_before = ? where id = ?',
      head.turn,
      head.before ?? null,
      session,
    )
  }

  // Redo follows the child last visited: a turn counts as visited when the head enters it.
  #visit(stages: readonly Stage[], seq: number): void {
    for (const stage of stages) {
      if (stage.way === 'in' && stage.turn !== null) {
        this.#run('update turns set visited_seq = ? where id = ?', seq, stage.turn)
      }
    }
  }

  #projectStages(stages: readonly Stage[], seq: number): void {
    stages.forEach((stage, at) => {
      for (const op of stage.ops) {
        const opSeq = Number(this.#get('select seq from ops where id = ?', op)?.seq ?? -1)
        if (opSeq < 0) continue // dropped by retention: there is nothing left to be in or out
        for (const path of stage.paths ?? ['']) {
          if (stage.way === 'out')
            this.#run('insert or replace into outs values (?, ?, ?, ?)', opSeq, path, seq, at)
          else this.#run('delete from outs where op_seq = ? and path = ?', opSeq, path)
        }
      }
    })
  }

  #projectOut(out: readonly OutNote[], seq: number): void {
    const stage = { turn: null, way: 'out' } as const
    for (const { op, paths } of out)
      this.#projectStages(
        [paths === undefined ? { ...stage, ops: [op] } : { ...stage, ops: [op], paths }],
        seq,
      )
  }

  /** Fills in what git says about an operation's changes. Derived data: redone at a rebuild. */
  describe(operation: Operation, changes: readonly NewChange[]): void {
    const { record } = operation
    this.#run('delete from changes where op_seq = ?', record.seq)
    changes.forEach((change, at) => {
      this.#run(
        'insert into changes values (?, ?, ?, ?, ?, ?, ?, ?)',
        record.seq,
        at,
        change.path,
        change.kind,
        change.from ?? null,
        change.additions,
        change.deletions,
        change.binary ? 1 : 0,
      )
    })
    this.#run('update ops set described = 1 where seq = ?', record.seq)
  }

  // ---- the review of a session, as far as it was worked out: derived data, made again from the log -------------------

  findReview(session: SessionId): { readonly seq: number; readonly state: string } | undefined {
    const row = this.#get('select seq, state from reviews where session = ?', session)
    return row === undefined ? undefined : { seq: Number(row.seq), state: text(row, 'state') }
  }

  keepReview(session: SessionId, seq: number, state: string): void {
    this.#run('insert or replace into reviews values (?, ?, ?, null)', session, seq, state)
  }

  /** How many hunks are pending after the last operation, if anybody has counted them since. */
  findPending(session: SessionId): number | undefined {
    const sql = 'select pending from reviews where session = ? and seq = (select max(seq) from ops)'
    const pending = this.#get(sql, session)?.pending
    return pending === null || pending === undefined ? undefined : Number(pending)
  }

  keepPending(session: SessionId, seq: number, pending: number): void {
    this.#run('update reviews set pending = ? where session = ? and seq = ?', pending, session, seq)
  }

  /** Whether the session has done anything that could be pending. */
  hasSteps(session: SessionId): boolean {
    const sql = "select 1 from ops where session = ? and kind in ('step', 'propose') limit 1"
    return this.#get(sql, session) !== undefined
  }

  forgetReviews(): void {
    this.#run('delete from reviews')
  }

  /** The newest operation that has a session's review beside it. */
  lastReviewed(session: SessionId): Operation | undefined {
    const sql = `select * from ops where session = ? and kind in ('accept', 'reject', 'propose', 'step', 'rollback')
      and record like '%"reviewed":true%' order by seq desc limit 1`
    return maybe(this.#get(sql, session), operationOf)
  }

  // ---- dropping and rewriting --------------------------------------------------------------------------------------

  /** Operations that are out because of these, and are not among these themselves. */
  outBecauseOf(seqs: ReadonlySet<number>): readonly OutRow[] {
    return this.#all('select * from outs order by op_seq, path')
      .map(outOf)
      .filter((row) => seqs.has(row.bySeq) && !seqs.has(row.opSeq))
  }

  /** Takes everything of one session out. Its ref goes after it: see `Log.dropSession`. */
  dropSession(session: SessionId, ref: string): void {
    this.dropOperations(this.seqsOf(session))
    for (const table of ['turns', 'steps']) this.#run(`delete from ${table} where session = ?`, session)
    this.#run('delete from sessions where id = ?', session)
    this.#run('delete from reviews where session = ?', session)
    this.#run('delete from refs where name = ?', ref)
    this.#noteFilledAnew()
  }

  dropOperations(seqs: readonly number[]): void {
    for (const seq of seqs) {
      this.#run('delete from changes where op_seq = ?', seq)
      this.#run('delete from outs where op_seq = ? or by_seq = ?', seq, seq)
      this.#run('delete from ops where seq = ?', seq)
    }
  }

  /** The same operation under another commit. `isDescribed`: its changes are still what they were. */
  replaceOperation(operation: Operation, isDescribed: boolean): void {
    this.#insertOperation(operation)
    if (isDescribed) this.#run('update ops set described = 1 where seq = ?', operation.record.seq)
  }

  /** Everything so far is on disk when it returns, also through a power cut. */
  persist(): void {
    this.#database.exec('pragma wal_checkpoint(passive)')
  }

  /** Gives room back to the disk: the write-ahead log, which otherwise keeps its largest size, and what was dropped. */
  giveBack(): void {
    const [all, free] = ['page_count', 'freelist_count'].map((name) =>
      Number(this.#get(`pragma ${name}`)?.[name]),
    )
    // Writing everything anew keeps others waiting: only where it is worth that.
    if ((free ?? 0) * 4 > (all ?? 0)) this.shrink()
    else this.#database.exec('pragma wal_checkpoint(truncate)')
  }

  /** Writes everything anew, and nothing of what was dropped stays. */
  shrink(): void {
    try {
      this.#database.exec('vacuum; pragma wal_checkpoint(truncate)')
    } catch (error) {
      if (sqliteCode(error) !== sqliteBusy) throw error // somebody reads just now: next time, then
    }
  }

  setRef(name: string, commit: CommitId): void {
    this.#run('insert or replace into refs values (?, ?)', name, commit)
  }

  // ---- SQLite -----------------------------------------------------------------------------------------------------

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #get(sql: string, ...values: readonly (string | number | null | Uint8Array)[]): Row | undefined {
    return this.#prepared(sql).get(...values) as Row | undefined
  }

  #all(sql: string, ...values: readonly (string | number | null | Uint8Array)[]): readonly Row[] {
    return this.#prepared(sql).all(...values) as readonly Row[]
  }

  /** One row at a time: a long history as rows takes more memory than a server may have. */
  #each(sql: string): Iterable<Row> {
    return this.#prepared(sql).iterate() as Iterable<Row>
  }

  #run(sql: string, ...values: readonly (string | number | null | Uint8Array)[]): void {
    this.#prepared(sql).run(...values)
  }

  [Symbol.dispose](): void {
    this.#statements.clear()
    this.#database.close()
  }
}

// Half the size of the text, six times in every row.
function bytesOfId(id: string): Uint8Array {
  return Buffer.from(id, 'hex')
}

// `c<operation>.<number>`: the id is not stored, it says where the change is.
function placeOf(id: ChangeId): readonly [string, number] {
  const [body = '', number = '0'] = id.slice(1).split('.')
  return [`o${body}`, Number(number) - 1]
}

// What cleanup removed is still in the log, and in nothing that is shown.
const notRemoved = 'not exists (select 1 from steps where steps.id = ops.step and removed = 1)'

// Who and when is the operation's; a change has only what is its own.
const changeColumns = `select op_seq, ord, path, changes.kind, from_path, additions, deletions, is_binary,
  ops.id as op_id, ops.session, turn, step, at_ms, actor, agent_id, certainty`
const selectChanges = `${changeColumns} from changes join ops on ops.seq = op_seq`

interface Conditions {
  readonly where: string
  readonly values: readonly (string | number)[]
}

function conditionsOf(selection: ChangeSelection): Conditions {
  const where: string[] = []
  const values: (string | number)[] = []
  const anyOf = (column: string, wanted: readonly (string | number)[] | undefined) => {
    if (wanted === undefined || wanted.length === 0) return
    where.push(`${column} in (${wanted.map(() => '?').join(', ')})`)
    values.push(...wanted)
  }
  if (selection.changes !== undefined && selection.changes.length > 0) {
    where.push(`(${selection.changes.map(() => '(ops.id = ? and ord = ?)').join(' or ')})`)
    for (const id of selection.changes) values.push(...placeOf(id))
  }
  anyOf('ops.step', selection.steps)
  anyOf('ops.turn', selection.turns)
  anyOf('actor', selection.agents)
  anyOf('ops.agent_id', selection.agentIds)
  anyOf('seq', selection.opSeqs)
  anyOf('ops.session', selection.session === undefined ? undefined : [selection.session])
  if (selection.paths !== undefined && selection.paths.length > 0) {
    where.push(
      `(${selection.paths.map(() => '(path = ? or from_path = ? or (path > ? and path < ?))').join(' or ')})`,
    )
    for (const path of selection.paths) values.push(path, path, `${path}/`, `${path}0`)
  }
  if (selection.afterMs !== undefined) {
    // The first term finds the place to begin at; by the second alone every change would be looked at.
    where.push('seq >= (select min(seq) from ops where at_ms >= ?) and at_ms >= ?')
    values.push(selection.afterMs, selection.afterMs)
  }
  if (selection.untilMs !== undefined) {
    where.push('at_ms <= ?')
    values.push(selection.untilMs)
  }
  if (selection.text !== undefined && selection.text !== '') {
    where.push(
      `(instr(lower(path), lower(?)) or ops.turn in (select id from turns where instr(lower(prompt), lower(?)))
         or ops.step in (select id from steps where instr(lower(command), lower(?))))`,
    )
    values.push(bytesOfText(selection.text), selection.text, selection.text)
  }
  if (selection.behind !== undefined) {
    const { opSeq, path } = selection.behind
    where.push('seq <= ? and (seq < ? or path > ?)')
    values.push(opSeq, opSeq, path)
  }
  if (selection.everybody !== true) where.push('step is not null')
  where.push(notRemoved)
  return { where: where.join(' and '), values: [...values, selection.limit ?? -1, selection.offset ?? 0] }
}

// The changes of one operation are numbered in the order of their paths.
const newestFirst = 'order by seq desc, ord limit ? offset ?'

// By operation, newest first, the first hundred changes are found without a look at the others. SQLite would rather
// collect all changes of a session and put them in order. A path or an id is found in the changes themselves.
function changesBy({ paths, changes }: ChangeSelection): string {
  const byChange = (paths?.length ?? 0) > 0 || (changes?.length ?? 0) > 0
  return byChange ? 'changes join ops on ops.seq = op_seq' : 'ops cross join changes on op_seq = ops.seq'
}
