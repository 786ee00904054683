/** Random histories, carried out in a real workspace and in the model side by side. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { isFailure } from '../errors.ts'
import type { Fs } from '../fs.ts'
import type { Outcome } from '../history/outcome.ts'
import { listTree } from '../store/trees.ts'
import { type OpId, relPathUnchecked, type SessionId, type Snapshot, type TurnId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import type { Workspace } from '../workspace.ts'
import { faultFs } from './fault-fs.ts'
import { honestly } from './honest.ts'
import {
  type Choice,
  contentOf,
  type Expected,
  foldersAbove,
  listing,
  Model,
  type ModelFile,
  type MoveModel,
  type StageModel,
  type StepModel,
  sameFile,
  sameWorld,
  type TextFile,
  type TurnModel,
  type Wish,
  type World,
} from './model.ts'
import { Fixture } from './workspace.ts'

// ---- what can happen -------------------------------------------------------------------------------------------------

const slots = 3
const places = ['a.txt', 'b.txt', 'd/c.txt', 'd/e/f.txt', 'n/g.bin', 'n/m/h.txt']
const bareFolders = ['x', 'd/y', 'n']

/** Numbers choose among what there is at that moment. */
export type Edit =
  | { readonly do: 'set'; readonly file: number; readonly slot: number; readonly value: number }
  | { readonly do: 'add' | 'add-binary'; readonly place: number }
  | { readonly do: 'delete' | 'chmod'; readonly file: number }
  | { readonly do: 'rename'; readonly file: number; readonly place: number }
  | { readonly do: 'make-folder' | 'remove-folder'; readonly folder: number }

export interface DrawnStep {
  /** `exact`: an edit tool that names its paths. The user may write elsewhere meanwhile. */
  readonly how: 'open' | 'exact' | 'unreported'
  readonly edits: readonly Edit[]
  /** The user, while an exact step runs. */
  readonly meanwhile: readonly Edit[]
  /** The user, after the step and inside the turn. */
  readonly afterwards: readonly Edit[]
  /** The process ends at this call to the disk while the step's end is recorded; the turn ends with it. */
  readonly killAt: number | null
}

export type DrawnWish =
  | { readonly move: 'undo' | 'redo'; readonly session: number; readonly turns: number }
  | {
      readonly move: 'restore'
      readonly turn: number
      readonly side: 'before' | 'after'
      readonly exact: boolean
    }
  | { readonly move: 'rollback-turn'; readonly turn: number }
  | { readonly move: 'rollback-op'; readonly which: number }

export type Happening =
  | { readonly is: 'user'; readonly edits: readonly Edit[] }
  | {
      readonly is: 'turn'
      readonly session: number
      readonly steps: readonly DrawnStep[]
      /** A whole turn of the other session after the first step. */
      readonly inside: readonly DrawnStep[]
    }
  | {
      readonly is: 'move'
      readonly wish: DrawnWish
      readonly choice: Choice
      readonly rehearse: boolean
      /** The process ends at this call to the disk. */
      readonly killAt: number | null
    }
  | { readonly is: 'reopen'; readonly lose: 'nothing' | 'index' | 'index and stat cache' }

const few = fc.nat(7)
// People and agents work on the same few files; that is where they get into each other's way.
const favourite = fc.oneof({ weight: 3, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: few })

const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      file: favourite,
      slot: fc.nat(slots - 1),
      value: fc.nat(4),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('add' as const, 'add-binary' as const), place: few }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'chmod' as const), file: few }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('rename' as const), file: few, place: few }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('make-folder' as const, 'remove-folder' as const),
      folder: fc.nat(bareFolders.length - 1),
    }),
  },
)

const killAt = fc.oneof(
  { weight: 7, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 250 }) },
)

const mostlyNone = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(edit, { minLength: 1, maxLength: 2 }) },
)

