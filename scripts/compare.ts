/**
 * Side by side with the agents' own undo: the same scene, played by the same real agents on the same files, is taken back
 * by OpenCode's revert, by Claude Code's rewind, and by Unturn. Writes docs/compared.md.
 *
 *   npm run compare              a small repository and one of 20,000 files
 *   npm run compare -- --small   only the small one, and only to the screen
 */

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { claudeCode } from '../e2e/agents/claude-code.ts'
import { rewindFiles, rewindingClaude } from '../e2e/agents/claude-rewind.ts'
import type { Driver } from '../e2e/agents/driver.ts'
import { askOpencode, opencodeWith } from '../e2e/agents/opencode.ts'
import { install, pinned } from '../e2e/agents/pinned.ts'
import { Place } from '../e2e/agents/place.ts'

// ---- the scene ---------------------------------------------------------------------------------------------------------

const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`)
const text = `${lines.join('\n')}\n`
const changed = (...pairs: readonly (readonly [number, string])[]) =>
  `${lines.map((line, at) => pairs.find(([number]) => number === at + 1)?.[1] ?? line).join('\n')}\n`

/** One file of the scene. Undefined: it is not there. */
interface Row {
  readonly what: string
  readonly path: string
  readonly before: string | undefined
  readonly undone: string | undefined
  readonly redone: string | undefined
  /** Whose work it is that counts here. */
  readonly of: 'agent' | 'user'
}

const agents = (what: string, path: string, before: string | undefined, after: string | undefined): Row => ({
  what,
  path,
  before,
  undone: before,
  redone: after,
  of: 'agent',
})
const users = (what: string, path: string, before: string | undefined, now: string): Row => ({
  what,
  path,
  before,
  undone: now,
  redone: now,
  of: 'user',
})

const rows: readonly Row[] = [
  agents('a file changed by the edit tool', 'edited.txt', text, changed([5, 'line 5 by the agent'])),
  agents('a file made by the write tool', 'created.txt', undefined, 'created\n'),
  agents('a file appended to by a shell command', 'appended.txt', 'one\n', 'one\ntwo\n'),
  agents('a file deleted by a shell command', 'deleted.txt', 'bye\n', undefined),
  agents('a file renamed by a shell command: its old name', 'old-name.txt', 'name\n', undefined),
  agents('and its new name', 'new-name.txt', undefined, 'name\n'),
  agents('an ignored file (.env) changed by a shell command', '.env', 'KEY=1\n', 'KEY=2\n'),
  agents('a file made by a subagent', 'part.txt', undefined, 'part\n'),
  users('a file the user made during the turn', 'during.txt', undefined, 'typed during the turn\n'),
  users('a file the user changed after the turn', 'mine.txt', 'mine\n', 'mine, later\n'),
  {
    what: 'a line the user changed after the turn in a file that the agent had edited',
    path: 'both.txt',
    before: text,
    undone: changed([35, 'line 35 by the user']),
    redone: changed([5, 'line 5 by the agent'], [35, 'line 35 by the user']),
    of: 'user',
  },
]

/** While the turn is undone the user goes on working. It shows after the redo. */
const meanwhile: Row = users('a file the user changed while the turn was undone', 'later.txt', 'a\n', 'b\n')

const modeRow = 'the mode of a file changed by a shell command (chmod)'

function filesOf(size: number): Readonly<Record<string, string>> {
  const own = Object.fromEntries(
    [...rows, meanwhile].flatMap(({ path, before }) => (before === undefined ? [] : [[path, before]])),
  )
  const others = Object.fromEntries(
    Array.from({ length: size }, (_, at) => [
      `src/part-${Math.floor(at / 200)}/folder-${Math.floor(at / 20) % 10}/file-${at}.txt`,
      `file ${at}\n${text}`,
    ]),
  )
  return { ...others, ...own, 'script.sh': 'echo\n', '.gitignore': '.env\n' }
}

function setScene(place: Place): void {
  const edit = (path: string) =>
    ({ do: 'edit', path, old: 'line 5\n', new: 'line 5 by the agent\n' }) as const
  place.scene(
    'all',
    [{ do: 'read', path: 'edited.txt' }],
    [edit('edited.txt')],
    [{ do: 'read', path: 'both.txt' }],
    [edit('both.txt')],
    [{ do: 'write', path: 'created.txt', text: 'created\n' }],
    [
      { do: 'user', files: { 'during.txt': 'typed during the turn\n' } },
      {
        do: 'shell',
        command:
          'echo two >> appended.txt; rm deleted.txt; mv old-name.txt new-name.txt; echo KEY=2 > .env; chmod 755 script.sh',
      },
    ],
    [{ do: 'delegate', scene: 'part' }],
  )
  place.scene('part', [{ do: 'write', path: 'part.txt', text: 'part\n' }], [{ do: 'report' }])
  place.scene('next', [{ do: 'write', path: 'next.txt', text: 'next\n' }])
}

// ---- who takes it back -------------------------------------------------------------------------------------------------

interface Played {
  readonly session: string
  readonly output: string
}

interface Contender {
  readonly title: string
  readonly driver: Driver
  readonly isUnturn: boolean
  readonly env?: Readonly<Record<string, string>>
  undo(place: Place, played: Played): Promise<void>
  /** Absent: it has none. */
  redo?(place: Place, played: Played): Promise<void>
}

function byUnturn(title: string, driver: Driver): Contender {
  const run = (place: Place, verb: string) => {
    const { code, stderr } = place.unturn([verb], { timeoutMs: 300_000 })
    if (code !== 0) throw new Error(`unturn ${verb} ended with ${code}: ${stderr}`)
  }
  return {
    title,
    driver,
    isUnturn: true,
    undo: async (place) => run(place, 'undo'),
    redo: async (place) => run(place, 'redo'),
  }
}

function byOpencode(title: string, indexes: boolean): Contender {
  return {
    title,
    driver: opencodeWith({ snapshots: true, indexes }),
    isUnturn: false,
    undo: async (place, { session, output }) => {
      const { info } = JSON.parse(output) as { readonly info: { readonly parentID: string } }
      await askOpencode(place, `/session/${session}/revert`, { messageID: info.parentID })
    },
    redo: async (place, { session }) => {
      await askOpencode(place, `/session/${session}/unrevert`, {})
    },
  }
}

/** Without a terminal it rewinds by a process of its own. There is no way back from a rewind. */
const byClaude: Contender = {
  title: 'Claude Code’s rewind',
  driver: rewindingClaude,
  isUnturn: false,
  undo: (place, { session }) => rewindFiles(place, session, 300_000),
}

const contenders: readonly Contender[] = [
  byOpencode('OpenCode’s revert', true),
  byOpencode('OpenCode’s revert, without its index of files', false),
  byUnturn('Unturn with OpenCode', opencodeWith({ snapshots: false, indexes: false })),
  byClaude,
  byUnturn('Unturn with Claude Code', claudeCode),
]

// ---- one run -----------------------------------------------------------------------------------------------------------

interface Run {
  readonly contender: Contender
  readonly size: number
  readonly undone: readonly string[]
  readonly redone: readonly string[] | undefined
  readonly turnMs: number
  /** The best of several. */
  readonly undoMs: number
  readonly redoMs: number | undefined
  readonly nextMs: number
}

/** What can be repeated is: the best time is the one that other work on the machine has disturbed least. */
const cycles = 3

async function compete(contender: Contender, size: number): Promise<Run> {
  await using place = await Place.open(contender.driver, filesOf(size), { alone: !contender.isUnturn })
  setScene(place)
  const [turnMs, { output }] = await timed(() => place.begin('all').ended)
  const session = sessionIn(output)
  if (contender.isUnturn) await place.turnOf('all', output)
  place.write({
    'mine.txt': 'mine, later\n',
    'both.txt': changed([5, 'line 5 by the agent'], [35, 'line 35 by the user']),
  })
  const played = { session, output }
  const { redo } = contender
  const undoTimes = [(await timed(() => contender.undo(place, played)))[0]]
  const undone = verdicts(place, 'undone')
  place.write({ 'later.txt': 'b\n' })
  const redoTimes = redo === undefined ? [] : [(await timed(() => redo(place, played)))[0]]
  const redone = redo === undefined ? undefined : verdicts(place, 'redone')
  for (let cycle = 1; cycle < cycles && redo !== undefined; cycle += 1) {
    undoTimes.push((await timed(() => contender.undo(place, played)))[0])
    redoTimes.push((await timed(() => redo(place, played)))[0])
  }
  const [nextMs] = await timed(() => place.begin('next', session).ended)
  const redoMs = redo === undefined ? undefined : Math.min(...redoTimes)
  return { contender, size, undone, redone, turnMs, undoMs: Math.min(...undoTimes), redoMs, nextMs }
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [number, T]> {
  const began = performance.now()
  const result = await work()
  return [performance.now() - began, result]
}

function sessionIn(output: string): string {
  const found = /"session_?ID":\s*"([^"]+)"/i.exec(output)?.[1]
  if (found === undefined) throw new Error(`the agent named no session: ${output.slice(0, 500)}`)
  return found
}

function verdicts(place: Place, side: 'undone' | 'redone'): readonly string[] {
  const wanted = side === 'redone' ? [...rows, meanwhile] : rows
  return [...wanted.map((row) => verdict(place, row, side)), modeVerdict(place, side)]
}

/** What an undo had left in place is no merit of the redo. */
function afterRedo({ undone, redone }: Run, at: number): string {
  if (redone === undefined) return '—'
  const before = at < rows.length ? undone[at] : at > rows.length ? undone[at - 1] : undefined
  return before === '**not restored**' && redone[at] === 'back' ? 'was never out' : (redone[at] ?? '')
}

function verdict(place: Place, row: Row, side: 'undone' | 'redone'): string {
  const now = contentOf(place.pathOf(row.path))
  if (now === row[side]) return row.of === 'user' ? 'kept' : side === 'undone' ? 'restored' : 'back'
  if (row.of === 'user') return '**lost**'
  return side === 'undone' ? '**not restored**' : '**not back**'
}

function modeVerdict(place: Place, side: 'undone' | 'redone'): string {
  const isExecutable = (statSync(place.pathOf('script.sh')).mode & 0o111) !== 0
  if (side === 'undone') return isExecutable ? '**not restored**' : 'restored'
  return isExecutable ? 'back' : '**not back**'
}

function contentOf(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : readFileSync(path, 'utf8')
}

// ---- the page ----------------------------------------------------------------------------------------------------------

function page(runs: readonly Run[], small: number, large: number): string {
  const ofSmall = runs.filter(({ size }) => size === small)
  const titles = ofSmall.map(({ contender }) => contender.title)
  const whats = [...rows.map(({ what }) => what)]
  const { opencode, 'claude-code': claude } = pinned
  return `# Side by side with the agents' own undo

