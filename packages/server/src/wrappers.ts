/**
 * The session calls that agent wrappers know, with the same meaning: `revert` to before a message or a part of it,
 * `unrevert`, `diff`. Unlike the originals they keep what the user wrote meanwhile, and say so where that is not possible.
 */

import {
  conflictsError,
  type MoveResult,
  type OnConflict,
  resolveSession,
  type Session,
  type SessionId,
  snapshotAt,
  UnturnError,
} from '@unturn/core'
import type { Call } from './handlers.ts'
import type * as wire from './schemas.ts'
import type { Held, Workspaces } from './workspaces.ts'

export async function revertSession(
  workspaces: Workspaces,
  { params, query, body }: Call<'revertSession'>,
): Promise<wire.WrapperSession> {
  const { held, session } = await findSession(workspaces, params.session, query.workspace)
  const part = body.partID === undefined ? {} : { part: body.partID }
  const onConflict: { onConflict?: OnConflict } =
    body.onConflict === undefined ? {} : { onConflict: body.onConflict }
  refuseConflicts(await session.restoreToMessage(body.messageID, { ...part, ...onConflict }))
  return sessionAnswer(held, session)
}

export async function unrevertSession(
  workspaces: Workspaces,
  { params, query }: Call<'unrevertSession'>,
): Promise<wire.WrapperSession> {
  const { held, session } = await findSession(workspaces, params.session, query.workspace)
  refuseConflicts(await session.redo({ all: true }))
  return sessionAnswer(held, session)
}

export async function diffSession(
  workspaces: Workspaces,
  { params, query }: Call<'diffSession'>,
): Promise<wire.WrapperDiff> {
  const { held, session } = await findSession(workspaces, params.session, query.workspace)
  const { engine, index, snapshots } = held.workspace
  const hash = (at: string, side: 'before' | 'after') => {
    const { tree, attrs } = snapshotAt(engine, session.id, at, side)
    return `${tree}-${attrs}`
  }
  const first = index.firstOperationOf(session.id)
  if (first === undefined) return []
  const message = query.messageID === undefined ? undefined : turnOf(session, query.messageID)
  const files =
    message === undefined
      ? await snapshots.diffFull(hash(first.record.id, 'before'), hash('now', 'after'))
      : await snapshots.diffFull(hash(message, 'before'), hash(message, 'after'))
  const own = new Set((await session.diff()).map(({ path }) => path))
  return files
    .filter(({ path }) => message !== undefined || own.has(path))
    .map(({ path, status, before, after, additions, deletions }) => ({
      file: path,
      before,
      after,
      additions,
      deletions,
      status: status === 'renamed' ? ('modified' as const) : status,
    }))
}

function turnOf(session: Session, message: string): string {
  const turn = session.workspace.index.findTurnByMessage(session.id, message)
  if (turn === undefined) throw noSuchSession(message, 'message of this session')
  return turn.id
}

// A wrapper knows its session and no workspace. Ids of sessions are the agent's own, and practically unique.
async function findSession(
  workspaces: Workspaces,
  id: string,
  workspace: string | undefined,
): Promise<{ readonly held: Held; readonly session: Session }> {
  const candidates = workspace === undefined ? workspaces.list().map((one) => one.id) : [workspace]
  const found: Held[] = []
  for (const candidate of candidates) {
    const held = await workspaces.open(candidate).catch((error: unknown) => {
      if (workspace !== undefined) throw error
      return undefined // the project may be gone by now: its sessions cannot be meant
    })
    await held?.workspace.catchUp()
    if (held?.workspace.index.findSession(id as SessionId) !== undefined) found.push(held)
  }
  const [held, another] = found
  if (held === undefined) throw noSuchSession(id, 'session')
  if (another !== undefined) throw severalSessions(id, found)
  const session = resolveSession(held.workspace.engine, id)
  const agent = held.workspace.index.findSession(session)?.agent ?? 'agent'
  return { held, session: held.workspace.session(session, { agent }) }
}

function sessionAnswer(held: Held, session: Session): wire.WrapperSession {
  const { index } = held.workspace
  const row = index.findSession(session.id)
  const first = index.firstOperationOf(session.id)
  const last = row === undefined ? undefined : index.operationAt(row.lastSeq)
  const revert = boundaryOf(session)
  return {
    id: session.id,
    workspace: held.id,
    agent: row?.agent ?? '',
    time: { created: first?.record.atMs ?? 0, updated: last?.record.atMs ?? 0 },
    ...(revert === undefined ? {} : { revert }),
  }
}

/** The first message that is out, as the wrapper's transcript counts: what comes behind it is hidden. */
function boundaryOf(session: Session): wire.WrapperSession['revert'] | undefined {
  const { message, part, before } = session.head()
  if (before !== undefined && message !== undefined)
    return part === undefined ? { messageID: message } : { messageID: message, partID: part }
  const head = session.head().turn
  const next = session.turns().findLast((turn) => turn.isReverted && turn.parent === head)
  return next?.message === undefined ? undefined : { messageID: next.message }
}

function refuseConflicts(result: MoveResult): void {
  if (result.kind !== 'conflicts') return
  const { conflicts, op: _op, ...rest } = result
  throw conflictsError(conflicts, rest)
}

function noSuchSession(id: string, what: string): UnturnError {
  return new UnturnError(
    'unknown-id',
    { id },
    {
      message: `There is no ${what} ${JSON.stringify(id)} in any workspace. Nothing was changed.`,
      hint: 'Check the id. A session exists from its first recorded turn on.',
    },
  )
}

function severalSessions(id: string, found: readonly Held[]): UnturnError {
  const candidates = found.map((held) => held.id)
  return new UnturnError(
    'ambiguous-id',
    { id, candidates },
    {
      message: `Several workspaces have a session ${JSON.stringify(id)}: ${candidates.join(', ')}. Nothing was changed.`,
      hint: 'Name the workspace: ?workspace=ID',
    },
  )
}
