/**
 * The whole engine as a model of files and turns, for random tests. It shares no code with the product.
 *
 * A text file is made of slots between lines that nobody touches. So what git makes of two versions can be worked out
 * slot by slot: where only one side changed a slot, that side's; where both did, and differently, a conflict.
 */

import { createHash } from 'node:crypto'

export interface TextFile {
  readonly id: number
  readonly slots: readonly string[]
  readonly exec: boolean
}

export interface BinaryFile {
  readonly id: number
  readonly bytes: string
  readonly exec: boolean
}

export type ModelFile = TextFile | BinaryFile

export interface World {
  readonly files: ReadonlyMap<string, ModelFile>
  readonly folders: ReadonlySet<string>
}

export type Choice = 'abort' | 'keep' | 'overwrite' | 'markers'

// ---- files as bytes ------------------------------------------------------------------------------------------------

// Four lines between two slots: git joins conflicts that have three or less between them. Lines that differ in one
// letter only look alike to git's search for renames, hence the digest.
export function contentOf(file: ModelFile): string {
  if ('bytes' in file) return file.bytes
  const fence = (at: number) => [1, 2, 3, 4].map((line) => digest(`${file.id} ${at} ${line}`))
  const lines = file.slots.flatMap((slot, at) => [...fence(at), ...(slot === '' ? [] : [slot])])
  return `${[...lines, ...fence(file.slots.length)].join('\n')}\n`
}

function digest(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}

/** Everything there is, for comparing with the disk: `x` or `-`, then the bytes; folders end with a slash. */
export function listing(world: World): Record<string, string> {
  const list: Record<string, string> = {}
  for (const [path, file] of world.files) list[path] = (file.exec ? 'x ' : '- ') + contentOf(file)
  for (const folder of world.folders) list[`${folder}/`] = ''
  return list
}

export function sameFile(a: ModelFile | undefined, b: ModelFile | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.exec === b.exec && contentOf(a) === contentOf(b)
}

export function sameWorld(a: World, b: World): boolean {
  if (a === b) return true
  if (a.files.size !== b.files.size || a.folders.size !== b.folders.size) return false
  return (
    [...a.files].every(([path, file]) => sameFile(file, b.files.get(path))) &&
    [...a.folders].every((folder) => b.folders.has(folder))
  )
}

export function foldersAbove(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, at) => names.slice(0, at + 1).join('/'))
}

// ---- merging -------------------------------------------------------------------------------------------------------

export interface Merged {
  readonly world: World
  readonly conflicts: number
  /** False: a conflict that involves renames, say. The model knows that there is one, but not what becomes of it. */
  readonly sure: boolean
}

interface Clash {
  readonly paths: Set<string>
  readonly marked?: ModelFile | undefined
}

export function merge(base: World, ours: World, theirs: World, choice: Choice): Merged {
  const files = new Map<string, ModelFile>()
  const clashes: Clash[] = []
  const homes = [...base.files.keys()].map((path) => ({
    path,
    here: whereabouts(base, ours, path),
    there: whereabouts(base, theirs, path),
  }))
  for (const home of homes) mergeOne(base, ours, theirs, home, files, clashes)
  const arrived = new Set(homes.flatMap(({ here, there }) => [here, there]))
  for (const path of new Set([...ours.files.keys(), ...theirs.files.keys()])) {
    if (base.files.has(path) || arrived.has(path)) continue
    const [mine, other] = [ours.files.get(path), theirs.files.get(path)]
    const file = mine ?? other
    if (file !== undefined && (mine === undefined || other === undefined || sameFile(mine, other)))
      files.set(path, file)
    else clashes.push({ paths: new Set([path]) })
  }
  const renames = homes.flatMap(({ path, here, there }) =>
    [here, there].flatMap((to) => (to === undefined || to === path ? [] : [{ from: path, to }])),
  )
  const sure = settle(files, clashes, renames, ours, theirs, choice) && isPlain(base, ours, theirs)
  return {
    world: { files, folders: mergedFolders(base, ours, theirs, files) },
    conflicts: clashes.length,
    sure,
  }
}

interface Home {
  readonly path: string
  readonly here: string | undefined
  readonly there: string | undefined
}

