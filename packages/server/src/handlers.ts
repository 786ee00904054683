/** What each route does: the engine is asked, and its answer put into the words of the wire. */

import {
  bytesOfText,
  type ChangeRow,
  changeJson,
  type DecideWish,
  decisionJson,
  isFailure,
  lastActiveSession,
  listFilesAt,
  listFolderAt,
  type MoveOptions,
  type MoveResult,
  narrowedReview,
  nothingPending,
  type Operation,
  type PatchOptions,
  type Plan,
  patchBetween,
  patchOfOperations,
  type RelPath,
  type ReviewOptions,
  type ReviewResult,
  readFileAt,
  relPathFrom,
  resolveAny,
  resolveChange,
  resolveOperation,
  resolveSession,
  resolveStep,
  resolveTurn,
  reviewJson,
  type Session,
  type SessionId,
  sessionViewOf,
  skippedJson,
  snapshotAt,
  statusOf,
  type TurnView,
  turnViewOf,
  turnViews,
  UnturnError,
  type Workspace,
} from '@unturn/core'
import {
  blameAnswer,
  entryAnswer,
  fileAnswer,
  gcAnswer,
  missedAnswer,
  operationAnswer,
  plannedGcAnswer,
  purgeAnswer,
  sessionAnswer,
  sessionAnswers,
  sizeAnswer,
  statusAnswer,
  stepAnswer,
  treeTurnAnswer,
  turnAnswer,
  userEditAnswer,
} from './answers.ts'
import type { AnswerOf, ParamsOf, ParsedBody, ParsedQuery, RouteName } from './routes.ts'
import type * as wire from './schemas.ts'
import type { Held, Workspaces } from './workspaces.ts'
import { diffSession, revertSession, unrevertSession } from './wrappers.ts'

export interface Call<Name extends RouteName> {
  readonly params: ParamsOf<Name>
  readonly query: ParsedQuery<Name>
  readonly body: ParsedBody<Name>
}

export interface ServerFacts {
  readonly info: () => wire.ServerInfo
  /** The agents that could work in a folder. */
  readonly agents: (folder: string) => wire.AgentList | Promise<wire.AgentList>
  readonly stop: () => void
}

export type Handlers = {
  readonly [Name in RouteName]: (call: Call<Name>) => Promise<AnswerOf<Name>>
}

