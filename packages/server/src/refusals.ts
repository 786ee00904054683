/** Answers to requests that never reach the engine, in the words and the shape that failures have everywhere. */

import { errorJson, type FailureCode, type UnturnError } from '@unturn/core'

export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly hint: string
  readonly data?: unknown
}

export function refused({ status, code, message, hint, data }: Refusal): Response {
  return answer(status, { error: { code, message, hint, data: data ?? {} } })
}

/** What went wrong in the engine. */
export function failed(error: UnturnError): Response {
  return answer(statuses[error.code], errorJson(error))
}

export function answer(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  })
}

// Every code has one: a new code of the engine's does not compile until somebody has thought about it.
const statuses: Readonly<Record<FailureCode, number>> = {
  'bad-path': 400,
  'bad-usage': 400,
  'not-a-workspace': 404,
  'workspace-refused': 403,
  'workspace-unreadable': 500,
  'unknown-id': 404,
  'ambiguous-id': 409,
  'store-unsafe': 500,
  'store-unwritable': 500,
  'store-newer': 500,
  'store-busy': 503,
  'store-damaged': 500,
  'snapshot-damaged': 500,
  'record-unreadable': 500,
  'disk-failed': 500,
  'disk-full': 507,
  'apply-failed': 500,
  'journal-damaged': 500,
  'git-missing': 500,
  'git-failed': 500,
  conflicts: 409,
  'nothing-to-undo': 409,
  'nothing-to-redo': 409,
  'nothing-to-roll-back': 409,
  'nothing-to-review': 409,
  'hunk-gone': 409,
  'plan-stale': 409,
  'turn-running': 409,
  internal: 500,
}