/** Where a file of `base` stands in `side`: renamed, if its path is gone and a new one holds the same file. */
function whereabouts(base: World, side: World, path: string): string | undefined {
  if (side.files.has(path)) return path
  const file = base.files.get(path)
  return [...side.files].find(([other, one]) => !base.files.has(other) && isSameIdentity(file, one))?.[0]
}

function isSameIdentity(a: ModelFile | undefined, b: ModelFile): boolean {
  if (a === undefined || 'bytes' in a || 'bytes' in b) return a !== undefined && contentOf(a) === contentOf(b)
  return a.id === b.id
}

// A file that stands at two places at once could have been renamed to either.
function isPlain(...worlds: readonly World[]): boolean {
  return worlds.every(({ files }) => {
    const identities = [...files.values()].map((file) => ('bytes' in file ? file.bytes : file.id))
    return new Set(identities).size === identities.length
  })
}

function mergeOne(
  base: World,
  ours: World,
  theirs: World,
  { path, here, there }: Home,
  files: Map<string, ModelFile>,
  clashes: Clash[],
): void {
  const old = base.files.get(path)
  const mine = here === undefined ? undefined : ours.files.get(here)
  const other = there === undefined ? undefined : theirs.files.get(there)
  const paths = new Set([path, here, there].filter((one) => one !== undefined))
  if (old === undefined || (mine === undefined && other === undefined)) return
  if (mine === undefined || other === undefined) {
    const untouched = sameFile(old, mine ?? other) && (here ?? there) === path
    if (!untouched) clashes.push({ paths })
    return
  }
  const target = here === path ? there : there === path || here === there ? here : undefined
  const file = mergedFile(old, mine, other)
  if (target === undefined || file.clash) clashes.push({ paths, marked: file.marked })
  else if (target === path || here === there || !(here === path ? ours : theirs).files.has(target))
    files.set(target, file.merged)
  // Both sides have a file at the new name. That is well only if it is the same one, and nothing was to follow there.
  else if (
    sameFile(ours.files.get(target), theirs.files.get(target)) &&
    sameFile(old, here === path ? mine : other)
  )
    files.set(target, here === path ? other : mine)
  else clashes.push({ paths })
}

type MergedFile =
  | { readonly clash: false; readonly merged: ModelFile; readonly marked?: undefined }
  | { readonly clash: true; readonly marked: ModelFile | undefined }

function mergedFile(base: ModelFile, ours: ModelFile, theirs: ModelFile): MergedFile {
  const exec = ours.exec === base.exec ? theirs.exec : ours.exec
  const [old, mine, other] = [base, ours, theirs].map(contentOf)
  if (mine === other || old === other) return { clash: false, merged: { ...ours, exec } }
  if (old === mine) return { clash: false, merged: { ...theirs, exec } }
  if ('bytes' in base || 'bytes' in ours || 'bytes' in theirs)
    return { clash: true, marked: 'bytes' in ours && 'bytes' in theirs ? ours : undefined }
  if (ours.id !== base.id || theirs.id !== base.id) return { clash: true, marked: undefined }
  const slots = base.slots.map((slot, at) => mergedSlot(slot, ours.slots[at] ?? '', theirs.slots[at] ?? ''))
  if (slots.every((slot) => typeof slot === 'string'))
    return { clash: false, merged: { id: base.id, slots, exec } }
  const marked = slots.map((slot) => (typeof slot === 'string' ? slot : markers(slot.ours, slot.theirs)))
  const known = marked.every((slot) => slot !== undefined)
  return { clash: true, marked: known ? { id: base.id, slots: marked, exec } : undefined }
}

function mergedSlot(
  base: string,
  ours: string,
  theirs: string,
): string | { readonly ours: string; readonly theirs: string } {
  if (ours === theirs || theirs === base) return ours
  return ours === base ? theirs : { ours, theirs }
}

// Git leaves out of the markers what the two sides have in common, which two blocks of markers would.
function markers(ours: string, theirs: string): string | undefined {
  if (ours.includes('<<<<') || theirs.includes('<<<<')) return undefined
  const lines = ['<<<<<<< current', ours, '=======', theirs, '>>>>>>> earlier version']
  return lines.filter((line) => line !== '').join('\n')
}

