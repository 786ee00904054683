/**
 * Random reviews, carried out in a real workspace, and a small model of who wrote which line. It shares no code with the
 * product: lines carry the name of their writer and a number, and every line exists once. So it can be told at any time
 * which lines must be pending, which must not, and whether one of the user's is gone.
 */

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { isFailure, UnturnError } from '../errors.ts'
import type { HunkSelection } from '../review/choose.ts'
import type { Hunk, PendingFile } from '../review/pending.ts'
import type { ReviewView } from '../review/review.ts'
import type { Decided } from '../review/standing.ts'
import type { OpId, SessionId, TurnId } from '../values.ts'
import { quickFs } from './model-run.ts'
import { withoutIndex } from './reviewing.ts'
import { Fixture } from './workspace.ts'

// ---- what can happen -------------------------------------------------------------------------------------------------

const places = ['a.txt', 'b.txt', 'd/c.txt', 'd/e.txt', 'f.txt'] as const
const sessions = ['one', 'two'] as const
type Writer = (typeof sessions)[number] | 'user'

/** Numbers choose among what there is at that moment. */
type Edit =
  | {
      readonly do: 'write'
      readonly file: number
      readonly at: number
      readonly over: number
      readonly count: number
      /** A line that others have, too, goes along: a blank one, or a brace. */
      readonly filler: boolean
    }
  | { readonly do: 'create'; readonly place: number }
  | { readonly do: 'delete'; readonly file: number }

export type Happening =
  | { readonly is: 'user'; readonly edits: readonly Edit[] }
  | { readonly is: 'turn'; readonly session: number; readonly edits: readonly Edit[] }
  | { readonly is: 'rename'; readonly by: number; readonly file: number; readonly place: number }
  | {
      readonly is: 'decide'
      readonly way: 'accept' | 'reject'
      readonly session: number
      readonly what: 'hunk' | 'hunks' | 'part' | 'file' | 'turn' | 'all'
      readonly which: number
      readonly keep: boolean
      /** Taken back at once. */
      readonly back: boolean
    }
  | { readonly is: 'take back'; readonly which: number }
  | { readonly is: 'undo' | 'redo'; readonly session: number }
  | { readonly is: 'stale'; readonly session: number; readonly which: number }
  | { readonly is: 'reopen'; readonly lose: boolean }

const few = fc.nat(9)
const favourite = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) })

const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      file: favourite,
      at: fc.nat(30),
      over: fc.nat(3),
      count: fc.nat(3),
      filler: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('create' as const), place: few }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), file: few }) },
)
const edits = fc.array(edit, { minLength: 1, maxLength: 4 })

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ is: fc.constant('user' as const), edits }) },
  { weight: 6, arbitrary: fc.record({ is: fc.constant('turn' as const), session: favourite, edits }) },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('rename' as const), by: few, file: few, place: few }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      is: fc.constant('decide' as const),
      way: fc.constantFrom('accept' as const, 'reject' as const),
      session: favourite,
      what: fc.constantFrom('hunk', 'hunk', 'hunks', 'part', 'file', 'turn', 'all'),
      which: fc.nat(30),
      keep: fc.boolean(),
      back: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('take back' as const), which: few }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constantFrom('undo' as const, 'redo' as const),
      session: favourite,
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('stale' as const), session: favourite, which: few }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('reopen' as const), lose: fc.boolean() }) },
)

/** Begins with a turn, since before that there is nothing to review. */
export function reviews(most: number): fc.Arbitrary<readonly Happening[]> {
  const first = fc.record({ is: fc.constant('turn' as const), session: fc.constant(0), edits })
  return fc
    .tuple(first, fc.array(happening, { minLength: 1, maxLength: most - 1 }))
    .map(([turn, rest]) => [turn, ...rest])
}

// ---- lines -----------------------------------------------------------------------------------------------------------

type Lines = readonly string[]

/** `user 12`, `one 7`: whose line it is; undefined for lines that were there from the beginning, and for fillers. */
function writerOf(line: string): Writer | undefined {
  const [who] = line.split(' ')
  return [...sessions, 'user' as const].find((one) => one === who)
}