const step: fc.Arbitrary<DrawnStep> = fc.record({
  how: fc.constantFrom('open', 'exact', 'unreported'),
  edits: fc.oneof(
    { weight: 8, arbitrary: fc.array(edit, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant([]) },
  ),
  meanwhile: mostlyNone,
  afterwards: mostlyNone,
  killAt,
})

const wish: fc.Arbitrary<DrawnWish> = fc.oneof(
  { weight: 6, arbitrary: headMove('undo') },
  { weight: 4, arbitrary: headMove('redo') },
  {
    weight: 3,
    arbitrary: fc.record({
      move: fc.constant('restore' as const),
      turn: few,
      side: fc.constantFrom('before' as const, 'after' as const),
      exact: fc.nat(4).map((n) => n === 4),
    }),
  },
  { weight: 2, arbitrary: fc.record({ move: fc.constant('rollback-turn' as const), turn: few }) },
  { weight: 3, arbitrary: fc.record({ move: fc.constant('rollback-op' as const), which: few }) },
)

function headMove(move: 'undo' | 'redo'): fc.Arbitrary<DrawnWish> {
  return fc.record({ move: fc.constant(move), session: fc.nat(1), turns: fc.constantFrom(1, 1, 1, 2, 3, 99) })
}

const turn: fc.Arbitrary<Happening> = fc.record({
  is: fc.constant('turn' as const),
  session: fc.nat(1),
  steps: fc.array(step, { minLength: 1, maxLength: 2 }),
  inside: fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 1, maxLength: 1 }) },
  ),
})

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 5, arbitrary: turn },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant('user' as const),
      edits: fc.array(edit, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      is: fc.constant('move' as const),
      wish,
      choice: fc.constantFrom<Choice>('abort', 'abort', 'abort', 'keep', 'keep', 'overwrite', 'markers'),
      rehearse: fc.nat(3).map((n) => n === 3),
      killAt,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constant('reopen' as const),
      lose: fc.constantFrom('nothing' as const, 'index' as const, 'index and stat cache' as const),
    }),
  },
)

export function histories(most: number): fc.Arbitrary<readonly Happening[]> {
  const rest = fc.array(happening, { maxLength: most - 1, size: 'max' })
  return fc.tuple(turn, rest).map(([first, others]) => [first, ...others])
}

// ---- both sides ------------------------------------------------------------------------------------------------------

// Nothing in here cuts the power, so waiting for the disk proves nothing and takes most of the time.
export const quickFs: Fs = Object.assign(Object.create(nodeFs) as Fs, { syncFile() {}, syncFolder() {} })

const sessionNames = ['one', 'two'] as const

export class ModelRun implements AsyncDisposable {
  readonly model: Model
  readonly #fixture: Fixture
  #nextFile = 0
  /** Slots that the user was the last to write, by file and slot. */
  readonly #byUser = new Map<string, string>()
  readonly #userTouched = new Set<string>()
  #hasRough = false
  /** How much of what there was. */
  readonly tally = { happenings: 0, moves: 0, conflicts: 0, kills: 0, unsure: 0 }

  private constructor(fixture: Fixture) {
    this.#fixture = fixture
    const files = new Map<string, ModelFile>(
      ['a.txt', 'b.txt', 'd/c.txt'].map((path) => [path, this.#newText()]),
    )
    files.set('n/g.bin', this.#newBinary())
    this.model = new Model({ files, folders: new Set(['d', 'n', 'x']) })
  }

  static async start(): Promise<ModelRun> {
    const fixture = new Fixture({ fs: quickFs, honest: false })
    const run = new ModelRun(fixture)
    run.#write({ files: new Map(), folders: new Set() }, run.model.disk)
    await fixture.open()
    await fixture.workspace.capture()
    return run
  }

  get #workspace(): Workspace {
    return this.#fixture.workspace
  }

  async happen(what: Happening): Promise<void> {
    this.tally.happenings += 1
    switch (what.is) {
      case 'user':
        this.#userEdits(what.edits)
        break
      case 'turn':
        await this.#turn(what.session, what.steps, what.inside)
        break
      case 'move':
        await this.#move(what)
        break
      case 'reopen':
        await this.#reopen(what.lose)
        break
    }
    this.#compare('afterwards')
  }

  // ---- edits ---------------------------------------------------------------------------------------------------------

  #newText(): TextFile {
    this.#nextFile += 1
    const id = this.#nextFile
    return { id, slots: Array.from({ length: slots }, (_, at) => slotText(id, at, 0)), exec: false }
  }

  #newBinary(id?: number): ModelFile {
    this.#nextFile += 1
    return { id: id ?? this.#nextFile, bytes: binaryBytes(this.#nextFile), exec: false }
  }

  #userEdits(edits: readonly Edit[], without: readonly string[] = []): void {
    const before = this.model.disk
    const after = this.#edited(before, edits, without)
    this.#put(after)
    for (const [cell, value] of differences(before, after)) {
      this.#userTouched.add(cell)
      this.#byUser.set(cell, value)
    }
  }