Written by \`npm run compare\` (\`scripts/compare.ts\`): real agents (${opencode.title} ${opencode.version}, ${claude.title} ${claude.version}), a scripted model on loopback, the same scene on the same files for everybody. Node ${process.versions.node}, ${availableParallelism()} cores, ${process.platform} ${process.arch}.

In one turn the agent edits two files with its edit tool, makes one with its write tool, runs a shell command that appends, deletes, renames, writes an ignored file and changes a mode, and sends off a subagent that makes a file. The user makes a file meanwhile, and afterwards changes another one, and a line in a file that the agent has edited elsewhere. Then the turn is taken back.

Restored: as it was before the turn; what was not there is gone. Back: as the agent had made it. Kept: what the user wrote is there.

## After the undo (${small.toLocaleString('en')} files)

${table(
  ['', ...titles],
  [...whats, modeRow].map((what, at) => [what, ...ofSmall.map((run) => run.undone[at] ?? '')]),
)}

## After the redo

The user has changed one more file in between. OpenCode's redo is its unrevert; Claude Code has none.

${table(
  ['', ...titles],
  [...whats, meanwhile.what, modeRow].map((what, at) => [what, ...ofSmall.map((run) => afterRedo(run, at))]),
)}

## Time

In seconds. Undo and redo: the best of ${cycles} (Claude Code’s rewind cannot be repeated: one). The turn and the prompt after it all: one run each, as a user feels them, with the hooks of Unturn or with the agent's own snapshots; other work on the machine makes them longer.

${[small, large]
  .filter((size) => runs.some((run) => run.size === size))
  .map((size) =>
    timesOf(
      runs.filter((run) => run.size === size),
      size,
    ),
  )
  .join('\n\n')}

## What this does not show

- OpenCode's revert is a request to its running server; Unturn's undo is a command, and the time has the start of its process in it. Claude Code's rewind can be driven without a terminal only as a process of its own (\`claude -p --resume ID --rewind-files MESSAGE\`, with CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING set): its time is mostly the start of that process. \`/rewind\` in its terminal was not driven.
- Unturn ran without its server here (UNTURN_SERVER=0): each hook looks at all files by itself, which is what makes the turn longer in the large repository.
- OpenCode's revert also takes the conversation back, and so can Claude Code's in its terminal. Unturn leaves the conversation as it is, and tells the agent with the next prompt what was taken back.
- Unturn captures an ignored file only where a tool names it, where it was captured before, or where it is protected; \`.env*\` is by default. Any other ignored file that a shell command changes stays as the command left it, and is not listed above.
`
}