/** Puts the choice into the files; false where the model does not know what it comes to. */
function settle(
  files: Map<string, ModelFile>,
  clashes: readonly Clash[],
  renames: readonly { readonly from: string; readonly to: string }[],
  ours: World,
  theirs: World,
  choice: Choice,
): boolean {
  if (choice === 'abort') return true
  let sure = true
  for (const { paths, marked } of clashes) {
    follow(paths, renames)
    const path = [...paths][0] ?? ''
    const [mine, other] = [ours.files.get(path), theirs.files.get(path)]
    const isMarkable = mine !== undefined && other !== undefined
    if (paths.size > 1) sure = sure && choice === 'keep'
    if (choice === 'markers' && isMarkable && marked === undefined) sure = false
    for (const one of paths) put(files, one, (choice === 'overwrite' ? theirs : ours).files.get(one))
    if (choice === 'markers' && isMarkable) put(files, path, marked)
  }
  return sure
}

function put(files: Map<string, ModelFile>, path: string, file: ModelFile | undefined): void {
  if (file === undefined) files.delete(path)
  else files.set(path, file)
}

/** The other ends of all renames that touch these paths belong to them, too. */
function follow(
  paths: Set<string>,
  renames: readonly { readonly from: string; readonly to: string }[],
): void {
  for (let size = 0; size < paths.size; ) {
    size = paths.size
    for (const { from, to } of renames) if (paths.has(from) || paths.has(to)) paths.add(from).add(to)
  }
}

/** R11: a folder that was there stays, even empty; one that came with what is taken out goes with it. */
function mergedFolders(
  base: World,
  ours: World,
  theirs: World,
  files: ReadonlyMap<string, ModelFile>,
): ReadonlySet<string> {
  const known = new Set([...ours.folders, ...theirs.folders])
  const staying = [...known].filter((folder) => {
    const [was, is, will] = [base, ours, theirs].map((world) => world.folders.has(folder))
    return is === was ? will : is
  })
  return new Set([...staying, ...[...files.keys(), ...staying].flatMap(foldersAbove)])
}

// ---- turns and moves -----------------------------------------------------------------------------------------------

/** What one step did: the world before and after it. */
export interface StepModel {
  readonly before: World
  readonly after: World
  out?: { readonly by: MoveModel; readonly stage: number } | undefined
}

export interface TurnModel {
  readonly id: string
  readonly session: string
  readonly parent: TurnModel | null
  readonly steps: StepModel[]
  /** The whole world when it began and when it ended. */
  readonly began: World
  ended: World
  visited: number
}

export interface StageModel {
  readonly turn: TurnModel | null
  readonly way: 'out' | 'in'
  /** What goes out or comes in by this. */
  readonly steps: readonly StepModel[]
  /** The same, and what is there already. */
  readonly about: readonly StepModel[]
  readonly before: World
  readonly after: World
}

export interface MoveModel {
  readonly session: string
  readonly stages: readonly StageModel[]
  readonly before: World
  readonly after: World
  /** Absent: the head stays. */
  readonly head?: { readonly from: TurnModel | null; readonly to: TurnModel | null } | undefined
  readonly isRollback: boolean
  /** Some conflict was decided by force, or everything was put back exactly: others' work may have moved, too. */
  readonly isRough: boolean
  seq: number
  id: string
}

export type Wish =
  | { readonly kind: 'undo' | 'redo'; readonly session: string; readonly turns: number }
  | {
      readonly kind: 'restore'
      readonly turn: TurnModel
      readonly side: 'before' | 'after'
      readonly exact: boolean
    }
  | { readonly kind: 'rollback-turn'; readonly turn: TurnModel }
  | { readonly kind: 'rollback-op'; readonly move: MoveModel }

export type Expected =
  | { readonly kind: 'nothing' | 'conflicts' | 'unsure' }
  | { readonly kind: 'done'; readonly move: MoveModel }

interface Side {
  readonly base: World
  readonly theirs: World
}

export class Model {
  disk: World
  /** What was captured last. */
  captured: World
  readonly start: World
  readonly turns: TurnModel[] = []
  readonly moves: MoveModel[] = []
  readonly heads = new Map<string, TurnModel | null>()
  #clock = 0

  constructor(start: World) {
    this.start = start
    this.disk = start
    this.captured = start
  }

  head(session: string): TurnModel | null {
    return this.heads.get(session) ?? null
  }