export function handlersOf(workspaces: Workspaces, server: ServerFacts): Handlers {
  /** Up to date: what other processes did meanwhile is part of the answer. */
  const current = async ({ params }: { readonly params: { readonly workspace: string } }): Promise<Held> => {
    const held = await workspaces.open(params.workspace)
    await held.workspace.catchUp()
    return held
  }

  return {
    readServer: async () => server.info(),
    stopServer: async () => {
      server.stop()
      return {}
    },
    listWorkspaces: async () => ({ workspaces: [...workspaces.list()] }),
    openWorkspace: async ({ body }) => {
      const held = await workspaces.openFolder(body.folder, body.explicit === true)
      const entry = workspaces.list().find(({ id }) => id === held.id)
      if (entry === undefined) throw new Error('a workspace that was just opened is known')
      return entry
    },

    readStatus: async (call) => statusAnswer(await current(call)),
    listSessions: async (call) => {
      const held = await current(call)
      const { sessions } = statusOf(held.workspace.engine)
      return { sessions: await sessionAnswers(held, sessions), eventId: held.events.lastId }
    },
    readTree: async (call) => readTree(await current(call), call.query),
    listTurns: async (call) => listTurns(await current(call), call.query),
    readTurn: async (call) => readTurn(await current(call), call.params.turn),
    listOperations: async (call) => listOperations(await current(call), call.query),
    listChanges: async (call) => listChanges(await current(call), call.query),
    show: async (call) => show(await current(call), call.params.id, call.query),
    diff: async (call) => diff(await current(call), call.query),
    blame: async (call) => {
      const { workspace } = await current(call)
      const path = pathIn(workspace, call.query.file)
      return blameAnswer(path, await workspace.blame(path, { lastKnown: true }))
    },
    listFiles: async (call) => listFiles(await current(call), call.query),
    readFile: async (call) => readFile(await current(call), call.query),

    beginTurn: async (call) => beginTurn(await current(call), call.body),
    endTurn: async (call) => {
      const held = await current(call)
      const { workspace } = held
      const turn = resolveTurn(workspace.engine, lastActiveSession(workspace), call.params.turn)
      const { changes, skipped } = await workspace.endTurn(turn, call.body.status)
      held.collectIfDue(workspaces.env)
      return { turn, changes: changes.map(changeJson), skipped: skipped.map(skippedJson) }
    },
    beginStep: async (call) => {
      const { workspace } = await current(call)
      const { session, turn, paths, ...rest } = call.body
      return workspace.beginStep({
        ...given(rest),
        turn: resolveTurn(workspace.engine, sessionIn(workspace, session), turn),
        paths: paths.map((path) => pathIn(workspace, path)),
      })
    },
    endStep: async (call) => {
      const { workspace } = await current(call)
      const step = resolveStep(workspace.engine, call.params.step)
      return { step, changes: (await workspace.endStep(step)).map(changeJson) }
    },
    capture: async (call) => {
      const { workspace } = await current(call)
      const { snapshot, changes, skipped } = await workspace.capture(call.body.label)
      return { snapshot, changes: changes.map(changeJson), skipped: skipped.map(skippedJson) }
    },

    // Whoever asks holds the lock of the store: to wait for it here would be to wait for him.
    readHints: async ({ params, body }) => workspaces.hints(params.workspace, body.at),

    undo: async (call) => {
      const held = await current(call)
      const { turns, to, ...move } = call.body
      return moving(held, move, (session, how) => {
        const point = to === undefined ? {} : { to: resolveTurn(held.workspace.engine, session.id, to) }
        const wish = { ...given({ turns }), ...point, ...how }
        return { run: () => session.undo(wish), plan: () => session.planUndo(wish) }
      })
    },
    redo: async (call) => {
      const { turns, all, ...move } = call.body
      return moving(await current(call), move, (session, how) => {
        const wish = { ...given({ turns, all }), ...how }
        return { run: () => session.redo(wish), plan: () => session.planRedo(wish) }
      })
    },
    restore: async (call) => {
      const held = await current(call)
      const { engine, index } = held.workspace
      const { turn: typed, step, side, exact, ...move } = call.body
      const turn = resolveTurn(engine, sessionIn(held.workspace, move.session), typed)
      const session = move.session ?? index.findTurn(turn)?.session
      const place = step === undefined ? {} : { step: resolveStep(engine, step) }
      return moving(held, { ...move, session }, (own, how) => {
        const wish = { turn, ...place, ...given({ side, exact }), ...how }
        return { run: () => own.restore(wish), plan: () => own.planRestore(wish) }
      })
    },
    rollback: async (call) => {
      const held = await current(call)
      const { selection, ...move } = call.body
      return moving(held, move, (session, { onConflict, choices, results, sides }) => {
        const wish = selectionOf(held.workspace, session.id, selection)
        const how = given({ onConflict, choices, results, sides })
        return { run: () => session.rollback(wish, how), plan: () => session.planRollback(wish, how) }
      })
    },
    applyPlan: async (call) => {
      const held = await current(call)
      const plan = held.plans.take(call.params.plan)
      if (plan === undefined) throw unknown(call.params.plan, 'plan')
      return resultAnswer(await plan.apply(), null)
    },
    cleanup: async (call) => {
      const { workspace } = await current(call)
      const { turns, steps } = await workspace.cleanup(resolveSession(workspace.engine, call.params.session))
      return { turns: [...turns], steps: [...steps] }
    },

    readReview: async (call) => {
      const held = await current(call)
      return readReview(held, sessionIn(held.workspace, call.query.session), { lastKnown: true }, call.query)
    },
    readPending: async (call) => readPending(await current(call), call.query),
    lookReview: async (call) => {
      const held = await current(call)
      const { session, files, turns, agents } = call.body
      const narrow = given({ file: files, turn: turns, agent: agents })
      return readReview(held, sessionIn(held.workspace, session), {}, narrow)
    },
    accept: async (call) => decide(await current(call), 'accept', call.body),
    reject: async (call) => decide(await current(call), 'reject', call.body),
    propose: async (call) => propose(await current(call), call.body),

    pin: async (call) => setPin(await current(call), call.params.session, true),
    unpin: async (call) => setPin(await current(call), call.params.session, false),
    readStore: async (call) => {
      const { workspace } = await current(call)
      const { store, operations } = statusOf(workspace.engine)
      const sessions = workspace.sessionSizes().map(sizeAnswer)
      return { ...store, diskBytes: workspace.bytesOnDisk(), operations, sessions }
    },
    gc: async (call) => {
      const { workspace } = await current(call)
      const { dryRun, ifDue, ...limits } = call.body
      if (ifDue === true && !workspace.isGcDue)
        return { dryRun: dryRun === true, dropped: [], userOperations: 0 }
      return dryRun === true
        ? plannedGcAnswer(await workspace.planGc(given(limits)))
        : gcAnswer(await workspace.gc(given(limits)))
    },
    listAgents: async (call) => server.agents((await workspaces.open(call.params.workspace)).root),
    purge: async (call) => {
      const { workspace } = await current(call)
      const paths = call.body.paths.map((path) => pathIn(workspace, path))
      return purgeAnswer(paths, await workspace.purge(paths))
    },
    doctor: async (call) => {
      const { workspace } = await workspaces.open(call.params.workspace)
      const findings = await workspace.doctor({ repair: call.body.repair === true })
      return { ok: !findings.some(({ severity }) => severity === 'error'), findings: [...findings] }
    },

    revertSession: (call) => revertSession(workspaces, call),
    unrevertSession: (call) => unrevertSession(workspaces, call),
    diffSession: (call) => diffSession(workspaces, call),
  }
}

