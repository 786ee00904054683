/**
 * `review --interactive`: hunk by hunk with single keys. What is shown comes from the engine after every decision,
 * since agents may go on working meanwhile; what has changed since it was shown is refused there, and shown anew.
 */

import {
  type Decided,
  type HunkSelection,
  isFailure,
  narrowedReview,
  type OpId,
  type ReviewFile,
  type ReviewHunk,
  type ReviewResult,
  reviewJson,
  type SessionId,
  UnturnError,
  visible,
  type Workspace,
} from '@unturn/core'
import type { Context } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { conflictsOf, counted } from '../words.ts'
import { Interrupted, type Keys, withRawTerminal } from './review-keys.ts'
import { decidedWords, fileHead, hunkText, ShortIds } from './review-text.ts'

/** Exit code of a command that Ctrl-C ended, as shells have it. */
const interruptedCode = 130

export async function interactiveReview(
  { terminal }: Context,
  workspace: Workspace,
  session: SessionId,
  selection: HunkSelection,
): Promise<number> {
  const write = (text: string) => {
    terminal.endProgress()
    process.stdout.write(text)
  }
  return withRawTerminal(process.stdin, (keys) =>
    walkHunks({
      workspace,
      session,
      selection,
      keys,
      write,
      terminal,
      rows: () => process.stdout.rows ?? 24,
    }),
  )
}

export interface WalkWish {
  readonly workspace: Workspace
  readonly session: SessionId
  readonly selection: HunkSelection
  readonly keys: Keys
  readonly write: (text: string) => void
  readonly terminal: Terminal
  /** How high the terminal is now. */
  readonly rows: () => number
}

/** The whole walk, on whatever gives keys and takes text. Gives the exit code. */
export async function walkHunks(wish: WalkWish): Promise<number> {
  const walk = new Walk(wish)
  try {
    await walk.run()
    walk.sayWhatWasDone()
    return 0
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    walk.sayWhatWasDone()
    return interruptedCode
  }
}

interface Item {
  readonly file: ReviewFile
  readonly hunk: ReviewHunk
}

type Verb = 'accept' | 'reject'

/** Something that was decided here, and can be taken back. */
interface Made {
  readonly verb: Verb
  readonly words: string
  readonly ops: readonly OpId[]
  readonly hunks: readonly string[]
}

const help = `y  accept this hunk                 n  reject it: the file goes back there, your own edits stay
s  skip it: it stays pending        f  decide on all hunks of this file
a  accept all that is left          d  reject all that is left (skipped ones stay)
j  next hunk (also ↓)               k  previous hunk (also ↑)
c  reject it with a comment         e  decide on some of its lines
u  take the last decision back      v  show all lines of a long hunk
q  quit; what was decided stays     ?  this help`

class Walk {
  readonly #wish: WalkWish
  #review: ReviewResult | undefined
  #items: readonly Item[] = []
  #at = 0
  readonly #skipped = new Set<string>()
  readonly #made: Made[] = []

  constructor(wish: WalkWish) {
    this.#wish = wish
  }