function timesOf(runs: readonly Run[], size: number): string {
  const seconds = (ms: number | undefined) =>
    ms === undefined ? '—' : (ms / 1_000).toFixed(ms < 9_950 ? 2 : 0)
  const cells = runs.map(({ contender, turnMs, undoMs, redoMs, nextMs }) => [
    contender.title,
    seconds(turnMs),
    seconds(undoMs),
    seconds(redoMs),
    seconds(nextMs),
  ])
  return `${size.toLocaleString('en')} files:\n\n${table(['', 'the turn', 'undo', 'redo', 'the next prompt'], cells)}`
}

function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}

// ---- all of it ---------------------------------------------------------------------------------------------------------

const { values } = parseArgs({ options: { small: { type: 'boolean' } } })
const small = 200
const large = 20_000

for (const agent of ['opencode', 'claude-code'] as const) {
  const why = await install(agent, 600_000)
  if (why !== undefined) throw new Error(`${pinned[agent].title} cannot be compared with, because ${why}`)
}
const runs: Run[] = []
for (const size of values.small === true ? [small] : [small, large])
  for (const contender of contenders) {
    const run = await compete(contender, size)
    console.error(`${contender.title}, ${size} files: undo ${Math.round(run.undoMs)} ms`)
    runs.push(run)
  }
const written = page(runs, small, large)
if (values.small === true) console.log(written)
else writeFileSync(fileURLToPath(new URL('../docs/compared.md', import.meta.url)), written)