function linesOf(text: string): Lines {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** The old lines with only these edits made: the whole of what a hunk means. */
function withEdits(old: Lines, fresh: Lines, hunks: readonly Hunk[]): Lines {
  const made: string[] = []
  let at = 0
  for (const { edit } of hunks) {
    if (edit === undefined) continue
    made.push(...old.slice(at, edit.start), ...fresh.slice(edit.from, edit.to))
    at = edit.end
  }
  return [...made, ...old.slice(at)]
}

interface Chosen {
  readonly selection: HunkSelection
  readonly hunks: readonly Hunk[]
  /** For a part: the lines of the hunk that are meant, counted from 0, removed ones first. */
  readonly part?: ReadonlySet<number>
}

interface Decision {
  readonly session: SessionId
  readonly way: 'accept' | 'reject'
  readonly ops: readonly OpId[]
  /** Lines that it accepted. */
  readonly accepted: readonly string[]
}

export class ReviewRun implements AsyncDisposable {
  readonly #fixture: Fixture
  #number = 0
  readonly #written = new Set<string>()
  readonly #accepted = new Set<string>()
  readonly #unsure = new Set<string>()
  readonly #decisions: Decision[] = []
  readonly #seenIds = new Map<SessionId, Set<string>>()
  readonly #turns = new Map<SessionId, TurnId[]>()
  /** Undone turns bring things back that were decided on in other ways meanwhile. */
  readonly tally: Record<string, number> = {}

  private constructor(fixture: Fixture) {
    this.#fixture = fixture
  }

  static async start(): Promise<ReviewRun> {
    const fixture = new Fixture({ fs: quickFs, honest: false })
    const run = new ReviewRun(fixture)
    const start = (name: string) => Array.from({ length: 14 }, (_, at) => `${name} line ${at}\n`).join('')
    fixture.userWrites({ 'a.txt': start('a'), 'b.txt': start('b'), 'd/c.txt': start('c') })
    await fixture.open()
    await fixture.workspace.capture()
    return run
  }

  async happen(what: Happening): Promise<void> {
    this.#count(what.is)
    switch (what.is) {
      case 'user':
        for (const one of what.edits) this.#edit(one, 'user')
        break
      case 'turn':
        await this.#turn(sessions[what.session % 2] ?? 'one', (writer) => {
          for (const one of what.edits) this.#edit(one, writer)
        })
        break
      case 'rename':
        await this.#rename(what)
        break
      case 'decide':
        await this.#decide(what)
        break
      case 'take back':
        await this.#takeBack(what.which)
        break
      case 'undo':
      case 'redo':
        await this.#move(what.is, sessions[what.session % 2] ?? 'one')
        break
      case 'stale':
        await this.#stale(sessions[what.session % 2] ?? 'one', what.which)
        break
      case 'reopen':
        await this.#reopen(what.lose)
        break
    }
    await this.#check(what.is)
  }

  #count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1
  }

  // ---- writing -------------------------------------------------------------------------------------------------------

  #disk(): ReadonlyMap<string, Lines> {
    return readFiles(this.#fixture.dir)
  }

  #edit(one: Edit, writer: Writer): void {
    const disk = this.#disk()
    const names = [...disk.keys()].sort()
    if (one.do === 'create') {
      const place = places[one.place % places.length] ?? 'f.txt'
      return this.#write(
        place,
        Array.from({ length: 4 }, () => this.#line(writer)),
      )
    }
    const name = names[one.file % Math.max(1, names.length)]
    if (name === undefined) return
    if (one.do === 'delete') return rmSync(this.#fixture.pathOf(name))
    const lines = [...(disk.get(name) ?? [])]
    const fresh = Array.from({ length: one.count }, () => this.#line(writer))
    if (one.filler) fresh.push(one.at % 2 === 0 ? '\n' : '}\n')
    const at = one.at % (lines.length + 1)
    // The last line may have lost its ending; what comes behind it must not become part of it.
    if (at > 0) lines[at - 1] = lines[at - 1]?.replace(/([^\n])$/, '$1\n') ?? ''
    lines.splice(at, one.over, ...fresh)
    this.#write(name, lines)
  }

  #line(writer: Writer): string {
    this.#number += 1
    const line = `${writer} ${this.#number}\n`
    this.#written.add(line)
    return line
  }

  #write(name: string, lines: Lines): void {
    const path = this.#fixture.pathOf(name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, lines.join(''))
  }

  async #turn(name: (typeof sessions)[number], act: (writer: Writer) => void): Promise<void> {
    this.#fixture.inSession(name)
    const { turn } = await this.#fixture.turn('go on', () => act(name))
    const session = name as SessionId
    this.#turns.set(session, [...(this.#turns.get(session) ?? []), turn])
  }

  // By itself, and seen at once: a rename together with much else cannot be told from a new file.
  async #rename({ by, file, place }: Extract<Happening, { is: 'rename' }>): Promise<void> {
    const disk = this.#disk()
    const from = [...disk.keys()].sort()[file % Math.max(1, disk.size)]
    const to = places[place % places.length] ?? 'f.txt'
    if (from === undefined || disk.has(to) || (disk.get(from)?.length ?? 0) < 3) return
    const act = () => {
      mkdirSync(dirname(this.#fixture.pathOf(to)), { recursive: true })
      renameSync(this.#fixture.pathOf(from), this.#fixture.pathOf(to))
    }
    await this.#fixture.workspace.capture()
    const session = sessions[by % 3]
    if (session !== undefined) return this.#turn(session, act)
    act()
    await this.#fixture.workspace.capture()
  }

  // ---- deciding ------------------------------------------------------------------------------------------------------

  #known(name: string): SessionId | undefined {
    return this.#turns.has(name as SessionId) ? (name as SessionId) : undefined
  }

  async #decide(what: Extract<Happening, { is: 'decide' }>): Promise<void> {
    const session = this.#known(sessions[what.session % 2] ?? 'one')
    if (session === undefined) return
    const view = await this.#view(session)
    const chosen = this.#choose(view, session, what)
    if (chosen === undefined) return
    const before = await this.#moment()
    const wish = { session, selection: chosen.selection, onConflict: what.keep ? 'keep' : 'abort' } as const
    const decided = await refusable(this.#fixture.workspace[what.way](wish))
    if (decided === undefined || decided.kind === 'conflicts') {
      this.#count('refused')
      return assert.deepEqual(await this.#moment(), before, 'it was refused, and something has changed')
    }
    this.#count(what.way)
    await this.#checkDecided(what.way, session, view, before, chosen, decided)
    const accepted =
      what.way === 'accept' ? acceptedLines(view, chosen).filter((line) => writerOf(line) === session) : []
    if (what.back) {
      for (const line of accepted) this.#accepted.add(line)
      await this.#fixture.workspace.rollback({ session, selection: { ops: decided.ops } })
      for (const line of accepted) if (!wasAccepted(before, line)) this.#accepted.delete(line)
      return assert.deepEqual(await this.#moment(), before, 'it was taken back, and is not as before')
    }
    if (chosen.hunks.some(({ kind, contested }) => contested || kind === 'delete'))
      this.#forgetMissing(session)
    const fresh = accepted.filter((line) => !this.#accepted.has(line))
    for (const line of fresh) this.#accepted.add(line)
    this.#decisions.push({ session, way: what.way, ops: decided.ops, accepted: fresh })
  }

  // A file that was deleted with pending lines in it, and the deletion accepted: what if these lines come back?
  #forgetMissing(session: SessionId): void {
    const there = new Set([...this.#disk().values()].flat())
    for (const line of this.#written)
      if (writerOf(line) === session && !there.has(line)) this.#unsure.add(line)
  }

  #choose(
    { files }: ReviewView,
    session: SessionId,
    { what, which }: Extract<Happening, { is: 'decide' }>,
  ): Chosen | undefined {
    const hunks = files.flatMap((file) => file.hunks)
    const hunk = hunks[which % Math.max(1, hunks.length)]
    if (hunk === undefined) return undefined
    switch (what) {
      case 'hunk':
        return { selection: { hunks: [hunk.id] }, hunks: [hunk] }
      case 'hunks': {
        const some = hunks.filter((one, at) => one === hunk || (at + which) % 3 === 0)
        return { selection: { hunks: some.map(({ id }) => id) }, hunks: some }
      }
      case 'part':
        return partOf(hunk, which)
      case 'file': {
        const path = hunk.path
        const those = files.filter((file) => file.path === path || file.from === path)
        return { selection: { paths: [path] }, hunks: those.flatMap((file) => file.hunks) }
      }
      case 'turn': {
        const turns = this.#turns.get(session) ?? []
        const turn = turns[which % turns.length]
        if (turn === undefined) return undefined
        const those = hunks.filter((one) => one.turns.includes(turn))
        // What several turns made together is told apart by the product alone; the model looks at the outcome.
        return those.length === 0 || those.some((one) => one.turns.length > 1)
          ? undefined
          : { selection: { turns: [turn] }, hunks: those }
      }
      case 'all':
        return { selection: {}, hunks }
    }
  }

  async #checkDecided(
    way: 'accept' | 'reject',
    session: SessionId,
    view: ReviewView,
    before: Moment,
    chosen: Chosen,
    decided: Decided,
  ): Promise<void> {
    const after = await this.#moment()
    const now = await this.#view(session)
    this.#checkUsersLines(before, after, now)
    const ids = new Set(now.files.flatMap((file) => file.hunks.map(({ id }) => id)))
    const done = new Set(decided.hunks)
    const isDone = (hunk: Hunk) => [...done].some(({ id }) => id === hunk.id)
    const isRenamed = chosen.hunks.some(({ kind }) => kind === 'rename')
    // Where the user's text is kept out of a rejected hunk, it may come to stand beside another one.
    const mixed = new Set(chosen.hunks.flatMap(({ contested, path }) => (contested ? [path] : [])))
    // What is left of a part may be like another hunk; then neither has the id of a lone one.
    const isThere = ({ id }: Hunk) =>
      ids.has(id) || (chosen.part !== undefined && [...ids].some((one) => one.startsWith(`${id}-`)))
    for (const hunk of view.files.flatMap((file) => file.hunks)) {
      if (isDone(hunk) && chosen.part === undefined)
        assert.ok(!ids.has(hunk.id) || way === 'reject', `${hunk.id} was decided, and is still pending`)
      if (!isDone(hunk) && !isRenamed && !mixed.has(hunk.path))
        assert.ok(
          isThere(hunk),
          `${hunk.id} was not decided, and is gone: ${inWords(view)} became ${inWords(now)}`,
        )
    }
    if (way === 'accept') {
      assert.deepEqual(after.files, before.files, 'an acceptance has changed a file')
      for (const other of sessions)
        if (other !== session)
          assert.deepEqual(after.views[other], before.views[other], 'another session’s review has changed')
      return
    }
    if (chosen.hunks.some(({ contested }) => contested)) return
    const expected = expectedAfter(view, chosen, before.files)
    assert.deepEqual(withoutBareFolders(after.files), expected, 'the rejection gave another file')
  }

  /** No line of the user's is gone, unless rejecting another hunk brings it back. */
  #checkUsersLines(before: Moment, after: Moment, now: ReviewView): void {
    const left = new Set(Object.values(after.files).flatMap(linesOf))
    for (const { old = [] } of now.files) for (const line of old) left.add(line)
    for (const line of Object.values(before.files).flatMap(linesOf))
      if (writerOf(line) === 'user') assert.ok(left.has(line), `${line.trim()} is gone`)
  }

  async #takeBack(which: number): Promise<void> {
    const at = this.#decisions.length - 1 - (which % Math.max(1, this.#decisions.length))
    const [decision] = this.#decisions.splice(at, 1)
    if (decision === undefined) return
    const { session, ops, accepted } = decision
    const before = await this.#moment()
    const outcome = await refusable(this.#fixture.workspace.rollback({ session, selection: { ops } }))
    if (outcome === undefined || outcome.kind === 'conflicts') {
      this.#count('not taken back')
      return assert.deepEqual(await this.#moment(), before, 'it was refused, and something has changed')
    }
    this.#count('taken back')
    for (const line of accepted) this.#accepted.delete(line)
  }

  async #move(is: 'undo' | 'redo', name: string): Promise<void> {
    const session = this.#known(name)
    if (session !== undefined) await refusable(this.#fixture.workspace[is]({ session }))
  }

  async #stale(name: string, which: number): Promise<void> {
    const session = this.#known(name)
    if (session === undefined) return
    const now = new Set((await this.#view(session)).files.flatMap((file) => file.hunks.map(({ id }) => id)))
    const old = [...(this.#seenIds.get(session) ?? [])].filter((id) => !now.has(id))
    const id = old[which % Math.max(1, old.length)]
    if (id === undefined) return
    this.#count('stale ids')
    const before = await this.#moment()
    for (const way of ['accept', 'reject'] as const)
      await assert.rejects(this.#fixture.workspace[way]({ session, selection: { hunks: [id] } }), (error) =>
        isFailure(error, 'hunk-gone'),
      )
    assert.deepEqual(await this.#moment(), before, 'a stale id has changed something')
  }

  async #reopen(lose: boolean): Promise<void> {
    const before = await this.#moment()
    if (lose) await withoutIndex(this.#fixture)
    else await this.#fixture.reopen()
    assert.deepEqual(await this.#moment(), before, 'after a restart the review is another one')
  }

  // ---- what must hold --------------------------------------------------------------------------------------------------

  async #view(session: SessionId): Promise<ReviewView> {
    const view = await this.#fixture.workspace.review(session)
    const seen = this.#seenIds.get(session) ?? new Set()
    for (const { hunks } of view.files) for (const { id } of hunks) seen.add(id)
    this.#seenIds.set(session, seen)
    return view
  }

  async #moment(): Promise<Moment> {
    const views: Record<string, unknown> = {}
    for (const session of this.#turns.keys()) {
      const { files } = await this.#view(session)
      views[session] = files.map((file) => [file.path, file.from, file.old, file.fresh, file.hunks])
    }
    return { files: this.#fixture.files(), views, accepted: new Set(this.#accepted) }
  }

  async #check(when: string): Promise<void> {
    for (const session of this.#turns.keys()) {
      const { files } = await this.#view(session)
      const ids = files.flatMap((file) => file.hunks.map(({ id }) => id))
      assert.equal(new Set(ids).size, ids.length, 'two hunks have one id')
      const disk = this.#disk()
      for (const file of files) this.#checkFile(file, files, disk, `${session}, ${when}`)
      this.#checkOwnLines(session, files, disk, `${session}, ${when}`)
    }
  }

  /** The baseline with everything that is pending is the file; and the user's lines are in no hunk that may go. */
  #checkFile(
    file: PendingFile,
    all: readonly PendingFile[],
    disk: ReadonlyMap<string, Lines>,
    when: string,
  ): void {
    const { path, from, old = [], fresh = [], hunks } = file
    const isText = hunks.some(({ kind }) => kind === 'text')
    assert.ok(hunks.length > 0, `${path} is pending and has no hunk (${when})`)
    if (from !== undefined) assert.ok(!disk.has(from), `${from} was renamed, and is there (${when})`)
    if (hunks.some(({ kind }) => kind === 'delete')) return assert.ok(!disk.has(path), `${path} (${when})`)
    assert.deepEqual(
      fresh,
      disk.get(path) ?? (file.current === undefined ? [] : undefined),
      `${path} (${when})`,
    )
    if (isText) assert.deepEqual(withEdits(old, fresh, hunks), fresh, `the hunks of ${path} (${when})`)
    // What the agent has moved to another file can be had back there.
    const elsewhere = new Set(all.flatMap((other) => (other === file ? [] : (other.old ?? []))))
    for (const hunk of hunks)
      if (hunk.kind === 'text' && !hunk.contested)
        for (const line of fresh.slice(hunk.edit?.from, hunk.edit?.to).filter((one) => !elsewhere.has(one)))
          assert.notEqual(writerOf(line), 'user', `${line.trim()} can be rejected with ${hunk.id} (${when})`)
  }

  /** A line of the session's is pending until somebody has accepted it, and never again after that. */
  #checkOwnLines(
    session: SessionId,
    files: readonly PendingFile[],
    disk: ReadonlyMap<string, Lines>,
    when: string,
  ): void {
    const added = new Set<string>()
    const whole = new Set<string>()
    for (const { fresh = [], hunks } of files)
      for (const { kind, edit } of hunks) {
        if (edit !== undefined) for (const line of fresh.slice(edit.from, edit.to)) added.add(line)
        else if (kind === 'create' || kind === 'type') for (const line of fresh) whole.add(line)
      }
    for (const line of [...disk.values()].flat()) {
      if (writerOf(line) !== session || this.#unsure.has(line)) continue
      if (this.#accepted.has(line)) assert.ok(!added.has(line), `${line.trim()} was accepted (${when})`)
      else assert.ok(added.has(line) || whole.has(line), `${line.trim()} is not pending (${when})`)
    }
  }

  /** Accepting everything changes no file; rejecting everything gives the baseline. */
  async end(): Promise<void> {
    for (const session of this.#turns.keys()) {
      const view = await this.#view(session)
      const hunks = view.files.flatMap((file) => file.hunks)
      if (hunks.length === 0) continue
      const before = await this.#moment()
      const accepted = await this.#fixture.workspace.accept({ session, selection: {} })
      assert.equal(accepted.pending, 0)
      assert.deepEqual(this.#fixture.files(), before.files, 'accepting everything has changed a file')
      await this.#fixture.workspace.rollback({ session, selection: { ops: accepted.ops } })
      assert.deepEqual(await this.#moment(), before, 'accepting everything was taken back')
      const rejected = await refusable(this.#fixture.workspace.reject({ session, selection: {} }))
      if (hunks.some(({ contested }) => contested)) continue
      assert.ok(rejected?.kind === 'done', 'nothing is contested, and rejecting everything was refused')
      assert.equal(rejected.pending, 0)
      const chosen = { selection: {}, hunks }
      const expected = expectedAfter(view, chosen, before.files)
      assert.deepEqual(withoutBareFolders(this.#fixture.files()), expected, 'all was rejected')
      this.#count('all rejected')
    }
    assert.deepEqual(await this.#fixture.workspace.doctor(), [], 'the doctor finds something')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fixture[Symbol.asyncDispose]()
  }
}

/** For messages. */
function inWords({ files }: ReviewView): string {
  const words = files.flatMap(({ path, old = [], fresh = [], hunks }) =>
    hunks.map(({ id, kind, edit, contested }) => {
      const removed = old.slice(edit?.start, edit?.end)
      const added = fresh.slice(edit?.from, edit?.to)
      return `${id} ${path} ${kind}${contested ? ' contested' : ''} ${edit === undefined ? '' : JSON.stringify([edit, removed, added])}`
    }),
  )
  return `\n  ${words.join('\n  ')}\n`
}

interface Moment {
  readonly files: Record<string, string>
  readonly views: Record<string, unknown>
  readonly accepted: ReadonlySet<string>
}

function wasAccepted({ accepted }: Moment, line: string): boolean {
  return accepted.has(line)
}

function partOf(hunk: Hunk, which: number): Chosen | undefined {
  const { edit } = hunk
  if (edit === undefined) return undefined
  const count = edit.end - edit.start + edit.to - edit.from
  const first = which % count
  const last = Math.min(count - 1, first + (which % 3))
  const part = new Set(Array.from({ length: last - first + 1 }, (_, at) => first + at))
  return { selection: { hunks: [`${hunk.id}:${first + 1}-${last + 1}`] }, hunks: [hunk], part }
}

/** The lines that an acceptance is about. */
function acceptedLines({ files }: ReviewView, { hunks, part }: Chosen): readonly string[] {
  return files.flatMap(({ fresh = [], hunks: all }) =>
    all
      .filter((hunk) => hunks.includes(hunk))
      .flatMap(({ kind, edit }) => {
        if (edit === undefined) return kind === 'create' || kind === 'type' ? fresh : []
        const removed = edit.end - edit.start
        return fresh.slice(edit.from, edit.to).filter((_, at) => part === undefined || part.has(removed + at))
      }),
  )
}

/** What the files are without these hunks. */
function expectedAfter(
  { files }: ReviewView,
  { hunks, part }: Chosen,
  before: Record<string, string>,
): Record<string, string> {
  const after = { ...before }
  const set = (path: string, lines: Lines | undefined) => {
    if (lines === undefined) delete after[path]
    else after[path] = lines.join('')
  }
  for (const file of files) {
    const chosen = file.hunks.filter((hunk) => hunks.includes(hunk))
    if (chosen.length === 0) continue
    const { path, from, old = [], fresh = [] } = file
    const isRenamed = chosen.some(({ kind }) => kind === 'rename')
    if (isRenamed) set(path, undefined)
    const target = isRenamed && from !== undefined ? from : path
    if (chosen.some(({ kind }) => kind === 'create')) set(path, undefined)
    else if (chosen.some(({ kind }) => kind === 'delete')) set(path, old)
    else if (part !== undefined) set(target, withoutPart(old, fresh, file.hunks, chosen, part))
    else
      set(
        target,
        withEdits(
          old,
          fresh,
          file.hunks.filter((hunk) => !chosen.includes(hunk)),
        ),
      )
  }
  return withoutBareFolders(after)
}

function withoutPart(
  old: Lines,
  fresh: Lines,
  hunks: readonly Hunk[],
  [hunk]: readonly Hunk[],
  part: ReadonlySet<number>,
): Lines {
  const edit = hunk?.edit
  if (edit === undefined) return fresh
  const removed = old.slice(edit.start, edit.end)
  const added = fresh.slice(edit.from, edit.to)
  const kept = [
    ...removed.filter((_, at) => part.has(at)),
    ...added.filter((_, at) => !part.has(removed.length + at)),
  ]
  const others = hunks.filter((other) => other !== hunk)
  const shift = withEdits(old.slice(0, edit.start), fresh, others.filter(isBefore(edit.start)))
  const behind = others
    .filter((other) => !isBefore(edit.start)(other))
    .map((other) => moved(other, -edit.end))
  return [...shift, ...kept, ...withEdits(old.slice(edit.end), fresh, behind)]
}

function isBefore(start: number): (hunk: Hunk) => boolean {
  return ({ edit }) => edit !== undefined && edit.end <= start
}

function moved(hunk: Hunk, by: number): Hunk {
  const { edit } = hunk
  return edit === undefined
    ? hunk
    : { ...hunk, edit: { ...edit, start: edit.start + by, end: edit.end + by } }
}

// Whether a folder stays when the last file in it goes depends on whose it was; another test looks at that.
function withoutBareFolders(files: Record<string, string>): Record<string, string> {
  const folders = new Set(Object.keys(files).filter((path) => files[path] === '/'))
  return Object.fromEntries(Object.entries(files).filter(([path]) => !folders.has(path)))
}

function readFiles(dir: string, at = ''): ReadonlyMap<string, Lines> {
  const found = new Map<string, Lines>()
  for (const entry of readdirSync(`${dir}/${at}`, { withFileTypes: true })) {
    const path = at === '' ? entry.name : `${at}/${entry.name}`
    if (entry.isDirectory()) for (const [name, lines] of readFiles(dir, path)) found.set(name, lines)
    else found.set(path, linesOf(readFileSync(`${dir}/${path}`, 'utf8')))
  }
  return found
}

const refusals = ['conflicts', 'nothing-to-undo', 'nothing-to-redo', 'nothing-to-roll-back', 'unknown-id']

async function refusable<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof UnturnError && refusals.includes(error.code)) return undefined
    throw error
  }
}
