/** SQLite, as Node brings it along: no native package to install, and the OS frees its locks when a process dies. */

import type { DatabaseSync } from 'node:sqlite'

export type { DatabaseSync, StatementSync } from 'node:sqlite'

let module: typeof import('node:sqlite') | undefined

export function openDatabase(path: string): DatabaseSync {
  module ??= loadQuietly()
  return new module.DatabaseSync(path)
}

// Node 22 prints "SQLite is an experimental feature" on loading it, into the middle of a person's terminal.
function loadQuietly(): typeof import('node:sqlite') {
  const emitWarning = process.emitWarning
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}

/** SQLite's own number for what went wrong, if the error is SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined
}

export const sqliteBusy = 5
const sqliteCorrupt = 11
const sqliteCannotOpen = 14
const sqliteNotADatabase = 26

export function isDamaged(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === sqliteCorrupt || code === sqliteNotADatabase
}

export function cannotOpen(error: unknown): boolean {
  return sqliteCode(error) === sqliteCannotOpen
}