  #agentPuts(after: World): void {
    const before = this.model.disk
    this.#put(after)
    for (const [cell] of differences(before, after)) this.#byUser.delete(cell)
  }

  #put(world: World): void {
    this.#write(this.model.disk, world)
    this.model.disk = world
  }

  #edited(world: World, edits: readonly Edit[], without: readonly string[] = []): World {
    return edits.reduce((now, one) => {
      const next = this.#editedOnce(now, one)
      return pathsBetween(now, next).some((path) => without.includes(path)) ? now : next
    }, world)
  }

  #editedOnce(world: World, one: Edit): World {
    const files = new Map(world.files)
    const folders = new Set(world.folders)
    const paths = [...files.keys()].sort()
    if (one.do === 'make-folder' || one.do === 'remove-folder') {
      const folder = bareFolders[one.folder] ?? ''
      if (one.do === 'make-folder') for (const above of foldersAbove(`${folder}/.`)) folders.add(above)
      else if (![...paths, ...folders].some((path) => path.startsWith(`${folder}/`))) folders.delete(folder)
      return { files, folders }
    }
    const free = places.filter((path) => !files.has(path))
    const place = 'place' in one ? free[one.place % Math.max(1, free.length)] : undefined
    const path = 'file' in one ? paths[one.file % Math.max(1, paths.length)] : undefined
    const file = path === undefined ? undefined : files.get(path)
    if (one.do === 'add' || one.do === 'add-binary') {
      if (place !== undefined) files.set(place, one.do === 'add' ? this.#newText() : this.#newBinary())
    } else if (path !== undefined && file !== undefined) {
      if (one.do === 'delete') files.delete(path)
      else if (one.do === 'chmod') files.set(path, { ...file, exec: !file.exec })
      else if (one.do === 'set') files.set(path, this.#withSlot(file, one.slot, one.value))
      else if (place !== undefined) {
        files.delete(path)
        files.set(place, file)
      }
    }
    for (const folder of [...files.keys()].flatMap(foldersAbove)) folders.add(folder)
    return { files, folders }
  }

  #withSlot(file: ModelFile, at: number, value: number): ModelFile {
    if ('bytes' in file) return { ...this.#newBinary(file.id), exec: file.exec }
    return { ...file, slots: file.slots.map((slot, n) => (n === at ? slotText(file.id, at, value) : slot)) }
  }

  #write(from: World, to: World): void {
    for (const [path] of from.files) if (!to.files.has(path)) unlinkSync(this.#fixture.pathOf(path))
    for (const [path, file] of to.files) {
      if (sameFile(from.files.get(path), file)) continue
      const place = this.#fixture.pathOf(path)
      mkdirSync(dirname(place), { recursive: true })
      writeFileSync(place, contentOf(file), 'latin1')
      chmodSync(place, file.exec ? 0o755 : 0o644)
    }
    for (const folder of [...from.folders].sort().reverse())
      if (!to.folders.has(folder)) rmdirSync(this.#fixture.pathOf(folder))
    for (const folder of to.folders) mkdirSync(this.#fixture.pathOf(folder), { recursive: true })
  }

  // ---- turns ---------------------------------------------------------------------------------------------------------

  async #turn(session: number, steps: readonly DrawnStep[], inside: readonly DrawnStep[]): Promise<void> {
    const name = sessionNames[session] ?? 'one'
    const wish = { session: name as SessionId, agent: 'agent', prompt: 'Do it' }
    const { turn } = await this.#workspace.beginTurn(wish)
    const mirror = this.model.beginTurn(name, turn)
    const isUnreported = steps.length === 1 && steps[0]?.how === 'unreported'
    for (const [at, one] of steps.entries()) {
      if (isUnreported) mirror.steps.push(this.#unreported(one))
      else mirror.steps.push(await this.#step(turn, one))
      if (one.killAt !== null) break
      if (at === 0 && inside.length > 0 && !isUnreported) await this.#turn(1 - session, inside, [])
    }
    await this.#workspace.endTurn(turn)
    if (isUnreported) closeUnreported(mirror.steps, this.model.capture())
    this.model.endTurn(mirror)
  }

  // An agent that tells of no step: all that changes until the turn ends is its doing.
  #unreported(one: DrawnStep): StepModel {
    const before = this.model.captured
    this.#agentPuts(this.#edited(this.model.disk, one.edits))
    return { before, after: before }
  }

  async #step(turn: TurnId, one: DrawnStep): Promise<StepModel> {
    const wanted = this.#edited(this.model.disk, one.edits)
    const touched = pathsBetween(this.model.disk, wanted)
    const onlyFiles = touched.length > 0 && touched.every((path) => !path.endsWith('/'))
    const paths = one.how === 'exact' && onlyFiles ? touched : []
    const named = paths.length === 0 ? undefined : paths
    const { step } = await this.#workspace.beginStep({
      turn,
      tool: named === undefined ? 'shell' : 'edit',
      paths: paths.map(relPathUnchecked),
    })
    const before = this.model.capture(named)
    if (named !== undefined) this.#userEdits(one.meanwhile.filter(isOfFiles), named)
    this.#agentPuts(named === undefined ? wanted : overlaid(this.model.disk, wanted, named))
    if (one.killAt === null) await this.#workspace.endStep(step)
    else await this.#untilKilled(one.killAt, () => this.#workspace.endStep(step))
    const after = this.model.capture(named)
    if (one.killAt === null) this.#userEdits(one.afterwards)
    return { before, after }
  }

  // ---- moves ---------------------------------------------------------------------------------------------------------

  async #move(what: Extract<Happening, { is: 'move' }>): Promise<void> {
    const wish = this.#wishOf(what.wish)
    if (wish === undefined) return
    const expected = this.model.expect(wish, what.choice)
    if (expected.kind === 'unsure') {
      this.tally.unsure += 1
      return
    }
    this.tally.moves += 1
    if (what.killAt !== null) return this.#killed(wish, what.choice, expected, what.killAt)
    const done = what.rehearse
      ? await settled(
          honestly(this.#workspace, this.#fixture.dir, (dryRun) => this.#ask(wish, what.choice, dryRun)),
        )
      : await settled(this.#ask(wish, what.choice, false))
    assert.equal(done.kind, expected.kind, `${what.wish.move} ended otherwise: ${JSON.stringify(done)}`)
    if (expected.kind === 'conflicts') this.tally.conflicts += 1
    if (expected.kind === 'done' && done.kind === 'done') this.#adopt(expected.move, done.op ?? '')
  }

  #wishOf(drawn: DrawnWish): Wish | undefined {
    const { turns, moves } = this.model
    if ('session' in drawn) {
      const active = sessionNames.filter((name) => turns.some((turn) => turn.session === name))
      const session = active[drawn.session % Math.max(1, active.length)]
      return session && { kind: drawn.move, session, turns: drawn.turns }
    }
    if ('which' in drawn) {
      const move = moves[moves.length - 1 - (drawn.which % Math.max(1, moves.length))]
      return move && { kind: 'rollback-op', move }
    }
    const turn = turns[turns.length - 1 - (drawn.turn % Math.max(1, turns.length))]
    if (turn === undefined) return undefined
    if (!('side' in drawn)) return { kind: 'rollback-turn', turn }
    return { kind: 'restore', turn, side: drawn.side, exact: drawn.exact }
  }

  #ask(wish: Wish, onConflict: Choice, dryRun: boolean): Promise<Outcome> {
    const how = { onConflict, dryRun }
    switch (wish.kind) {
      case 'undo':
      case 'redo':
        return this.#workspace[wish.kind]({ session: wish.session as SessionId, turns: wish.turns, ...how })
      case 'restore': {
        const { turn, side, exact } = wish
        const session = turn.session as SessionId
        return this.#workspace.restore({ session, turn: turn.id as TurnId, side, exact, ...how })
      }
      case 'rollback-turn': {
        const session = wish.turn.session as SessionId
        return this.#workspace.rollback({ session, selection: { turns: [wish.turn.id as TurnId] }, ...how })
      }
      case 'rollback-op': {
        const session = wish.move.session as SessionId
        return this.#workspace.rollback({ session, selection: { ops: [wish.move.id as OpId] }, ...how })
      }
    }
  }

  #adopt(move: MoveModel, id: string): void {
    this.#hasRough ||= move.isRough
    if (!move.isRough) this.#checkNeighbours(move)
    this.model.adopt(move, id)
    for (const [cell, value] of this.#byUser)
      if (cellValue(move.after, cell) !== value || move.stages.some((stage) => concerns(stage, cell)))
        this.#byUser.delete(cell)
  }

  /** P3, P11: only what the moved steps had changed is different now, and no line of the user's is gone. */
  #checkNeighbours({ stages, before, after }: MoveModel): void {
    // After a conflict was decided by force, two versions of a file may stand side by side: then no cell is its own.
    if (!hasEachOnce(before) || !hasEachOnce(after)) return
    const steps = stages.flatMap(({ about }) => about)
    const spans = stages.flatMap(({ about }) => spansOf(about))
    const moved = new Set(steps.flatMap((one) => [...differences(one.before, one.after).keys()]))
    const stray = [...differences(before, after).keys()].filter(
      (cell) => !moved.has(cell) && !spans.some((one) => isReplaced(one, before, cell)),
    )
    assert.deepEqual(stray, [], 'what no moved step had changed is different now')
    for (const [cell, value] of this.#byUser) {
      if (cellValue(before, cell) !== value) continue
      if (steps.some((one) => knows(one, cell, value))) continue
      if (spans.some((one) => isReplaced(one, before, cell))) continue
      assert.equal(cellValue(after, cell), value, `the user's ${cell} is gone`)
    }
  }

  /** A move that is killed has happened or not; which of the two, the log says, and the files have to agree. */
  async #killed(wish: Wish, choice: Choice, expected: Expected, at: number): Promise<void> {
    const last = this.#lastMove()
    const fired = await this.#untilKilled(at, () => settled(this.#ask(wish, choice, false)))
    const now = this.#lastMove()
    if (now === last) {
      assert.ok(fired || expected.kind !== 'done', 'it was done, and is not in the log')
      return
    }
    assert.equal(expected.kind, 'done', 'it was refused, and is in the log')
    if (expected.kind === 'done') this.#adopt(expected.move, now)
  }

  /** Works until the process ends at this call to the disk; then another process begins. */
  async #untilKilled(at: number, work: () => Promise<unknown>): Promise<boolean> {
    const fs = faultFs(quickFs, at, 'kill')
    fs.armed = false
    await this.#fixture.reopen({ fs })
    fs.armed = true
    const error = await work().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (error !== undefined && !fs.fired) throw error
    if (fs.fired) this.tally.kills += 1
    await this.#fixture.reopen()
    return fs.fired
  }

  #lastMove(): string {
    const kinds = ['undo', 'redo', 'restore', 'rollback']
    const moves = this.#workspace.index.operations().filter(({ record }) => kinds.includes(record.kind))
    return moves[0]?.record.id ?? ''
  }

  async #reopen(lose: Extract<Happening, { is: 'reopen' }>['lose']): Promise<void> {
    const { folder, statCache } = this.#workspace.engine.folders
    await this.#fixture.close()
    if (lose !== 'nothing')
      for (const end of ['', '-wal', '-shm']) rmSync(`${folder}/index.db${end}`, { force: true })
    if (lose === 'index and stat cache') rmSync(statCache, { force: true })
    await this.#fixture.open()
  }

  // ---- what must hold ------------------------------------------------------------------------------------------------

  #compare(when: string): void {
    assert.deepEqual(readListing(this.#fixture.dir), listing(this.model.disk), `the files, ${when}`)
    for (const name of sessionNames) {
      const head = this.#workspace.index.findSession(name as SessionId)?.head.turn ?? null
      assert.equal(head, this.model.head(name)?.id ?? null, `the head of session ${name}, ${when}`)
    }
  }

  /** Takes everything back, and looks whether the history is whole. */
  async end(): Promise<void> {
    for (const move of this.model.moves) this.#checkStored(move)
    await this.#undoAll('two')
    await this.#undoAll('one')
    this.#compare('at the end')
    if (!this.#hasRough && this.model.turns.every(isOut)) this.#checkStart()
    assert.deepEqual(await this.#workspace.doctor(), [], 'the doctor finds something')
  }

  async #undoAll(session: string): Promise<void> {
    const wish: Wish = { kind: 'undo', session, turns: 99 }
    const expected = this.model.expect(wish, 'abort')
    if (expected.kind === 'unsure') return
    const done = await settled(this.#ask(wish, 'abort', false))
    assert.equal(done.kind, expected.kind, 'undoing everything ended otherwise')
    if (expected.kind === 'done' && done.kind === 'done') this.#adopt(expected.move, done.op ?? '')
  }

  /** All turns are out: what the user never touched is as it was in the beginning. */
  #checkStart(): void {
    const { start, disk } = this.model
    const stray = [...differences(start, disk).keys()].filter(
      (cell) => !this.#userTouched.has(cell) && !this.#recurs(cell) && !this.#wasReplaced(cell),
    )
    assert.deepEqual(stray, [], 'with every turn undone, this is not as it was in the beginning')
  }

  // One turn writes a line, a later one writes it back. Undoing the first finds nothing left to do, and undoing the
  // second brings back what stood there before it: the line of the first.
  #recurs(cell: string): boolean {
    const steps = this.model.turns
      .flatMap((turn) => turn.steps)
      .filter(({ before, after }) => differences(before, after).has(cell))
    const values = [this.model.start, ...steps.map(({ after }) => after)].map((world) =>
      cellValue(world, cell),
    )
    return new Set(values).size < values.length
  }

  // The file turned back into the one whose place it had taken, where the user had moved it to.
  #wasReplaced(cell: string): boolean {
    return this.model.turns.some(({ steps }) =>
      spansOf(steps).some((span) => isReplaced(span, this.model.disk, cell)),
    )
  }

  /** P1: what a move took away, and what it put there, is in the store, byte for byte. */
  #checkStored(move: MoveModel): void {
    const operation = this.#workspace.index.findOperation(move.id as OpId)
    assert.ok(operation, `the move ${move.id} is not in the log`)
    const stored = {
      before: this.#storedListing(operation.before),
      after: this.#storedListing(operation.after),
    }
    for (const path of pathsBetween(move.before, move.after).filter((one) => !one.endsWith('/'))) {
      assert.equal(stored.before[path], listing(move.before)[path], `${path}, stored before a move`)
      assert.equal(stored.after[path], listing(move.after)[path], `${path}, stored after a move`)
    }
  }

  #storedListing({ tree }: Snapshot): Record<string, string> {
    const { objects } = this.#workspace.engine
    const leaves = [...listTree(objects, tree)]
    return Object.fromEntries(
      leaves.map(([path, { mode, blob }]) => [
        path,
        (mode === '100755' ? 'x ' : '- ') + objects.readBlob(blob).toString('latin1'),
      ]),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fixture[Symbol.asyncDispose]()
  }
}

