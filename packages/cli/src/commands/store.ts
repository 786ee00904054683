/** `store`, `gc`, `pin`, `unpin`, `purge`, `doctor`: the folder that holds the history. */

import { constants, setPriority } from 'node:os'
import { resolve } from 'node:path'
import {
  adoptHistory,
  bytesPath,
  type Limits,
  type Purged,
  type RelPath,
  type RetentionPlan,
  resolveSession,
  type SessionSize,
  shown,
  statusOf,
  textOfBytes,
  visible,
  type Workspace,
  workspaceAt,
} from '@unturn/core'
import { type Command, type Context, noSession, UsageError } from '../command.ts'
import { parseAge, parseNumber, parseSize } from '../limits.ts'
import { nothingHere } from '../nothing-here.ts'
import { ago, counted, size } from '../words.ts'
import { agentReport } from './doctor-agents.ts'
import { typedPaths } from './recording.ts'

export const storeCommand: Command = {
  name: 'store',
  group: 'Store',
  usage: 'store [--adopt OLD]',
  summary: 'where the history is and how large, by session',
  details:
    'The size of a session is what leaves the disk with it once all sessions listed below it have gone, which is the\norder in which gc drops them. Bytes that several sessions have are kept once, and count for the one that stays longest.',
  options: [
    { name: 'adopt', value: 'OLD', help: 'this folder was moved: take over the history of where it was' },
  ],
  run: async (context) => {
    const { terminal } = context
    const old = context.args.get('adopt')
    if (old !== undefined) return await adopt(context, old)
    const workspace = await context.knownWorkspace()
    if (workspace !== undefined) tellStore(context, workspace)
    else if (!context.wantsJson) for (const line of nothingHere(context)) terminal.line(line)
    else
      terminal.json({
        folder: null,
        bytes: 0,
        borrowedBytes: 0,
        diskBytes: 0,
        packs: 0,
        sessions: [],
        operations: 0,
      })
    return 0
  },
}

async function adopt(context: Context, typed: string): Promise<number> {
  const { root } = workspaceAt(context.folder, { explicit: context.args.has('C') })
  const from = bytesPath(resolve(context.folder, typed))
  const store = await adoptHistory(root, from)
  if (context.wantsJson)
    context.terminal.json({
      folder: textOfBytes(store),
      workspace: textOfBytes(root),
      adopted: textOfBytes(from),
    })
  else context.terminal.line(`The history of ${shown(from)} is that of ${shown(root)} now.`)
  return 0
}

function tellStore({ wantsJson, terminal }: Context, workspace: Workspace): void {
  const { store, operations } = statusOf(workspace.engine)
  const { folder } = workspace.engine.folders
  const sessions = workspace.sessionSizes()
  const diskBytes = workspace.bytesOnDisk()
  if (wantsJson)
    return terminal.json({
      folder: textOfBytes(folder),
      ...store,
      diskBytes,
      sessions: sessions.map(sessionJson),
      operations,
    })
  terminal.line(shown(folder))
  terminal.line(
    `${size(diskBytes)} on disk: ${counted(operations, 'operation')} of ${counted(sessions.length, 'session')} in ${counted(store.packs, 'pack')}`,
  )
  if (store.borrowedBytes > 0)
    terminal.line(`${size(store.borrowedBytes)} more are shared with your git repository`)
  for (const one of sessions) terminal.line(sessionLine(one))
}

function sessionJson({ lastMs, ...rest }: SessionSize) {
  return { ...rest, lastAt: new Date(lastMs).toISOString() }
}

function sessionLine(one: SessionSize): string {
  const marks = [...(one.pinned ? ['pinned'] : []), ...(one.active ? ['active'] : [])]
  const notes = [counted(one.turns, 'turn'), ago(one.lastMs, Date.now()), ...marks].join(', ')
  return `  ${size(one.bytes).padStart(10)}  ${shown(one.session)}  ${notes}`
}

// ---- gc --------------------------------------------------------------------------------------------------------------