// ---- looking ---------------------------------------------------------------------------------------------------------

async function readTree(held: Held, query: ParsedQuery<'readTree'>): Promise<wire.Tree> {
  const { workspace } = held
  const id = sessionIn(workspace, query.session)
  const view = id === undefined ? undefined : sessionViewOf(workspace.engine, id)
  if (id === undefined || view === undefined) throw unknown(query.session ?? '', 'session')
  const turns = turnViews(workspace.engine, id)
  const since = turns[0]?.turn.beginSeq ?? view.session.lastSeq
  const edits = workspace.index.countedOperations({ kinds: ['user-edit'], afterSeq: since })
  return {
    session: await sessionAnswer(held, view),
    turns: turns.map((turn) => treeTurnAnswer(turn, query.promptLength)),
    userEdits: edits.map(userEditAnswer).reverse(),
    eventId: held.events.lastId,
  }
}

function listTurns(held: Held, query: ParsedQuery<'listTurns'>): wire.TurnPage {
  const { workspace } = held
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, agent, text } = query
  const before = query.before === undefined ? Number.POSITIVE_INFINITY : seqIn(query.before)
  const touching = turnsTouching(workspace, query.file)
  const sessions =
    query.session === undefined
      ? workspace.index.sessions().map(({ id }) => id)
      : [resolveSession(workspace.engine, query.session)]
  const isWanted = ({ turn }: TurnView) =>
    turn.beginSeq < before &&
    turn.beganMs >= since &&
    turn.beganMs <= until &&
    (agent === undefined || agent.includes(turn.agent)) &&
    (touching === undefined || touching.has(turn.id)) &&
    (text === undefined || (turn.prompt ?? '').toLowerCase().includes(text.toLowerCase()))
  const found = sessions
    .flatMap((session) => turnViews(workspace.engine, session).filter(isWanted))
    .sort((a, b) => b.turn.beginSeq - a.turn.beginSeq)
  const turns = found.slice(0, query.limit)
  const last = turns.at(-1)
  return {
    turns: turns.map(turnAnswer),
    eventId: held.events.lastId,
    next: found.length > turns.length && last !== undefined ? String(last.turn.beginSeq) : null,
  }
}

function turnsTouching(workspace: Workspace, files: readonly string[] | undefined): Set<string> | undefined {
  if (files === undefined) return undefined
  const paths = files.map((file) => pathIn(workspace, file))
  return new Set(workspace.index.findChanges({ paths }).flatMap(({ turn }) => turn ?? []))
}