function isOut({ steps }: TurnModel): boolean {
  return steps.every((one) => one.out !== undefined || sameWorld(one.before, one.after))
}

function closeUnreported(steps: StepModel[], after: World): void {
  const [first] = steps
  if (first !== undefined) steps[0] = { before: first.before, after }
}

/** `world`, with these paths as in `other`. */
function overlaid(world: World, other: World, paths: readonly string[]): World {
  const files = new Map(world.files)
  for (const path of paths) {
    const file = other.files.get(path)
    if (file === undefined) files.delete(path)
    else files.set(path, file)
  }
  return { files, folders: new Set([...world.folders, ...[...files.keys()].flatMap(foldersAbove)]) }
}

/** A line that was there from the beginning, another, none, or two. */
function slotText(id: number, at: number, value: number): string {
  if (value === 3) return ''
  const line = `file ${id}, slot ${at}: ${value}`
  return value === 4 ? `${line}\n${line}, continued` : line
}

// As good as random: to git's search for renames, two short patterns repeated may be 95 % alike.
function binaryBytes(number: number): string {
  return `\0${createHash('sha512').update(String(number)).digest().toString('latin1')}`
}

function isOfFiles(one: Edit): boolean {
  return one.do !== 'make-folder' && one.do !== 'remove-folder'
}

