/**
 * What an agent must know of what was done to its work. One that does not know will write it again, or edit text that is
 * gone. Paths and what happened to them; no contents, no prompts.
 */

import {
  type Operation,
  type OperationRecord,
  type RelPath,
  shown,
  type TurnId,
  visible,
  type Workspace,
} from '@unturn/core'
import type { Memory } from './memory.ts'

/** One operation on the agent's work, with the files it changed. */
export interface Deed {
  readonly record: OperationRecord
  readonly files: readonly { readonly path: RelPath; readonly now: 'changed' | 'removed' | 'back' }[]
}

export interface Found {
  readonly text?: string
  /** By workspace: told up to this operation. */
  readonly upTo: Readonly<Record<string, number>>
}

export async function noticeOf(
  memory: Memory,
  workspaceOf: (root: string) => Promise<Workspace>,
): Promise<Found> {
  const upTo: Record<string, number> = {}
  const texts: string[] = []
  for (const root of memory.roots) {
    const workspace = await workspaceOf(root)
    const deeds = deedsSince(workspace, memory.session, memory.told[root] ?? 0)
    upTo[root] = workspace.index.lastSeq()
    const text = wordsFor(deeds, root === memory.home ? undefined : root)
    if (text !== undefined) texts.push(text)
  }
  return texts.length === 0 ? { upTo } : { text: texts.join('\n\n'), upTo }
}

/** What was done to the files of this session since then, oldest first. */
export function deedsSince(workspace: Workspace, session: string, seq: number): readonly Deed[] {
  const { index } = workspace
  return index
    .operationsSince(seq)
    .filter((operation) => concerns(workspace, operation, session))
    .map(({ record }) => ({
      record,
      files: index.changesOfOperation(record.seq).flatMap(({ path, kind, from }) => {
        const now = kind === 'delete' ? 'removed' : kind === 'add' ? 'back' : 'changed'
        return from === undefined
          ? [{ path, now } as const]
          : [{ path: from, now: 'removed' } as const, { path, now: 'back' } as const]
      }),
    }))
}

function concerns(workspace: Workspace, { record }: Operation, session: string): boolean {
  switch (record.kind) {
    case 'undo':
    case 'redo':
    case 'restore':
      return record.session === session || record.exact
    case 'reject':
      return record.session === session
    case 'rollback':
      return (
        record.session === session ||
        record.stages.some(({ ops }) =>
          ops.some((op) => workspace.index.findOperation(op)?.record.session === session),
        )
      )
    default:
      return false
  }
}

const mostFiles = 30

/** `undefined`: there is nothing to tell, or it cancels out. */
export function wordsFor(deeds: readonly Deed[], elsewhere?: string): string | undefined {
  const happened = sentences(deeds)
  if (happened.length === 0) return undefined
  const files = new Map(deeds.flatMap((deed) => deed.files).map(({ path, now }) => [path, now]))
  const place = elsewhere === undefined ? '' : ` In ${visible(elsewhere)}:`
  return [
    `Note from Unturn, the user's undo.${place} Since your last turn ${happened.join('; ')}.`,
    ...fileLines(files),
    ...comments(deeds),
    happened.some((sentence) => sentence.includes(' back in'))
      ? 'Read a file again before you edit it.'
      : 'Read a file again before you edit it, and do not bring back what was taken out unless you are asked to.',
  ].join('\n')
}

function sentences(deeds: readonly Deed[]): readonly string[] {
  const { out, back } = netTurns(deeds)
  const rollbacks = deeds.flatMap(({ record }) => (record.kind === 'rollback' ? record.stages : []))
  const rolledBack = rollbacks.some(({ way }) => way === 'out')
  const rolledIn = rollbacks.some(({ way }) => way === 'in')
  const rejected = deeds.flatMap(({ record }) => (record.kind === 'reject' ? record.decisions : [])).length
  const exact = deeds.some(({ record }) => 'exact' in record && record.exact)
  return [
    ...(out > 0 ? [`the user took back ${counted(out, 'turn')} of yours`] : []),
    ...(back > 0 ? [`the user put ${counted(back, 'turn')} of yours back in`] : []),
    ...(rolledBack ? ['the user took back single changes of yours'] : []),
    ...(rolledIn ? ['the user put changes of yours back in that had been taken out'] : []),
    ...(rejected > 0 ? [`the user rejected ${counted(rejected, 'block')} that you had changed`] : []),
    ...(exact ? ['the user set all files back to an earlier state'] : []),
  ]
}

// An undo and the redo of it leave everything as the agent knows it.
function netTurns(deeds: readonly Deed[]): { readonly out: number; readonly back: number } {
  const net = new Map<TurnId | null, number>()
  for (const { record } of deeds) {
    if (record.kind !== 'undo' && record.kind !== 'redo' && record.kind !== 'restore') continue
    for (const turn of new Set(record.stages.map((stage) => stage.turn))) {
      const way = record.stages.find((stage) => stage.turn === turn)?.way === 'in' ? 1 : -1
      net.set(turn, (net.get(turn) ?? 0) + way)
    }
  }
  const values = [...net.values()]
  return { out: values.filter((value) => value < 0).length, back: values.filter((value) => value > 0).length }
}

const fileWords = {
  changed: 'changed',
  removed: 'is no longer there',
  back: 'is there again',
} as const

function fileLines(files: ReadonlyMap<RelPath, keyof typeof fileWords>): readonly string[] {
  const lines = [...files].slice(0, mostFiles).map(([path, now]) => `- ${shown(path)}: ${fileWords[now]}`)
  if (files.size === 0) return ['No file was changed by that.']
  return files.size > mostFiles ? [...lines, `- and ${counted(files.size - mostFiles, 'more file')}`] : lines
}

function comments(deeds: readonly Deed[]): readonly string[] {
  return deeds.flatMap(({ record }) =>
    record.kind !== 'reject'
      ? []
      : record.decisions.flatMap(({ path, comment }) =>
          comment === undefined || comment === ''
            ? []
            : [`The user says about ${shown(path)}: ${visible(comment)}`],
        ),
  )
}

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`
}