function readTurn(held: Held, typed: string): wire.TurnDetail {
  const { workspace } = held
  const { engine, index } = workspace
  const id = resolveTurn(engine, lastActiveSession(workspace), typed)
  const view = turnViewOf(engine, id)
  if (view === undefined) throw unknown(typed, 'turn')
  const changes = index.changesOfTurn(id)
  const steps = index.steps(id)
  const cut = index.findSession(view.turn.session)?.head.before
  const cutAt = steps.findIndex((step) => step.id === cut)
  const flying = new Set(engine.flights.list().map((flight) => flight.step))
  return {
    turn: turnAnswer(view),
    steps: steps.map((step, at) =>
      stepAnswer(
        step,
        { running: flying.has(step.id), reverted: view.isReverted || (cutAt >= 0 && at >= cutAt) },
        changes.filter((change) => change.step === step.id),
      ),
    ),
    changes: changes.map(changeJson),
    missed: missedAnswer(index.stepOperations(id)),
    eventId: held.events.lastId,
  }
}

function listOperations(held: Held, query: ParsedQuery<'listOperations'>): wire.OperationPage {
  const { workspace } = held
  const { session, kind, own, since, until, limit, before } = query
  const found = workspace.index.countedOperations({
    ...given({ own, kinds: kind, sinceMs: since, untilMs: until }),
    ...(session === undefined ? {} : { session: resolveSession(workspace.engine, session) }),
    ...(before === undefined ? {} : { beforeSeq: seqIn(before) }),
    limit: limit + 1,
  })
  const operations = found.slice(0, limit)
  const last = operations.at(-1)
  return {
    operations: operations.map(operationAnswer),
    eventId: held.events.lastId,
    next: found.length > limit && last !== undefined ? String(last.operation.record.seq) : null,
  }
}

function listChanges(held: Held, query: ParsedQuery<'listChanges'>): wire.ChangePage {
  const { workspace } = held
  const { engine } = workspace
  const session = query.session === undefined ? undefined : resolveSession(engine, query.session)
  const found = workspace.index.findChanges({
    ...given({
      session,
      agents: query.agent,
      agentIds: query.agentId,
      afterMs: query.since,
      untilMs: query.until,
      text: query.text,
      everybody: query.everybody,
      paths: query.file?.map((file) => pathIn(workspace, file)),
      turns: query.turn?.map((turn) => resolveTurn(engine, session ?? lastActiveSession(workspace), turn)),
      steps: query.step?.map((step) => resolveStep(engine, step)),
    }),
    ...(query.before === undefined ? {} : { behind: placeIn(query.before) }),
    limit: query.limit + 1,
  })
  const changes = found.slice(0, query.limit)
  const last = changes.at(-1)
  return {
    changes: changes.map(changeJson),
    prompts: promptsOf(workspace, changes),
    eventId: held.events.lastId,
    next: found.length > query.limit && last !== undefined ? `${last.opSeq}:${hexOf(last.path)}` : null,
  }
}

const promptStart = 200

function promptsOf(workspace: Workspace, changes: readonly ChangeRow[]): Record<string, string | null> {
  const turns = new Set(changes.flatMap(({ turn }) => turn ?? []))
  const starts = [...turns].map(
    (turn) => workspace.index.findTurn(turn)?.prompt?.slice(0, promptStart) ?? null,
  )
  return Object.fromEntries([...turns].map((turn, at) => [turn, starts[at] ?? null]))
}

function hexOf(path: RelPath): string {
  return Buffer.from(path, 'latin1').toString('hex')
}

function placeIn(cursor: string): { readonly opSeq: number; readonly path: RelPath } {
  const [, seq, hex = ''] = /^(\d{1,15}):((?:[0-9a-f]{2})+)$/.exec(cursor) ?? []
  if (seq === undefined) throw badCursor(cursor)
  return { opSeq: Number(seq), path: Buffer.from(hex, 'hex').toString('latin1') as RelPath }
}

function seqIn(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor(cursor)
  return Number(cursor)
}