  async run(): Promise<void> {
    await this.#look()
    if (this.#items.length === 0) return this.#say('Nothing is pending.')
    for (;;) {
      const item = this.#items[this.#at]
      const goesOn = item === undefined ? await this.#atTheEnd() : await this.#askAbout(item)
      if (!goesOn) return
    }
  }

  sayWhatWasDone(): void {
    const sum = (verb: Verb) =>
      this.#made.filter((one) => one.verb === verb).reduce((count, { hunks }) => count + hunks.length, 0)
    const pending = this.#review?.pending ?? 0
    if (this.#made.length === 0 && pending === 0) return
    this.#say(
      `Accepted ${counted(sum('accept'), 'hunk')}, rejected ${sum('reject')}; ${counted(pending, 'hunk is', 'hunks are')} still pending.`,
    )
    for (const { words, ops } of this.#made.slice(-mostTold).toReversed())
      for (const op of ops.toReversed())
        this.#say(this.#dim(`${words}. Take this back with: unturn rollback --op ${op}`))
  }

  // ---- where we are --------------------------------------------------------------------------------------------------

  /** Reads what is pending, and stays as near as can be to where we were. */
  async #look(): Promise<void> {
    const { workspace, session, selection } = this.#wish
    const view = narrowedReview(workspace.engine, await workspace.review(session), selection)
    this.#review = reviewJson(workspace.engine, view)
    const before = this.#items
    this.#items = this.#review.files.flatMap((file) => file.hunks.map((hunk) => ({ file, hunk })))
    this.#at = this.#nextAfter(before)
  }

  // What is new in the file that was shown is what became of the hunk; then the ones behind it, then any other.
  #nextAfter(before: readonly Item[]): number {
    const shown = before[this.#at]
    const known = new Set(before.map(({ hunk }) => hunk.id))
    const later = new Set(before.slice(this.#at).map(({ hunk }) => hunk.id))
    const isOpen = ({ hunk }: Item) => !this.#skipped.has(hunk.id)
    const places = [
      this.#items.findIndex(({ file, hunk }) => file.path === shown?.file.path && !known.has(hunk.id)),
      this.#items.findIndex((item) => later.has(item.hunk.id) && isOpen(item)),
      this.#items.findIndex(isOpen),
    ]
    return places.find((place) => place >= 0) ?? this.#items.length
  }

  #step(by: number): void {
    const count = this.#items.length
    if (count > 0) this.#at = (this.#at + by + count) % count
  }

  #skip({ hunk }: Item): void {
    this.#skipped.add(hunk.id)
    this.#at = this.#nextAfter(this.#items)
  }

  // ---- asking --------------------------------------------------------------------------------------------------------

  async #askAbout(item: Item): Promise<boolean> {
    this.#show(item, { mostLines: Math.max(leastLines, this.#wish.rows() - linesAround) })
    const key = await this.#ask('Accept this hunk? [y,n,s,f,a,d,j,k,c,e,u,v,q,?]')
    return this.#act(item, key)
  }