function pathsBetween(a: World, b: World): string[] {
  const files = [...new Set([...a.files.keys(), ...b.files.keys()])]
  const folders = [...new Set([...a.folders, ...b.folders])]
  return [
    ...files.filter((path) => !sameFile(a.files.get(path), b.files.get(path))),
    ...folders.filter((path) => a.folders.has(path) !== b.folders.has(path)).map((path) => `${path}/`),
  ].filter((path) => !path.endsWith('/') || !isFolderOfFiles(path, a, b))
}

// Folders come and go with the files in them.
function isFolderOfFiles(folder: string, ...worlds: readonly World[]): boolean {
  return worlds.some(({ files }) => [...files.keys()].some((path) => path.startsWith(folder)))
}

// ---- cells: the smallest things that somebody can change ---------------------------------------------------------------

/** Each cell that differs, with its new value: where a file stands, one slot of it, its executable bit, its bytes. */
function differences(before: World, after: World): ReadonlyMap<string, string> {
  const [old, now] = [cellsOf(before), cellsOf(after)]
  const cells = new Map<string, string>()
  for (const cell of new Set([...old.keys(), ...now.keys()])) {
    if (old.get(cell) === now.get(cell)) continue
    const [file, part] = cell.split(' ')
    const isWhole = part === 'place' || (old.has(`${file} place`) && now.has(`${file} place`))
    if (isWhole) cells.set(cell, now.get(cell) ?? 'gone')
  }
  return cells
}