async function show(held: Held, typed: string, query: ParsedQuery<'show'>): Promise<wire.Shown> {
  const { workspace } = held
  const { kind, operations, paths } = operationsOf(workspace, sessionIn(workspace, query.session), typed)
  const ignoreWhitespace = query.whitespace === 'ignore'
  const options = { ...given({ paths }), stat: query.stat === true, ignoreWhitespace }
  const patch = await patchOfOperations(workspace.engine, operations, options)
  const changes = operations.flatMap(({ record }) => workspace.index.changesOfOperation(record.seq))
  return {
    id: typed,
    kind,
    operations: operations.map(({ record }) => record.id),
    changes: changes.filter(({ path }) => paths === undefined || paths.includes(path)).map(changeJson),
    patch: patch.toString('utf8'),
  }
}

interface Told {
  readonly kind: wire.Shown['kind']
  readonly operations: readonly Operation[]
  readonly paths?: readonly RelPath[]
}

function operationsOf(workspace: Workspace, session: SessionId | undefined, typed: string): Told {
  const { index, engine } = workspace
  const resolved = resolveAny(engine, session, typed)
  const { kind } = resolved
  switch (kind) {
    case 'turn':
      return { kind, operations: index.stepOperations(resolved.id) }
    case 'step':
      return { kind, operations: index.operationsOfStep(resolved.id) }
    case 'operation':
      return { kind, operations: [index.findOperation(resolved.id) ?? []].flat() }
    case 'change': {
      const change = index.findChanges({ changes: [resolved.id], everybody: true })[0]
      const operation = change === undefined ? undefined : index.operationAt(change.opSeq)
      if (change === undefined || operation === undefined) throw unknown(typed, 'change')
      const paths = change.from === undefined ? [change.path] : [change.path, change.from]
      return { kind, operations: [operation], paths }
    }
  }
}

async function diff(held: Held, query: ParsedQuery<'diff'>): Promise<wire.Diff> {
  const { workspace } = held
  const session = sessionIn(workspace, query.session)
  const { from = '@', to, stat, file, whitespace } = query
  const paths = file?.map((one) => pathIn(workspace, one))
  const options: PatchOptions = {
    ...given({ paths }),
    stat: stat === true,
    ignoreWhitespace: whitespace === 'ignore',
  }
  if (to === undefined && from !== 'now') {
    const told = operationsOf(workspace, session, from)
    const patch = await patchOfOperations(workspace.engine, told.operations, {
      ...options,
      ...given({ paths: told.paths ?? paths }),
    })
    return { patch: patch.toString('utf8') }
  }
  const before = snapshotAt(workspace.engine, session, from, 'before')
  const after = snapshotAt(workspace.engine, session, to ?? 'now', 'after')
  return { patch: (await patchBetween(workspace.engine, before, after, options)).toString('utf8') }
}

function listFiles(held: Held, query: ParsedQuery<'listFiles'>): wire.FileList {
  const { workspace } = held
  const snapshot = pointIn(workspace, query)
  const under = query.under === undefined ? undefined : pathIn(workspace, query.under)
  if (query.recursive === true) {
    const { files, isComplete } = listFilesAt(workspace.engine, snapshot, {
      ...given({ below: under }),
      limit: query.limit,
    })
    return { entries: files.map(entryAnswer), complete: isComplete }
  }
  const entries = listFolderAt(workspace.engine, snapshot, under ?? '')
  if (entries === undefined) throw unknown(query.under ?? '', 'folder at that point')
  return {
    entries: entries.slice(0, query.limit).map(entryAnswer),
    complete: entries.length <= query.limit,
  }
}

function readFile(held: Held, query: ParsedQuery<'readFile'>): wire.PastFile {
  const { workspace } = held
  const file = readFileAt(workspace.engine, pointIn(workspace, query), pathIn(workspace, query.path))
  if (file === undefined) throw unknown(query.path, 'captured file at that point')
  return fileAnswer(file, query.most)
}

function pointIn(
  workspace: Workspace,
  query: Pick<ParsedQuery<'readFile'>, 'session' | 'at' | 'side'>,
): ReturnType<typeof snapshotAt> {
  const session = sessionIn(workspace, query.session)
  try {
    return snapshotAt(workspace.engine, session, query.at, query.side)
  } catch (error) {
    // Where nothing was ever captured, `now` is nothing.
    if (query.at === 'now' && isFailure(error, 'unknown-id')) throw unknown('now', 'capture')
    throw error
  }
}

// ---- recording and moving ----------------------------------------------------------------------------------------------

