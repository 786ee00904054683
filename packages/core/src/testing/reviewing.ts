/** Words for tests of the review: what is pending, and deciding on it. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { HunkSelection } from '../review/choose.ts'
import type { Hunk } from '../review/pending.ts'
import type { Decided, DecideWish } from '../review/standing.ts'
import type { RelPath, SessionId, TurnId } from '../values.ts'
import type { Fixture } from './workspace.ts'

export const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('')

export const ten = lines('1', '2', '3', '4', '5', '6', '7', '8', '9', '10')

export const at = (path: string): RelPath => path as RelPath

/** The text with some of its lines replaced. */
export function edited(text: string, changes: Readonly<Record<string, string>>): string {
  return text.replace(/^.*$/gm, (line) => changes[line] ?? line)
}

export async function hunks(w: Fixture, session: SessionId = w.session): Promise<readonly Hunk[]> {
  return (await w.workspace.review(session)).files.flatMap((file) => file.hunks)
}

export async function ids(w: Fixture, session: SessionId = w.session): Promise<readonly string[]> {
  return (await hunks(w, session)).map(({ id }) => id)
}

/** Every hunk in words: kind, path, what it takes out and puts in. */
export async function pending(w: Fixture, session: SessionId = w.session): Promise<readonly string[]> {
  const { files } = await w.workspace.review(session)
  return files.flatMap(({ old = [], fresh = [], hunks }) =>
    hunks.map(({ kind, path, edit, contested, from }) => {
      const text =
        edit === undefined
          ? ''
          : ` ${old.slice(edit.start, edit.end).join('')}>${fresh.slice(edit.from, edit.to).join('')}`
      return `${kind} ${from === undefined ? '' : `${from} `}${path}${text.replaceAll('\n', '·')}${contested ? ' (contested)' : ''}`
    }),
  )
}

export function accept(
  w: Fixture,
  selection: HunkSelection = {},
  more: Partial<DecideWish> = {},
): Promise<Decided> {
  return w.workspace.accept({ session: w.session, selection, ...more })
}

export function reject(
  w: Fixture,
  selection: HunkSelection = {},
  more: Partial<DecideWish> = {},
): Promise<Decided> {
  return w.workspace.reject({ session: w.session, selection, ...more })
}

export function propose(w: Fixture, turn: TurnId, path: string, text: string | null, group?: string) {
  const content = text === null ? null : Buffer.from(text, 'latin1')
  return w.workspace.propose({ turn, path: at(path), content, ...(group === undefined ? {} : { group }) })
}

/** A turn that offers these texts. */
export async function offer(w: Fixture, files: Readonly<Record<string, string | null>>): Promise<TurnId> {
  const turn = await w.beginTurn('Offer')
  for (const [path, text] of Object.entries(files)) await propose(w, turn, path, text)
  await w.workspace.endTurn(turn)
  return turn
}

/** As if the index had been lost: everything that is known is in the log. */
export async function withoutIndex(w: Fixture): Promise<void> {
  const { folder } = w.workspace.engine.folders
  await w.close()
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `index.db${end}`), { force: true })
  await w.open()
}