export const gcCommand: Command = {
  name: 'gc',
  group: 'Store',
  usage: 'gc [--keep-sessions N] [--max-age AGE] [--max-size SIZE] [--dry-run]',
  summary: 'drop old sessions and pack the rest tightly',
  details:
    'Drops the oldest sessions beyond 30, those not used for 30 days, and as many as it takes to fit 2 GiB; never a pinned\none, one with a running turn, or the one last active. Runs by itself after a turn about once a day; UNTURN_AUTO_GC=0\nturns that off.',
  options: [
    { name: 'keep-sessions', value: 'N', help: 'how many sessions may stay (default: 30)' },
    {
      name: 'max-age',
      value: 'AGE',
      help: 'how long ago a session may have been used, as 12h or 30d (default: 30d)',
    },
    {
      name: 'max-size',
      value: 'SIZE',
      help: 'how large the history may be, as 500M or 2GiB (default: 2GiB)',
    },
    { name: 'dry-run', help: 'say what would go; nothing goes' },
    { name: 'if-due', help: 'only when it is time again' },
  ],
  run: async (context) => {
    const limits = typedLimits(context)
    const workspace = await context.knownWorkspace()
    const isDryRun = context.args.has('dry-run')
    const isDue = !context.args.has('if-due') || workspace?.isGcDue === true
    if (workspace === undefined || !isDue)
      return tellGc(context, { sessions: [], userOperations: 0 }, isDryRun ? undefined : nothing)
    if (context.args.has('if-due')) beQuiet()
    if (isDryRun) {
      const { sessions, userOperations } = await workspace.planGc(limits)
      return tellGc(context, { sessions, userOperations: userOperations.length }, undefined)
    }
    const { dropped, userOperations, ...packed } = await workspace.gc(limits)
    return tellGc(context, { sessions: dropped, userOperations }, packed)
  },
}

const nothing = { bytesBefore: 0, bytesAfter: 0 }

function typedLimits({ args }: Context): Partial<Limits> {
  const keep = args.get('keep-sessions')
  const age = args.get('max-age')
  const bytes = args.get('max-size')
  return {
    ...(keep === undefined ? {} : { keepSessions: parseNumber(keep, 'keep-sessions') }),
    ...(age === undefined ? {} : { maxAgeMs: parseAge(age) }),
    ...(bytes === undefined ? {} : { maxBytes: parseSize(bytes) }),
  }
}

// Nobody waits for it, and somebody works beside it.
function beQuiet(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // a wish, no more: some systems do not let a process step back
  }
}

function tellGc(
  { wantsJson, terminal, args }: Context,
  gone: { readonly sessions: RetentionPlan['sessions']; readonly userOperations: number },
  packed: typeof nothing | undefined,
): number {
  if (wantsJson) {
    const dropped = gone.sessions.map(({ facts, because }) => ({
      session: facts.session,
      because,
      turns: facts.turns,
      operations: facts.operations,
      lastAt: new Date(facts.lastMs).toISOString(),
    }))
    const { userOperations } = gone
    terminal.json({ dryRun: args.has('dry-run'), dropped, userOperations, ...(packed ?? {}) })
    return 0
  }
  const verb = packed === undefined ? 'Would drop' : 'Dropped'
  for (const { facts, because } of gone.sessions)
    terminal.line(
      `${verb} ${shown(facts.session)}: ${counted(facts.turns, 'turn')}, last used ${ago(facts.lastMs, Date.now())} (${because})`,
    )
  if (gone.userOperations > 0)
    terminal.line(`${verb} ${counted(gone.userOperations, 'capture')} of your own from that time`)
  if (packed !== undefined)
    terminal.line(`Packed ${size(packed.bytesBefore)} into ${size(packed.bytesAfter)}.`)
  else if (gone.sessions.length === 0) terminal.line('Nothing would be dropped.')
  return 0
}

// ---- pins --------------------------------------------------------------------------------------------------------------

export const pinCommand: Command = {
  name: 'pin',
  group: 'Store',
  usage: 'pin SESSION',
  summary: 'keep a session: gc leaves it alone',
  options: [],
  words: 1,
  run: (context) => setPin(context, true),
}

export const unpinCommand: Command = {
  name: 'unpin',
  group: 'Store',
  usage: 'unpin SESSION',
  summary: 'let gc drop a session again when it is old',
  options: [],
  words: 1,
  run: (context) => setPin(context, false),
}