async function beginTurn(held: Held, body: ParsedBody<'beginTurn'>): Promise<wire.BegunTurn> {
  const { workspace } = held
  const { session: typed, ...wish } = body
  const session = (typed as SessionId | undefined) ?? lastActiveSession(workspace) ?? newSession()
  return { session, ...(await workspace.beginTurn({ ...given(wish), agent: wish.agent, session })) }
}

function newSession(): SessionId {
  return crypto.randomUUID() as SessionId
}

interface Move {
  readonly session?: string | undefined
  readonly onConflict?: MoveOptions['onConflict'] | undefined
  readonly choices?: MoveOptions['choices'] | undefined
  readonly results?: MoveOptions['results'] | undefined
  readonly sides?: boolean | undefined
  readonly git?: boolean | undefined
  readonly force?: boolean | undefined
  readonly dryRun?: boolean | undefined
}

interface Ways {
  readonly run: () => Promise<MoveResult>
  readonly plan: () => Promise<Plan>
}

async function moving(
  held: Held,
  { session: typed, dryRun, force, ...how }: Move,
  waysOf: (session: Session, how: MoveOptions) => Ways,
): Promise<wire.MoveResult> {
  const { workspace } = held
  const id = sessionIn(workspace, typed)
  if (id === undefined) return resultAnswer(nothingYet, null)
  const session = workspace.session(id, { agent: workspace.index.findSession(id)?.agent ?? 'agent' })
  // The agent is somebody else's process: all that can be done here is to close its turn.
  const abort = force === true ? { abort: () => {} } : {}
  const { run, plan } = waysOf(session, { ...given(how), ...abort })
  if (dryRun !== true) return resultAnswer(await run(), null)
  const planned = await plan()
  const isWorth = planned.outcome.kind === 'planned'
  return resultAnswer(planned.outcome, isWorth ? held.plans.keep(planned) : null)
}

const nothingYet: MoveResult = {
  kind: 'nothing',
  op: null,
  head: null,
  files: [],
  conflicts: [],
  reverted: [],
  redone: [],
  notUndone: { commands: [], commits: [], skipped: [] },
  message: 'No turn has been recorded in this workspace. No file was changed.',
}

function resultAnswer(result: MoveResult, plan: string | null): wire.MoveResult {
  const { notUndone } = result
  return {
    ...result,
    plan,
    files: [...result.files],
    conflicts: result.conflicts.map((conflict) => ({ ...conflict, later: [...conflict.later] })),
    reverted: [...result.reverted],
    redone: [...result.redone],
    notUndone: {
      ...notUndone,
      commands: [...notUndone.commands],
      commits: [...notUndone.commits],
      skipped: [...notUndone.skipped],
    },
  }
}

function selectionOf(workspace: Workspace, session: SessionId, chosen: wire.Selection) {
  const { engine } = workspace
  return given({
    changes: chosen.changes?.map((id) => resolveChange(engine, id)),
    steps: chosen.steps?.map((id) => resolveStep(engine, id)),
    turns: chosen.turns?.map((id) => resolveTurn(engine, session, id)),
    ops: chosen.ops?.map((id) => resolveOperation(engine, id)),
    agents: chosen.agents,
    agentIds: chosen.agentIds,
    paths: chosen.files,
    after: chosen.after === undefined ? undefined : Date.parse(chosen.after),
  })
}

// ---- review ----------------------------------------------------------------------------------------------------------

async function readReview(
  held: Held,
  session: SessionId | undefined,
  options: ReviewOptions,
  { file, turn, agent }: ParsedQuery<'readReview'>,
): Promise<wire.Review> {
  const { workspace } = held
  const { engine } = workspace
  if (session === undefined) return { ...plainReview(nothingPending), eventId: held.events.lastId }
  const view = await workspace.review(session, options)
  const narrow = narrowedReview(engine, view, {
    ...given({
      paths: file?.map((one) => pathIn(workspace, one)),
      turns: turn?.map((id) => resolveTurn(engine, session, id)),
      agents: agent,
    }),
  })
  return { ...plainReview(reviewJson(engine, narrow)), eventId: held.events.lastId }
}