function cellsOf(world: World): ReadonlyMap<string, string> {
  const cells = new Map<string, string>()
  for (const [path, file] of world.files) {
    const name = `file${file.id}`
    cells.set(`${name} place`, path)
    cells.set(`${name} exec`, String(file.exec))
    const parts = 'bytes' in file ? [file.bytes] : file.slots
    for (const [at, part] of parts.entries()) cells.set(`${name} slot${at}`, part)
  }
  return cells
}

function hasEachOnce({ files }: World): boolean {
  return new Set([...files.values()].map((file) => file.id)).size === files.size
}

function cellValue(world: World, cell: string): string {
  return cellsOf(world).get(cell) ?? 'gone'
}

function concerns({ about }: StageModel, cell: string): boolean {
  return about.some((one) => differences(one.before, one.after).has(cell))
}

/** Each step, and each run of them: what follows without foreign changes in between is one merge. */
function spansOf(steps: readonly StepModel[]): readonly StepModel[] {
  return steps.flatMap(({ before }, at) => steps.slice(at).map(({ after }) => ({ before, after })))
}

// A file that was put where the step's file stood is, to git, that file with another content: it takes part in the
// step's rename and chmod. Its lines stay all the same. And a file that the step itself put where another stood turns
// back into that other one, wherever somebody has moved it since.
function isReplaced({ before, after }: StepModel, now: World, cell: string): boolean {
  const [name, part] = cell.split(' ')
  const paths = [now, before, after].map((world) => cellValue(world, `${name} place`))
  const ids = paths.flatMap((path) => [before, after].map((world) => world.files.get(path)?.id))
  const isOther = ids.some((id) => id !== undefined && `file${id}` !== name)
  return (isOther || isRemade({ before, after }, name ?? '')) && (part === 'place' || part === 'exec')
}