  beginTurn(session: string, id: string): TurnModel {
    this.captured = this.disk
    this.#clock += 1
    const parent = this.head(session)
    const turn = { id, session, parent, steps: [], began: this.disk, ended: this.disk, visited: this.#clock }
    this.turns.push(turn)
    this.heads.set(session, turn)
    return turn
  }

  endTurn(turn: TurnModel): void {
    this.captured = this.disk
    turn.ended = this.disk
  }

  /** Looks at these paths only, or at everything. */
  capture(paths?: readonly string[]): World {
    this.captured = paths === undefined ? this.disk : this.#lookAt(paths)
    return this.captured
  }

  #lookAt(paths: readonly string[]): World {
    const files = new Map(this.captured.files)
    for (const path of paths) put(files, path, this.disk.files.get(path))
    const above = paths.flatMap(foldersAbove).filter((folder) => this.disk.folders.has(folder))
    const folders = new Set([...this.captured.folders, ...[...files.keys()].flatMap(foldersAbove), ...above])
    return { files, folders }
  }

  // ---- what a move comes to ----------------------------------------------------------------------------------------

  expect(wish: Wish, choice: Choice): Expected {
    switch (wish.kind) {
      case 'undo':
      case 'redo': {
        const to = wish.kind === 'undo' ? this.#back(wish) : this.#forward(wish)
        return to === undefined ? { kind: 'nothing' } : this.#moveHead(wish.session, to, choice)
      }
      case 'restore': {
        const to = wish.side === 'after' ? wish.turn : wish.turn.parent
        const exactly = wish.side === 'after' ? wish.turn.ended : wish.turn.began
        return this.#moveHead(wish.turn.session, to, choice, wish.exact ? exactly : undefined)
      }
      case 'rollback-turn': {
        const steps = wish.turn.steps.filter((step) => isIn(step) && !sameWorld(step.before, step.after))
        if (steps.length === 0) return { kind: 'nothing' }
        const plan = new Plan(this.disk, choice)
        plan.add(wish.turn, 'out', steps, takingOut(steps))
        return plan.expected({ session: wish.turn.session, isRollback: true })
      }
      case 'rollback-op':
        return this.#invert(wish.move, choice)
    }
  }

  #back({
    session,
    turns,
  }: {
    readonly session: string
    readonly turns: number
  }): TurnModel | null | undefined {
    const path = pathTo(this.head(session))
    return path[Math.max(0, path.length - turns)]?.parent
  }

  #forward({ session, turns }: { readonly session: string; readonly turns: number }): TurnModel | undefined {
    let at: TurnModel | undefined
    for (let done = 0; done < turns; done += 1) {
      const from = at ?? this.head(session)
      const children = this.turns.filter((turn) => turn.session === session && turn.parent === from)
      const next = children.sort((a, b) => a.visited - b.visited).at(-1)
      if (next === undefined) break
      at = next
    }
    return at
  }

  #moveHead(session: string, to: TurnModel | null, choice: Choice, exactly?: World): Expected {
    const from = this.head(session)
    const [here, there] = [pathTo(from), pathTo(to)]
    const plan = new Plan(this.disk, exactly === undefined ? choice : 'overwrite')
    for (const turn of here.filter((one) => !there.includes(one)).reverse()) {
      const steps = turn.steps.filter(isIn)
      plan.add(turn, 'out', steps, takingOut(steps))
    }
    for (const turn of there.filter((one) => !here.includes(one))) {
      const steps = turn.steps.filter((step) => step.out !== undefined && !isByRollback(step.out.by))
      plan.add(turn, 'in', steps, bringingIn(steps))
    }
    if (exactly !== undefined) plan.exactly(exactly)
    return plan.expected({ session, head: { from, to }, isRollback: false })
  }

  #invert(move: MoveModel, choice: Choice): Expected {
    const plan = new Plan(this.disk, choice, move.isRough)
    for (const { turn, way, steps, about, before, after } of [...move.stages].reverse()) {
      const opposite = way === 'out' ? 'in' : 'out'
      const moving = steps.filter((step) => isIn(step) === (opposite === 'out'))
      plan.add(turn, opposite, moving, [{ base: after, theirs: before }], about)
    }
    const isStill = move.head !== undefined && this.head(move.session) === move.head.to
    const head = isStill && move.head ? { from: move.head.to, to: move.head.from } : undefined
    return plan.expected({ session: move.session, head, isRollback: true })
  }

  /** It has happened. */
  adopt(move: MoveModel, id: string): void {
    this.#clock += 1
    move.seq = this.#clock
    move.id = id
    move.stages.forEach(({ turn, way, steps }, stage) => {
      for (const step of steps) step.out = way === 'out' ? { by: move, stage } : undefined
      if (way === 'in' && turn !== null && move.head !== undefined) turn.visited = this.#clock
    })
    if (move.head !== undefined) this.heads.set(move.session, move.head.to)
    this.moves.push(move)
    this.disk = move.after
    this.captured = move.after
  }
}