async function setPin(context: Context, pinned: boolean): Promise<number> {
  const typed = context.args.words[0] ?? context.args.get('session')
  if (typed === undefined) throw new UsageError('name the session; "unturn store" lists them')
  const workspace = await context.knownWorkspace()
  if (workspace === undefined) throw noSession()
  const session = resolveSession(workspace.engine, typed)
  await (pinned ? workspace.pin(session) : workspace.unpin(session))
  if (context.wantsJson) context.terminal.json({ session, pinned })
  else if (pinned) context.terminal.line(`Session ${visible(session)} is pinned: gc leaves it alone.`)
  else context.terminal.line(`Session ${visible(session)} is no longer pinned.`)
  return 0
}

// ---- purge -------------------------------------------------------------------------------------------------------------

export const purgeCommand: Command = {
  name: 'purge',
  group: 'Store',
  usage: 'purge PATH…',
  summary: 'remove files or folders from all history, and prove that they are gone',
  details:
    'Every snapshot loses the path; turns that touched it can still be undone, and list it as purged. The file on disk is\nnot touched, nor is your own git history. What else may tell of it stays: its name, prompts, and commands that ran.',
  options: [],
  words: Number.POSITIVE_INFINITY,
  run: async (context) => {
    const { words } = context.args
    if (words.length === 0) throw new UsageError('name at least one file or folder')
    const workspace = await context.knownWorkspace()
    if (workspace === undefined) throw noSession()
    const paths = typedPaths(context, workspace, words)
    tellPurge(context, paths, await workspace.purge(paths))
    return 0
  },
}

function tellPurge({ wantsJson, terminal }: Context, paths: readonly RelPath[], purged: Purged): void {
  const { operations, versions, proof, bytesBefore, bytesAfter } = purged
  const stay = [...new Set(proof.stay.values())]
  if (wantsJson)
    return terminal.json({
      paths: paths.map(textOfBytes),
      operations,
      versions,
      stay: stay.map(textOfBytes),
      objects: proof.objects,
      bytesBefore,
      bytesAfter,
    })
  const names = paths.map(shown).join(', ')
  if (operations === 0) terminal.line(`No snapshot has ${names}`)
  else
    terminal.line(
      `Removed ${names} from ${counted(operations, 'operation')}: ${counted(versions, 'version')} of it.`,
    )
  terminal.line(
    `Proved: each of the ${counted(proof.objects, 'object')} in the store is named by an operation, and none names it.`,
  )
  for (const path of stay) terminal.line(`The same bytes are also in ${shown(path)}, and stay there`)
  terminal.line('The file on disk is untouched, and so is your own git history.')
  terminal.line(
    'If it is still there, the next capture takes it in again, unless your ignore rules exclude it (.env files are captured all the same).',
  )
}

export const doctorCommand: Command = {
  name: 'doctor',
  group: 'Store',
  usage: 'doctor [--repair]',
  summary: 'check every object that the history names, and the agents’ hooks',
  options: [{ name: 'repair', help: 'rebuild the index and write lost refs again' }],
  run: async (context) => {
    const workspace = await context.knownWorkspace({ asFound: true })
    const findings =
      workspace === undefined ? [] : await workspace.doctor({ repair: context.args.has('repair') })
    const isWell = !findings.some((finding) => finding.severity === 'error')
    const { terminal } = context
    const agents = await agentReport(context)
    if (context.wantsJson) terminal.json({ ok: isWell, findings, ...agents.json })
    else {
      for (const line of agents.lines) terminal.line(line)
      for (const { severity, what, operation } of findings) {
        const colour = severity === 'error' ? 'red' : severity === 'warning' ? 'yellow' : 'green'
        terminal.line(
          `${terminal.style(colour, severity)}  ${what}${operation === undefined ? '' : ` (operation ${operation})`}`,
        )
      }
      terminal.line(
        isWell
          ? 'All is well: every object that the history names is there and whole.'
          : 'Something is damaged. No file was changed. Turns that do not need the damaged parts can still be undone.',
      )
    }
    return isWell ? 0 : 1
  },
}
