/** Words for people: the same things that `--json` has, to be read at a glance. */

import type { Conflict, FileOutcome, NotUndone, Outcome, RelPath, Skipped, UnturnError } from '@unturn/core'
import { conflictJson, shown, visible } from '@unturn/core'
import type { Terminal } from './terminal.ts'

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export function size(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return unit === 0
    ? counted(bytes, 'byte')
    : `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

export function ago(thenMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - thenMs) / 1000))
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${counted(Math.floor(seconds / 86_400), 'day')} ago`
}

/** A prompt in one line, cut to fit. */
export function oneLine(text: string | undefined, width: number): string {
  if (text === undefined || text === '') return ''
  const line = visible(text.replace(/\s+/g, ' ').trim())
  return line.length <= width ? line : `${line.slice(0, Math.max(1, width - 1))}…`
}

const verbs: Readonly<Record<FileOutcome['action'], string>> = {
  write: 'wrote',
  delete: 'deleted',
  rename: 'renamed',
  mode: 'mode of',
}

const plannedVerbs: Readonly<Record<FileOutcome['action'], string>> = {
  write: 'write',
  delete: 'delete',
  rename: 'rename',
  mode: 'set mode of',
}

const mostFiles = 40

export function fileLines(outcome: Pick<Outcome, 'kind' | 'files'>, terminal: Terminal): readonly string[] {
  const words = outcome.kind === 'planned' ? plannedVerbs : verbs
  const renamedAway = new Set(outcome.files.flatMap((file) => (file.from === undefined ? [] : [file.from])))
  const told = outcome.files.filter((file) => !(file.action === 'delete' && renamedAway.has(file.path)))
  const lines = told.slice(0, mostFiles).map((file) => fileLine(file, words, terminal))
  if (told.length > mostFiles) lines.push(`  … and ${counted(told.length - mostFiles, 'more file')}`)
  return lines
}

function fileLine(file: FileOutcome, words: typeof verbs, terminal: Terminal): string {
  const name = file.from === undefined ? shown(file.path) : `${shown(file.from)} → ${shown(file.path)}`
  const note = file.merged ? terminal.style('dim', '  (your later edits are kept)') : ''
  const colour = file.action === 'delete' ? 'red' : file.action === 'write' ? 'green' : 'yellow'
  return `  ${terminal.style(colour, words[file.action].padEnd(8))} ${name}${note}`
}

export function notUndoneLines(
  { commands, commits, skipped, branch }: NotUndone,
  terminal: Terminal,
): readonly string[] {
  const lines = [
    ...commands.map((command) => `  ran          ${oneLine(command, terminal.width - 16)}`),
    ...commits.map(
      (commit) => `  committed    ${commit.id.slice(0, 10)} ${oneLine(commit.subject, terminal.width - 28)}`,
    ),
    ...(branch === undefined
      ? []
      : [`  switched     from ${headWords(branch.from)} to ${headWords(branch.to)}`]),
    ...skipped.map((one) => `  not captured ${skippedWords(one)}`),
  ]
  return lines.length === 0 ? [] : [terminal.style('yellow', 'Not taken back:'), ...lines]
}

export function skippedWords(skipped: Skipped): string {
  const why: Readonly<Record<Skipped['reason'], string>> = {
    ignored: 'ignored',
    'too-large': skipped.reason === 'too-large' ? `too large, ${size(skipped.size)}` : 'too large',
    unreadable: 'unreadable',
    special: 'a special file',
    'nested-git': "another repository's .git",
    purged: 'purged from the history',
  }
  return `${shown(skipped.path)} (${why[skipped.reason]})`
}

export function branchLine(outcome: Outcome): string | undefined {
  const { git } = outcome
  if (git === undefined) return undefined
  return git.moved
    ? `The branch ${shortRef(git.branch)} is back at ${git.to.slice(0, 10)} (was ${git.from.slice(0, 10)}).`
    : `The branch was not moved: ${git.reason}.`
}

function headWords(ref: string | null): string {
  return ref === null ? 'a detached HEAD' : shortRef(ref)
}

function shortRef(ref: string): string {
  return visible(ref.replace(/^refs\/heads\//, ''))
}

// ---- conflicts -----------------------------------------------------------------------------------------------------

/** Both sides of each conflict, where the error is one about conflicts. */
export function conflictLines(error: UnturnError, terminal: Terminal): readonly string[] {
  if (error.code !== 'conflicts') return []
  const { conflicts, decision } = error.data as {
    readonly conflicts: readonly ConflictText[]
    readonly decision?: unknown
  }
  const theirs = decision === 'accept' ? 'new' : 'old'
  return conflicts.flatMap((conflict) => oneConflict(conflict, terminal, theirs))
}

/** The same for a decision that went ahead. */
export function conflictsOf(
  { conflicts }: Pick<Outcome, 'conflicts'>,
  verb: 'accept' | 'reject',
  terminal: Terminal,
): readonly string[] {
  return conflicts.flatMap((conflict) =>
    oneConflict({ ...conflictJson(conflict) }, terminal, verb === 'accept' ? 'new' : 'old'),
  )
}

type ConflictText = Pick<Conflict, 'kind' | 'ours' | 'theirs' | 'message'> & { readonly path: string }

export function oneConflict(
  conflict: ConflictText,
  terminal: Terminal,
  theirs: 'old' | 'new' = 'old',
): readonly string[] {
  return [
    `  ${terminal.style('bold', visible(conflict.path))}: ${visible(conflict.message)}`,
    ...side('now', conflict.ours, terminal.style('green', '│'), terminal),
    ...side(theirs, conflict.theirs, terminal.style('red', '│'), terminal),
  ]
}

const mostSideLines = 6

function side(name: string, text: string | null, bar: string, terminal: Terminal): readonly string[] {
  if (text === null) return [`    ${name} ${bar} ${terminal.style('dim', '(nothing)')}`]
  const lines = text.replace(/\n$/, '').split('\n')
  const cut =
    lines.length > mostSideLines
      ? [...lines.slice(0, mostSideLines), `… ${counted(lines.length - mostSideLines, 'more line')}`]
      : lines
  return cut.map(
    (line, at) => `    ${at === 0 ? name : '   '} ${bar} ${visible(line).slice(0, terminal.width)}`,
  )
}

export function pathText(path: RelPath): string {
  return shown(path)
}