function isIn(step: StepModel): boolean {
  return step.out === undefined
}

// What a rollback took out stays out when the head comes back.
function isByRollback(move: MoveModel): boolean {
  return move.isRollback && move.head === undefined
}

export function pathTo(turn: TurnModel | null): readonly TurnModel[] {
  return turn === null ? [] : [...pathTo(turn.parent), turn]
}

/** Newest first; steps that follow each other with nothing in between are one. */
function takingOut(steps: readonly StepModel[]): readonly Side[] {
  const runs: { before: World; after: World }[] = []
  for (const { before, after } of steps) {
    if (sameWorld(before, after)) continue
    const open = runs.at(-1)
    if (open !== undefined && sameWorld(open.after, before)) open.after = after
    else runs.push({ before, after })
  }
  return runs.reverse().map(({ before, after }) => ({ base: after, theirs: before }))
}

/** The inverse of how they went out; where others went out in the same stage, the steps once more. */
function bringingIn(steps: readonly StepModel[]): readonly Side[] {
  const stages = new Set(steps.map((step) => step.out?.by.stages[step.out.stage]))
  const sides: { readonly order: number; readonly side: Side }[] = []
  for (const step of steps) {
    const stage = step.out?.by.stages[step.out.stage]
    if (step.out === undefined || stage === undefined || !stages.delete(stage)) continue
    if (!stage.steps.every((one) => steps.includes(one)))
      return [...takingOut(steps)].reverse().map(({ base, theirs }) => ({ base: theirs, theirs: base }))
    const side = { base: stage.after, theirs: stage.before }
    sides.push({ order: step.out.by.seq * 1000 + step.out.stage, side })
  }
  return sides.sort((a, b) => b.order - a.order).map(({ side }) => side)
}

/** Stage by stage from the current world to the wanted one. */
class Plan {
  readonly #before: World
  readonly #choice: Choice
  readonly #stages: StageModel[] = []
  #now: World
  #conflicts = 0
  #sure = true
  #isRough: boolean

  constructor(now: World, choice: Choice, isRough = false) {
    this.#before = now
    this.#now = now
    this.#choice = choice
    this.#isRough = isRough
  }

  add(
    turn: TurnModel | null,
    way: 'out' | 'in',
    steps: readonly StepModel[],
    sides: readonly Side[],
    about: readonly StepModel[] = steps,
  ): void {
    const before = this.#now
    for (const { base, theirs } of sides) {
      if (sameWorld(base, theirs) || this.#isRefused) continue
      const merged = sameWorld(base, this.#now)
        ? { world: theirs, conflicts: 0, sure: true }
        : merge(base, this.#now, theirs, this.#choice)
      this.#now = merged.world
      this.#conflicts += merged.conflicts
      this.#sure &&= merged.sure
    }
    this.#isRough ||= steps.some((step) => step.out?.by.isRough)
    this.#stages.push({ turn, way, steps, about, before, after: this.#now })
  }

  // What git makes of a conflict that nobody may decide goes no further.
  get #isRefused(): boolean {
    return this.#conflicts > 0 && this.#choice === 'abort'
  }

  exactly(world: World): void {
    this.#conflicts = 0
    this.#isRough = true
    if (sameWorld(world, this.#now)) return
    this.#stages.push({ turn: null, way: 'out', steps: [], about: [], before: this.#now, after: world })
    this.#now = world
  }

  expected(what: Pick<MoveModel, 'session' | 'head' | 'isRollback'>): Expected {
    if (!this.#sure) return { kind: 'unsure' }
    if (this.#isRefused) return { kind: 'conflicts' }
    const isRough = this.#isRough || this.#conflicts > 0
    const worlds = { before: this.#before, after: this.#now }
    return { kind: 'done', move: { ...what, ...worlds, stages: this.#stages, isRough, seq: 0, id: '' } }
  }
}