// A binary file that was moved and rewritten at once is, to git, one that went and another that came.
function isRemade({ before, after }: StepModel, name: string): boolean {
  const [old, now] = [before, after].map(({ files }) => {
    const [path, file] = [...files].find(([, { id }]) => `file${id}` === name) ?? []
    return file !== undefined && 'bytes' in file ? { path, bytes: file.bytes } : undefined
  })
  return old !== undefined && now !== undefined && old.path !== now.path && old.bytes !== now.bytes
}

/** The user may write by hand just what an agent had written, or undone: then it cannot be told whose it is. */
function knows({ before, after }: StepModel, cell: string, value: string): boolean {
  return [before, after].some((world) => cellValue(world, cell) === value) && !sameWorld(before, after)
}

// ---- the real thing --------------------------------------------------------------------------------------------------

async function settled(outcome: Promise<Outcome>): Promise<{ readonly kind: string; readonly op?: string }> {
  try {
    return await outcome
  } catch (error) {
    const codes = ['nothing-to-undo', 'nothing-to-redo', 'nothing-to-roll-back'] as const
    if (codes.some((code) => isFailure(error, code))) return { kind: 'nothing' }
    throw error
  }
}

export function readListing(folder: string, at = ''): Record<string, string> {
  const list: Record<string, string> = {}
  for (const entry of readdirSync(`${folder}/${at}`, { withFileTypes: true })) {
    const path = at === '' ? entry.name : `${at}/${entry.name}`
    if (entry.isDirectory()) Object.assign(list, { [`${path}/`]: '' }, readListing(folder, path))
    else {
      const isExec = (lstatSync(`${folder}/${path}`).mode & 0o100) !== 0
      list[path] = (isExec ? 'x ' : '- ') + readFileSync(`${folder}/${path}`, 'latin1')
    }
  }
  return list
}
