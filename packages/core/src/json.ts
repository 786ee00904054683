/** The JSON of the command line's contract. Every face prints these, so no face translates anything. */

import { textOfBytes, UnturnError } from './errors.ts'
import { failureOf } from './failures.ts'
import type { Conflict, FileOutcome, Outcome } from './history/outcome.ts'
import { optional } from './log/record.ts'
import type { ChangeRow } from './log/rows.ts'
import type { Skipped } from './values.ts'

export function changeJson(change: ChangeRow) {
  return {
    id: change.id,
    path: textOfBytes(change.path),
    kind: change.kind,
    ...optional('from', change.from === undefined ? undefined : textOfBytes(change.from)),
    additions: change.additions,
    deletions: change.deletions,
    binary: change.binary,
    certainty: change.certainty,
    actor: change.actor,
    ...optional('agentId', change.agentId),
    session: change.session ?? null,
    turn: change.turn ?? null,
    step: change.step ?? null,
    at: new Date(change.atMs).toISOString(),
  }
}

export function skippedJson(skipped: Skipped) {
  return { ...skipped, path: textOfBytes(skipped.path) }
}

export function conflictJson({ path, kind, ours, theirs, message, later, versions }: Conflict) {
  return { path: textOfBytes(path), kind, ours, theirs, message, later, ...optional('versions', versions) }
}

export function fileJson({ path, action, from, merged }: FileOutcome) {
  return {
    path: textOfBytes(path),
    action,
    ...optional('from', from === undefined ? undefined : textOfBytes(from)),
    merged,
  }
}

export function outcomeJson(outcome: Outcome) {
  const { notUndone } = outcome
  return {
    op: outcome.op ?? null,
    head: outcome.head,
    files: outcome.files.map(fileJson),
    conflicts: outcome.conflicts.map(conflictJson),
    reverted: outcome.reverted,
    ...(outcome.redone.length > 0 ? { redone: outcome.redone } : {}),
    ...optional('prompt', outcome.prompt),
    notUndone: {
      commands: notUndone.commands,
      commits: notUndone.commits,
      skipped: notUndone.skipped.map(skippedJson),
      ...optional('branch', notUndone.branch),
    },
    ...optional('git', outcome.git),
    ...optional('patch', outcome.patch),
  }
}

export function errorJson(error: UnturnError) {
  return { error: { code: error.code, message: error.message, hint: error.hint, data: error.data } }
}

/** Whatever was thrown, as an error with a code. */
export function asUnturnError(thrown: unknown): UnturnError {
  const failure = failureOf(thrown)
  if (failure !== undefined) return failure
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new UnturnError(
    'internal',
    {},
    {
      message: `Something went wrong inside Unturn: ${message}. What was captured is kept.`,
      hint: 'Run "unturn doctor". If it finds nothing, this is a bug: please report it with the output of the command under UNTURN_DEBUG=1.',
      cause: thrown,
    },
  )
}