async function readPending(held: Held, query: ParsedQuery<'readPending'>): Promise<wire.PastFile> {
  const { workspace } = held
  const session = sessionIn(workspace, query.session)
  const { side, proposal } = query
  const wish = { path: pathIn(workspace, query.path), side, ...given({ proposal }) }
  const file = session === undefined ? undefined : await workspace.readPending(session, wish)
  if (file === undefined) throw unknown(query.path, 'pending file on that side')
  return fileAnswer(file, query.most)
}

function plainReview(review: ReviewResult): Omit<wire.Review, 'eventId'> {
  return review as unknown as Omit<wire.Review, 'eventId'>
}

async function decide(
  held: Held,
  verb: 'accept' | 'reject',
  body: ParsedBody<'accept'>,
): Promise<wire.Decision> {
  const { workspace } = held
  const { engine } = workspace
  const session = sessionIn(workspace, body.session)
  if (session === undefined) throw unknown('', 'session')
  const { hunks, files, turns, agents, groups, proposals } = body.selection
  const decided = await workspace[verb]({
    session,
    selection: given({
      hunks,
      paths: files?.map((path) => pathIn(workspace, path)),
      turns: turns?.map((id) => resolveTurn(engine, session, id)),
      agents,
      groups,
      proposals,
    }),
    ...given({ comment: body.comment, onConflict: body.onConflict, dryRun: body.dryRun, sides: body.sides }),
    ...(body.results === undefined ? {} : { results: resultsIn(workspace, body.results) }),
    choices: choicesIn(workspace, body.choices ?? {}),
  })
  return { kind: decided.kind, ...decisionJson(decided) } as unknown as wire.Decision
}

function choicesIn(
  workspace: Workspace,
  choices: NonNullable<ParsedBody<'accept'>['choices']>,
): NonNullable<DecideWish['choices']> {
  return new Map(Object.entries(choices).map(([path, choice]) => [pathIn(workspace, path), choice]))
}

function resultsIn(
  workspace: Workspace,
  results: Readonly<Record<string, string>>,
): ReadonlyMap<RelPath, Uint8Array> {
  return new Map(Object.entries(results).map(([path, text]) => [pathIn(workspace, path), Buffer.from(text)]))
}

async function propose(held: Held, body: ParsedBody<'propose'>): Promise<wire.Proposed> {
  const { workspace } = held
  const { proposal, op, session } = await workspace.propose({
    turn: resolveTurn(workspace.engine, sessionIn(workspace, body.session), body.turn),
    path: pathIn(workspace, body.path),
    content: body.content === null ? null : Buffer.from(body.content, body.encoding),
    ...given({ group: body.group, executable: body.executable }),
  })
  return { proposal, op, session }
}

async function setPin(held: Held, typed: string, pinned: boolean): Promise<wire.Pinned> {
  const { workspace } = held
  const session = resolveSession(workspace.engine, typed)
  await (pinned ? workspace.pin(session) : workspace.unpin(session))
  return { session, pinned }
}

// ---- parts -----------------------------------------------------------------------------------------------------------

/** The session that is meant: named, or last active. */
function sessionIn(workspace: Workspace, typed: string | undefined): SessionId | undefined {
  return typed === undefined ? lastActiveSession(workspace) : resolveSession(workspace.engine, typed)
}

function pathIn(workspace: Workspace, path: string): RelPath {
  return relPathFrom(workspace.root, workspace.root, bytesOfText(path))
}

type Given<T> = {
  [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key]
} & { [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined> }

/** Without what was not said: for the engine an absent wish and `undefined` are two things. */
export function given<T extends object>(wishes: T): Given<T> {
  return Object.fromEntries(Object.entries(wishes).filter(([, wish]) => wish !== undefined)) as Given<T>
}

function unknown(id: string, what: string): UnturnError {
  return new UnturnError(
    'unknown-id',
    { id },
    {
      message: `There is no ${what} ${JSON.stringify(id)} in this workspace. Nothing was changed.`,
      hint: 'Fetch the list anew; it may have been dropped or applied meanwhile.',
    },
  )
}

function badCursor(cursor: string): UnturnError {
  return new UnturnError(
    'bad-usage',
    { before: cursor },
    {
      message: 'The page that was asked for is none that this server gave out.',
      hint: 'Hand back `next` of the page before as `before`.',
    },
  )
}