  async #act(item: Item, key: string): Promise<boolean> {
    switch (key) {
      case 'y':
        await this.#decide('accept', [item.hunk.id])
        break
      case 'n':
        await this.#decide('reject', [item.hunk.id])
        break
      case 's':
        this.#skip(item)
        break
      case 'f':
        await this.#decideFile(item.file)
        break
      case 'a':
        await this.#decide('accept', this.#left())
        break
      case 'd':
        await this.#decide('reject', this.#left())
        break
      case 'j':
        this.#step(1)
        break
      case 'k':
        this.#step(-1)
        break
      case 'c':
        await this.#rejectWithComment(item.hunk)
        break
      case 'e':
        await this.#decideLines(item)
        break
      case 'u':
        await this.#takeBack()
        break
      case 'v':
        this.#show(item, {})
        return this.#act(item, await this.#ask('Accept this hunk?'))
      case 'q':
        return false
      default:
        this.#say(help)
    }
    return true
  }

  // Nothing is left to show. A last slip of the finger can still be taken back.
  async #atTheEnd(): Promise<boolean> {
    if (this.#made.length === 0) return false
    const key = await this.#ask('That was the last one. u takes the last decision back, any other key ends.')
    if (key !== 'u') return false
    await this.#takeBack()
    return true
  }

  /** Of those that were on the screen's list: what an agent adds meanwhile is nobody's decision yet. */
  #left(): readonly string[] {
    return this.#items.map(({ hunk }) => hunk.id).filter((id) => !this.#skipped.has(id))
  }

  async #decideFile({ path }: ReviewFile): Promise<void> {
    const ids = this.#items.filter(({ file }) => file.path === path).map(({ hunk }) => hunk.id)
    const verb = await this.#askVerb(`${counted(ids.length, 'hunk')} of ${visible(path)}`)
    if (verb !== undefined) await this.#decide(verb, ids)
  }

  async #rejectWithComment({ id }: ReviewHunk): Promise<void> {
    const comment = await this.#askLine('Comment for the agent (Enter rejects the hunk, Escape goes back): ')
    if (comment === undefined || comment === '') return this.#say('Nothing was rejected.')
    await this.#decide('reject', [id], { comment })
  }

  async #decideLines(item: Item): Promise<void> {
    if (item.hunk.kind !== 'text')
      return this.#say('This is about the whole file: it has no lines to choose from.')
    this.#show(item, { numbered: true })
    const ranges = await this.#askLine('Which lines, for instance 2-4,7 (Escape goes back): ')
    if (ranges === undefined || ranges === '') return
    const verb = await this.#askVerb(`lines ${visible(ranges)}`)
    if (verb !== undefined) await this.#decide(verb, [`${item.hunk.id}:${ranges.replaceAll(' ', '')}`])
  }

  async #askVerb(what: string): Promise<Verb | undefined> {
    const key = await this.#ask(`y accepts, n rejects ${what}; any other key goes back.`)
    return key === 'y' ? 'accept' : key === 'n' ? 'reject' : undefined
  }

  // ---- deciding ------------------------------------------------------------------------------------------------------

  async #decide(
    verb: Verb,
    hunks: readonly string[],
    more: { readonly comment?: string; readonly onConflict?: 'keep' | 'overwrite' | 'markers' } = {},
  ): Promise<void> {
    const { workspace, session } = this.#wish
    if (hunks.length === 0) return
    const decided = await this.#trying(() => workspace[verb]({ session, selection: { hunks }, ...more }))
    if (decided?.kind === 'conflicts') return this.#askAboutConflicts(verb, hunks, decided, more.comment)
    if (decided !== undefined) this.#remember(verb, decided)
    await this.#look()
  }

  #remember(verb: Verb, decided: Decided): void {
    const words = decidedWords(decided, verb)
    this.#say(words)
    if (decided.ops.length > 0)
      this.#made.push({ verb, words, ops: decided.ops, hunks: decided.hunks.map(({ id }) => id) })
  }

  async #askAboutConflicts(
    verb: Verb,
    hunks: readonly string[],
    decided: Decided,
    comment: string | undefined,
  ): Promise<void> {
    this.#say(conflictsOf(decided, verb, this.#wish.terminal).join('\n'))
    const key = await this.#ask(
      'Nothing was changed. o overwrites (u brings it back), m writes both into the file, k leaves these and does the rest; any other key goes back.',
    )
    const onConflict = conflictKeys[key]
    if (onConflict === undefined) return this.#look()
    await this.#decide(verb, hunks, { onConflict, ...(comment === undefined ? {} : { comment }) })
  }

  async #takeBack(): Promise<void> {
    const made = this.#made.pop()
    if (made === undefined) return this.#say('Nothing was decided here yet.')
    for (const [done, op] of made.ops.toReversed().entries()) {
      if (await this.#rollBack(op)) continue
      this.#made.push({ ...made, ops: made.ops.slice(0, made.ops.length - done) })
      return this.#look()
    }
    this.#say(`Took back: ${made.words}`)
    for (const id of made.hunks) this.#skipped.delete(id)
    await this.#look()
    const place = this.#items.findIndex(({ hunk }) => made.hunks.includes(hunk.id))
    if (place >= 0) this.#at = place
  }

  async #rollBack(op: OpId): Promise<boolean> {
    const { workspace, session, terminal } = this.#wish
    const outcome = await this.#trying(() => workspace.rollback({ session, selection: { ops: [op] } }))
    if (outcome?.kind !== 'conflicts') return outcome !== undefined
    this.#say(conflictsOf(outcome, 'reject', terminal).join('\n'))
    this.#say('It was edited since at the same place. Nothing was taken back.')
    return false
  }

  // A refusal ends one decision, not the walk.
  async #trying<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (isFailure(error, 'hunk-gone'))
        this.#say(
          'This has changed since it was shown: somebody went on working. Nothing was decided; here is how it is now.',
        )
      else if (error instanceof UnturnError) this.#say(`${visible(error.message)} ${visible(error.hint)}`)
      else throw error
      return undefined
    }
  }

  // ---- drawing -------------------------------------------------------------------------------------------------------

  #show({ file, hunk }: Item, options: { readonly mostLines?: number; readonly numbered?: boolean }): void {
    const { terminal } = this.#wish
    const ids = new ShortIds(this.#review ?? { files: [] })
    const place = this.#dim(`  ${this.#at + 1} of ${this.#items.length}`)
    this.#say(`\n${fileHead(file, terminal)}${place}`)
    this.#say(hunkText(hunk, ids.of(hunk.id), terminal, options).join('\n'))
  }

  async #ask(question: string): Promise<string> {
    const { keys, write, terminal } = this.#wish
    write(`${terminal.style('bold', question)} `)
    const key = await keys.fresh()
    write(`${visible(key)}\n`)
    return key
  }

  async #askLine(question: string): Promise<string | undefined> {
    const { keys, write, terminal } = this.#wish
    write(terminal.style('bold', question))
    const text = await keys.line((echo) => write(echo))
    write('\n')
    return text
  }

  #say(text: string): void {
    this.#wish.write(`${text}\n`)
  }

  #dim(text: string): string {
    return this.#wish.terminal.style('dim', text)
  }
}

const conflictKeys: Readonly<Record<string, 'keep' | 'overwrite' | 'markers'>> = {
  k: 'keep',
  o: 'overwrite',
  m: 'markers',
}
const leastLines = 10
const linesAround = 6
const mostTold = 5
