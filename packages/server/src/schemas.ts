/**
 * What goes over the wire. One schema for each thing: it checks requests, describes itself in the OpenAPI document, and
 * gives client and server their types. Paths are text relative to the workspace; a name that is not UTF-8 has a lone
 * surrogate for each odd byte, and finds its file again when it is handed back.
 */

import { z } from 'zod'

// ---- words -----------------------------------------------------------------------------------------------------------

const id = z.string().min(1).max(500)
const path = z.string().min(1).max(65_536)
const time = z.string().describe('ISO 8601')
const count = z.number().int().nonnegative()

export const changeKind = z.enum(['add', 'modify', 'delete', 'rename', 'mode', 'type'])
export const turnStatus = z.enum(['open', 'ok', 'interrupted', 'failed'])
export const onConflict = z
  .enum(['abort', 'keep', 'overwrite', 'markers'])
  .describe(
    'where newer work overlaps: change nothing, leave such files, take the old version, write markers',
  )

export const change = z
  .object({
    id,
    path,
    kind: changeKind,
    from: path.optional(),
    additions: count,
    deletions: count,
    binary: z.boolean(),
    certainty: z.string(),
    actor: z.string().describe("the agent's name, user, or unturn"),
    agentId: z.string().optional(),
    session: id.nullable(),
    turn: id.nullable(),
    step: id.nullable(),
    at: time,
  })
  .meta({ id: 'Change' })
export type Change = z.infer<typeof change>

export const skipped = z
  .object({
    path,
    reason: z.enum(['ignored', 'too-large', 'unreadable', 'special', 'nested-git', 'purged']),
    size: z.number().optional(),
  })
  .meta({ id: 'Skipped' })
export type Skipped = z.infer<typeof skipped>

export const commit = z.object({ id: z.string(), subject: z.string() }).meta({ id: 'Commit' })
export type Commit = z.infer<typeof commit>

export const conflict = z
  .object({
    path,
    kind: z.string(),
    ours: z.string().nullable().describe('what stands there now; null: nothing'),
    theirs: z.string().nullable().describe('what would have come; null: the path would have gone'),
    message: z.string(),
    later: z.array(z.object({ actor: z.string(), turn: id.optional(), session: id.optional() })),
    versions: z
      .object({ base: z.string().nullable(), ours: z.string().nullable(), theirs: z.string().nullable() })
      .optional()
      .describe('the whole of each side, where `sides` asked for it; null: not there'),
  })
  .meta({ id: 'Conflict' })
export type Conflict = z.infer<typeof conflict>

export const fileResult = z
  .object({
    path,
    action: z.enum(['write', 'delete', 'rename', 'mode']),
    from: path.optional(),
    merged: z.boolean().describe('made of both: the old version, and what came after it'),
  })
  .meta({ id: 'FileResult' })
export type FileResult = z.infer<typeof fileResult>

export const failure = z
  .object({
    error: z.object({ code: z.string(), message: z.string(), hint: z.string(), data: z.unknown() }),
  })
  .meta({ id: 'Failure' })
export type Failure = z.infer<typeof failure>

// ---- the server and its workspaces -------------------------------------------------------------------------------------

export const serverInfo = z
  .object({
    name: z.literal('unturn'),
    version: z.string(),
    pid: z.number(),
    startedAt: time,
    idleMinutes: z.number().nullable().describe('ends after so many minutes without a request; null: never'),
  })
  .meta({ id: 'ServerInfo' })
export type ServerInfo = z.infer<typeof serverInfo>

export const workspaceEntry = z
  .object({ id, name: z.string(), root: z.string(), createdAt: time, isOpen: z.boolean() })
  .meta({ id: 'WorkspaceEntry' })
export type WorkspaceEntry = z.infer<typeof workspaceEntry>

export const workspaceList = z.object({ workspaces: z.array(workspaceEntry) })
export type WorkspaceList = z.infer<typeof workspaceList>

export const openWorkspaceBody = z.strictObject({
  folder: z.string().min(1).max(65_536),
  explicit: z.boolean().optional().describe('the folder itself, not a repository around it'),
})

export const session = z
  .object({
    id,
    agent: z.string(),
    head: id.nullable(),
    headBefore: id.nullable().describe('inside the head turn: this step and all later ones are out'),
    turns: count,
    reverted: z.array(id),
    running: z.array(id),
    active: z.boolean().describe('the one that commands mean when they name none'),
    lastSeq: count,
    pendingHunks: count.describe('as of the last capture'),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof session>

export const storeSize = z.object({ bytes: z.number(), borrowedBytes: z.number(), packs: count })

export const watchState = z
  .object({
    state: z.enum(['off', 'starting', 'watching']),
    reason: z.string().optional(),
    isHintUsed: z.boolean().describe('captures look only at what the watcher names'),
  })
  .meta({ id: 'WatchState' })
export type WatchState = z.infer<typeof watchState>

export const status = z
  .object({
    id,
    name: z.string(),
    root: z.string(),
    sessions: z.array(session),
    lastCapture: time.nullable(),
    operations: count,
    pendingHunks: count,
    store: storeSize,
    watch: watchState,
    eventId: z.string().describe('events after this one are not in this answer'),
  })
  .meta({ id: 'Status' })
export type Status = z.infer<typeof status>

export const sessionList = z.object({ sessions: z.array(session), eventId: z.string() })
export type SessionList = z.infer<typeof sessionList>

// ---- turns, steps, operations --------------------------------------------------------------------------------------------

export const turn = z
  .object({
    id,
    session: id,
    parent: id.nullable(),
    parentBefore: id.nullable().describe('it began inside the parent, before this step of it'),
    agent: z.string(),
    agentId: z.string().optional(),
    prompt: z.string().nullable(),
    message: z.string().nullable(),
    status: turnStatus,
    seq: count,
    endSeq: count.nullable(),
    began: time,
    ended: time.nullable(),
    head: z.boolean(),
    reverted: z.boolean(),
    depth: count,
    files: count,
    additions: count,
    deletions: count,
    commits: z.array(commit),
  })
  .meta({ id: 'Turn' })
export type Turn = z.infer<typeof turn>

export const step = z
  .object({
    id,
    turn: id,
    tool: z.string(),
    agent: z.string(),
    agentId: z.string().optional(),
    part: z.string().nullable(),
    command: z.string().nullable(),
    began: time,
    running: z.boolean(),
    reverted: z.boolean(),
    changes: z.array(change),
  })
  .meta({ id: 'Step' })
export type Step = z.infer<typeof step>

export const turnDetail = z
  .object({
    turn,
    steps: z.array(step),
    changes: z.array(change),
    missed: z.array(skipped).describe('changed, as far as one can tell, without having been captured'),
    eventId: z.string(),
  })
  .meta({ id: 'TurnDetail' })
export type TurnDetail = z.infer<typeof turnDetail>

const page = {
  next: z.string().nullable().describe('hand it back as `before` for older ones; null: no more'),
}

const texts = z
  .union([z.string(), z.array(z.string())])
  .transform((one) => (Array.isArray(one) ? one : [one]))
const flag = z
  .union([z.boolean(), z.enum(['true', 'false'])])
  .transform((word) => word === true || word === 'true')
const limit = (most: number, usual: number) => z.coerce.number().int().min(1).max(most).default(usual)
const moment = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))

export const logQuery = z.strictObject({
  session: id.optional(),
  agent: texts.optional(),
  file: texts.optional().describe('files, or folders with everything below'),
  since: moment.optional(),
  until: moment.optional(),
  text: z.string().max(1_000).optional().describe('in the prompt'),
  limit: limit(10_000, 100),
  before: z.string().optional().describe('`next` of the page before'),
})
export const turnPage = z.object({ turns: z.array(turn), eventId: z.string(), ...page })
export type TurnPage = z.infer<typeof turnPage>

export const treeQuery = z.strictObject({
  session: id.optional(),
  promptLength: z.coerce.number().int().min(0).max(100_000).default(200),
})
/** A turn of the tree: small, since there may be ten thousand. */
export const treeTurn = turn.omit({ commits: true, session: true }).meta({ id: 'TreeTurn' })
export type TreeTurn = z.infer<typeof treeTurn>
export const userEdit = z
  .object({
    op: id,
    seq: count,
    at: time,
    label: z.string().nullable(),
    files: count,
    additions: count,
    deletions: count,
  })
  .meta({ id: 'UserEdit' })
export type UserEdit = z.infer<typeof userEdit>
export const tree = z
  .object({
    session,
    turns: z.array(treeTurn).describe('oldest first'),
    userEdits: z.array(userEdit).describe("the user's own edits since the session began, oldest first"),
    eventId: z.string(),
  })
  .meta({ id: 'Tree' })
export type Tree = z.infer<typeof tree>

export const operation = z
  .object({
    id,
    seq: count,
    kind: z.string(),
    at: time,
    session: id.nullable(),
    turn: id.nullable(),
    step: id.nullable(),
    tool: z.string().optional(),
    command: z.string().optional(),
    label: z.string().optional(),
    reverted: z.array(id).describe('turns that it took out'),
    redone: z.array(id).describe('turns that it brought back'),
    of: id.optional().describe('the operation that it inverted'),
    files: count,
    additions: count,
    deletions: count,
    before: z.string().describe('the tree before it'),
    after: z.string(),
  })
  .meta({ id: 'Operation' })
export type Operation = z.infer<typeof operation>

export const operationQuery = z.strictObject({
  session: id.optional(),
  kind: texts.optional(),
  own: flag.optional().describe("with a session: also the user's own operations"),
  since: moment.optional(),
  until: moment.optional(),
  limit: limit(10_000, 100),
  before: z.string().optional(),
})
export const operationPage = z.object({ operations: z.array(operation), eventId: z.string(), ...page })
export type OperationPage = z.infer<typeof operationPage>

export const changeQuery = z.strictObject({
  session: id.optional(),
  file: texts.optional(),
  agent: texts.optional(),
  agentId: texts.optional(),
  turn: texts.optional(),
  step: texts.optional(),
  since: moment.optional(),
  until: moment.optional(),
  text: z.string().max(1_000).optional().describe('in the path, the prompt or the command'),
  everybody: flag.optional().describe("also the user's own, and Unturn's"),
  limit: limit(10_000, 200),
  before: z.string().optional(),
})
export const changePage = z.object({
  changes: z.array(change),
  prompts: z.record(id, z.string().nullable()).describe('how the prompts of their turns begin'),
  eventId: z.string(),
  ...page,
})
export type ChangePage = z.infer<typeof changePage>

// ---- looking ---------------------------------------------------------------------------------------------------------

const patch = z
  .string()
  .describe('a unified diff; of a name or content that is not UTF-8 as close as text can get')

const whitespace = z
  .enum(['show', 'ignore'])
  .optional()
  .describe('ignore: lines that differ in their spaces alone count as the same')

export const showQuery = z.strictObject({ session: id.optional(), stat: flag.optional(), whitespace })
export const shown = z
  .object({
    id,
    kind: z.enum(['turn', 'step', 'change', 'operation']),
    operations: z.array(id),
    changes: z.array(change),
    patch,
  })
  .meta({ id: 'Shown' })
export type Shown = z.infer<typeof shown>

export const diffQuery = z.strictObject({
  session: id.optional(),
  from: id.optional().describe('a turn, step, change, operation, @ or now; alone: what it changed itself'),
  to: id.optional(),
  file: texts.optional(),
  stat: flag.optional(),
  whitespace,
})
export const diff = z.object({ patch }).meta({ id: 'Diff' })
export type Diff = z.infer<typeof diff>

export const blameQuery = z.strictObject({ file: path })
export const blameLine = z
  .object({
    line: z.number().int().positive(),
    text: z.string(),
    by: z.enum(['agent', 'user', 'before', 'unturn']),
    agent: z.string().nullable(),
    agentId: z.string().optional(),
    session: id.nullable(),
    turn: id.nullable(),
    prompt: z.string().nullable(),
    op: id.nullable(),
    at: time.nullable(),
  })
  .meta({ id: 'BlameLine' })
export type BlameLine = z.infer<typeof blameLine>
export const blame = z
  .object({ path, lines: z.array(blameLine) })
  .meta({ id: 'Blame', description: 'as of the last capture' })
export type Blame = z.infer<typeof blame>

const pointQuery = {
  session: id.optional(),
  at: id.default('now').describe('a turn, step, change, operation, @, or now: as the last operation left it'),
  side: z.enum(['before', 'after']).default('after'),
}
export const filesQuery = z.strictObject({
  ...pointQuery,
  under: path.optional().describe('a folder; the root if nothing is said'),
  recursive: flag.optional(),
  limit: limit(100_000, 10_000),
})
export const pastEntry = z
  .object({
    path,
    kind: z.enum(['file', 'link', 'folder']),
    executable: z.boolean(),
    blob: z.string().optional().describe('the same bytes have the same one'),
  })
  .meta({ id: 'PastEntry' })
export type PastEntry = z.infer<typeof pastEntry>
export const fileList = z
  .object({ entries: z.array(pastEntry), complete: z.boolean() })
  .meta({ id: 'FileList' })
export type FileList = z.infer<typeof fileList>

const mostBytes = z.coerce
  .number()
  .int()
  .min(0)
  .max(64 * 1024 * 1024)
  .default(8 * 1024 * 1024)
export const fileQuery = z.strictObject({ ...pointQuery, path, most: mostBytes })
export const pastFile = z
  .object({
    path,
    kind: z.enum(['file', 'link']),
    mode: z.string().describe('permission bits, octal'),
    size: count,
    blob: z.string(),
    binary: z.boolean(),
    text: z.string().optional().describe('the content, where it is text'),
    base64: z.string().optional().describe('the content, where it is not'),
    tooLarge: z.boolean().describe('larger than `most`: no content is given'),
  })
  .meta({ id: 'PastFile' })
export type PastFile = z.infer<typeof pastFile>

// ---- recording -------------------------------------------------------------------------------------------------------

export const beginTurnBody = z.strictObject({
  session: id.optional(),
  agent: z.string().min(1).max(200).default('agent'),
  agentId: z.string().max(500).optional(),
  prompt: z.string().optional(),
  message: z.string().max(500).optional(),
  pid: z.number().int().positive().optional(),
})
export const begunTurn = z.object({ session: id, turn: id, seq: count }).meta({ id: 'BegunTurn' })
export type BegunTurn = z.infer<typeof begunTurn>

export const endTurnBody = z.strictObject({ status: z.enum(['ok', 'interrupted', 'failed']).default('ok') })
export const endedTurn = z
  .object({ turn: id, changes: z.array(change), skipped: z.array(skipped) })
  .meta({ id: 'EndedTurn' })
export type EndedTurn = z.infer<typeof endedTurn>

export const beginStepBody = z.strictObject({
  session: id.optional(),
  turn: id,
  tool: z.string().min(1).max(500),
  paths: z.array(path).max(100_000).default([]),
  part: z.string().max(500).optional(),
  command: z.string().optional(),
  agentId: z.string().max(500).optional(),
})
export const begunStep = z.object({ step: id }).meta({ id: 'BegunStep' })
export type BegunStep = z.infer<typeof begunStep>
export const endedStep = z.object({ step: id, changes: z.array(change) }).meta({ id: 'EndedStep' })
export type EndedStep = z.infer<typeof endedStep>

export const captureBody = z.strictObject({ label: z.string().max(10_000).optional() })
export const captured = z
  .object({ snapshot: z.string(), changes: z.array(change), skipped: z.array(skipped) })
  .meta({ id: 'Captured' })
export type Captured = z.infer<typeof captured>

export const hintsBody = z.strictObject({ at: z.enum(['everywhere', 'turn', 'step']) })
export const hints = z
  .object({
    dirty: z
      .object({ folders: z.array(z.string()), trees: z.array(z.string()) })
      .nullable()
      .describe('where something may have changed since the last operation; null: anywhere'),
    unaudited: z.array(id).describe('turns that were recorded by hints, and not looked over since'),
  })
  .meta({ id: 'Hints' })
export type Hints = z.infer<typeof hints>

// ---- moving ----------------------------------------------------------------------------------------------------------

const move = {
  session: id.optional().describe('the one last active if nothing is said'),
  onConflict: onConflict.optional(),
  choices: z
    .record(path, onConflict)
    .optional()
    .describe('single paths with a choice of their own; one that is left at abort stops everything'),
  results: z
    .record(path, z.string().max(16 * 1024 * 1024))
    .optional()
    .describe('single paths in conflict whose text somebody has made of both sides'),
  sides: z.boolean().optional().describe('conflicts come with the whole of each side'),
  git: z.boolean().optional().describe('also move the branch back over commits that the undone turns made'),
  force: z.boolean().optional().describe('although a turn is running; it is closed as interrupted'),
  dryRun: z.boolean().optional().describe('say what would be done, and a plan to apply exactly that'),
}
export const undoBody = z.strictObject({
  ...move,
  turns: z.number().int().positive().optional(),
  to: id.optional().describe('everything from this turn on'),
})
export const redoBody = z.strictObject({
  ...move,
  turns: z.number().int().positive().optional(),
  all: z.boolean().optional(),
})
export const restoreBody = z.strictObject({
  ...move,
  turn: id,
  step: id.optional(),
  side: z.enum(['before', 'after']).optional(),
  exact: z.boolean().optional(),
})
export const selection = z
  .strictObject({
    changes: z.array(id).min(1).optional(),
    steps: z.array(id).min(1).optional(),
    turns: z.array(id).min(1).optional(),
    agents: z.array(z.string()).min(1).optional(),
    agentIds: z.array(z.string()).min(1).optional(),
    files: z.array(path).min(1).optional(),
    after: z.iso.datetime({ offset: true }).optional(),
    ops: z.array(id).min(1).optional(),
  })
  .meta({
    id: 'Selection',
    description: 'which changes; several kinds narrow each other, repeats of one kind add up',
  })
export type Selection = z.infer<typeof selection>
export const rollbackBody = z.strictObject({
  session: move.session,
  onConflict: move.onConflict,
  choices: move.choices,
  results: move.results,
  sides: move.sides,
  dryRun: move.dryRun,
  selection,
})

export const moveResult = z
  .object({
    kind: z.enum(['done', 'planned', 'conflicts', 'nothing']),
    plan: z.string().nullable().describe('for `planned`: apply exactly this'),
    op: id.nullable().describe('roll this back to take it back'),
    head: id.nullable(),
    files: z.array(fileResult),
    conflicts: z.array(conflict),
    reverted: z.array(id),
    redone: z.array(id),
    prompt: z.string().optional(),
    notUndone: z.object({
      commands: z.array(z.string()),
      commits: z.array(commit),
      skipped: z.array(skipped),
      branch: z.object({ from: z.string().nullable(), to: z.string().nullable() }).optional(),
    }),
    git: z
      .union([
        z.object({ moved: z.literal(true), branch: z.string(), from: z.string(), to: z.string() }),
        z.object({ moved: z.literal(false), reason: z.string() }),
      ])
      .optional(),
    patch: z.string().optional(),
    message: z.string().optional(),
  })
  .meta({ id: 'MoveResult' })
export type MoveResult = z.infer<typeof moveResult>

export const nothingBody = z.strictObject({})
export const cleaned = z.object({ turns: z.array(id), steps: z.array(id) }).meta({ id: 'Cleaned' })
export type Cleaned = z.infer<typeof cleaned>

// ---- review ----------------------------------------------------------------------------------------------------------

export const reviewLine = z.object({
  kind: z.enum([' ', '-', '+']),
  text: z.string().describe('with its line ending, where it has one'),
  oldLine: count.optional(),
  newLine: count.optional(),
})
export type ReviewLine = z.infer<typeof reviewLine>

export const reviewHunk = z
  .object({
    id: z.string().describe('of its content: an id whose text has changed since is refused'),
    kind: z.enum(['text', 'create', 'delete', 'rename', 'mode', 'binary', 'link', 'type']),
    contested: z.boolean().describe('somebody else has edited inside it'),
    turns: z.array(id),
    agents: z.array(z.string()),
    additions: count,
    deletions: count,
    oldStart: count,
    oldLines: count,
    newStart: count,
    newLines: count,
    lines: z.array(reviewLine),
    group: z.string().optional(),
    proposal: z.string().optional().describe('not on disk: part of this proposal'),
    from: path.optional(),
    oldMode: z.string().optional(),
    newMode: z.string().optional(),
  })
  .meta({ id: 'ReviewHunk' })
export type ReviewHunk = z.infer<typeof reviewHunk>

export const reviewFile = z
  .object({
    path,
    from: path.optional(),
    additions: count,
    deletions: count,
    proposal: z.string().optional(),
    hunks: z.array(reviewHunk),
  })
  .meta({ id: 'ReviewFile' })
export type ReviewFile = z.infer<typeof reviewFile>

export const proposal = z
  .object({
    id: z.string(),
    turn: id,
    agent: z.string().nullable(),
    path,
    action: z.enum(['create', 'modify', 'delete']),
    group: z.string().optional(),
    contested: z.boolean(),
    additions: count,
    deletions: count,
    hunks: z.array(z.string()),
    at: time,
  })
  .meta({ id: 'Proposal' })
export type Proposal = z.infer<typeof proposal>

export const rejection = z
  .object({
    hunk: z.string(),
    path,
    comment: z.string().optional(),
    turns: z.array(id),
    removed: z.string(),
    added: z.string(),
    at: time,
  })
  .meta({ id: 'Rejection' })
export type Rejection = z.infer<typeof rejection>

export const review = z
  .object({
    session: id.nullable(),
    pending: count.describe('how many hunks'),
    files: z.array(reviewFile),
    proposals: z.array(proposal),
    rejected: z.array(rejection),
    eventId: z.string(),
  })
  .meta({ id: 'Review' })
export type Review = z.infer<typeof review>

const reviewWish = { session: id.optional() }
export const reviewQuery = z.strictObject({
  ...reviewWish,
  file: texts.optional(),
  turn: texts.optional(),
  agent: texts.optional(),
})
export const reviewBody = z.strictObject({
  ...reviewWish,
  files: z.array(path).min(1).optional(),
  turns: z.array(id).min(1).optional(),
  agents: z.array(z.string()).min(1).optional(),
})
export const pendingFileQuery = z.strictObject({
  ...reviewWish,
  path,
  side: z.enum(['before', 'after']).describe('as it was accepted, or as it is now or is proposed to be'),
  proposal: z.string().optional(),
  most: mostBytes,
})

export const hunkSelection = z
  .strictObject({
    hunks: z.array(z.string().min(1)).min(1).optional().describe('ID:2-4,7 means some lines of a hunk'),
    files: z.array(path).min(1).optional(),
    turns: z.array(id).min(1).optional(),
    agents: z.array(z.string()).min(1).optional(),
    groups: z.array(z.string()).min(1).optional(),
    proposals: z.array(z.string()).min(1).optional(),
    all: z.literal(true).optional().describe('everything that is pending in the session'),
  })
  .refine((chosen) => Object.values(chosen).some((wish) => wish !== undefined), {
    message: 'say which hunks: hunks, files, turns, agents, groups, proposals or all',
  })
  .meta({
    id: 'HunkSelection',
    description: 'several kinds narrow each other, repeats of one kind add up',
  })
export type HunkSelection = z.infer<typeof hunkSelection>

export const decideBody = z.strictObject({
  ...reviewWish,
  selection: hunkSelection,
  comment: z.string().max(100_000).optional().describe('why; for a rejection the agent can read it'),
  onConflict: onConflict.optional(),
  choices: move.choices,
  results: move.results.describe('for a rejection: files whose text somebody has made of both sides'),
  sides: move.sides,
  dryRun: z.boolean().optional(),
})
export const decision = z
  .object({
    kind: z.enum(['done', 'planned', 'conflicts']),
    op: id.optional().describe('the last of `ops`; roll it back to take it back'),
    ops: z.array(id),
    hunks: z.array(z.string()),
    files: z.array(fileResult),
    conflicts: z.array(conflict),
    pending: count.describe('how many hunks are pending now'),
    patch: z.string().optional(),
  })
  .meta({ id: 'Decision' })
export type Decision = z.infer<typeof decision>

export const proposeBody = z.strictObject({
  ...reviewWish,
  turn: id,
  path,
  content: z.string().nullable().describe('what the file is to be; null: gone'),
  encoding: z.enum(['utf8', 'base64']).default('utf8'),
  group: z.string().min(1).max(500).optional(),
  executable: z.boolean().optional(),
})
export const proposed = z.object({ proposal: z.string(), op: id, session: id }).meta({ id: 'Proposed' })
export type Proposed = z.infer<typeof proposed>

// ---- the store -------------------------------------------------------------------------------------------------------

export const sessionSize = z
  .object({
    session: id,
    agent: z.string(),
    bytes: z.number(),
    turns: count,
    operations: count,
    pinned: z.boolean(),
    active: z.boolean(),
    lastAt: time,
  })
  .meta({ id: 'SessionSize' })
export type SessionSize = z.infer<typeof sessionSize>
export const store = z
  .object({
    bytes: z.number(),
    borrowedBytes: z.number(),
    diskBytes: z.number(),
    packs: count,
    operations: count,
    sessions: z.array(sessionSize),
  })
  .meta({ id: 'Store' })
export type Store = z.infer<typeof store>

export const agentHealth = z
  .object({
    agent: z.string(),
    title: z.string(),
    found: z.boolean().describe('it is there on this machine'),
    installed: z.enum(['user', 'project']).nullable().describe('where its hooks are installed'),
    trusted: z.enum(['yes', 'no', 'unknown', 'not-needed']),
    lastHeard: time.nullable(),
    problems: z.array(z.string()).describe('full sentences, each with what to do'),
  })
  .meta({ id: 'AgentHealth' })
export const agentList = z
  .object({
    agents: z.array(agentHealth),
    waitingEvents: count.describe('told by agents, and not recorded yet'),
  })
  .meta({ id: 'AgentList' })
export type AgentList = z.infer<typeof agentList>

export const gcBody = z.strictObject({
  ifDue: z.boolean().optional().describe('only when it is time again'),
  keepSessions: count.optional(),
  maxAgeMs: z.number().nonnegative().optional(),
  maxBytes: z.number().nonnegative().optional(),
  dryRun: z.boolean().optional(),
})
export const collected = z
  .object({
    dryRun: z.boolean(),
    dropped: z.array(
      z.object({ session: id, because: z.string(), turns: count, operations: count, lastAt: time }),
    ),
    userOperations: count,
    bytesBefore: z.number().optional(),
    bytesAfter: z.number().optional(),
  })
  .meta({ id: 'Collected' })
export type Collected = z.infer<typeof collected>

export const pinned = z.object({ session: id, pinned: z.boolean() }).meta({ id: 'Pinned' })
export type Pinned = z.infer<typeof pinned>

export const purgeBody = z.strictObject({ paths: z.array(path).min(1).max(10_000) })
export const purged = z
  .object({
    paths: z.array(path),
    operations: count,
    versions: count,
    stay: z.array(path).describe('other files with the same bytes, which stay'),
    objects: count,
    bytesBefore: z.number(),
    bytesAfter: z.number(),
  })
  .meta({ id: 'Purged' })
export type Purged = z.infer<typeof purged>

export const doctorBody = z.strictObject({ repair: z.boolean().optional() })
export const findings = z
  .object({
    ok: z.boolean(),
    findings: z.array(z.object({ severity: z.string(), what: z.string(), operation: z.string().optional() })),
  })
  .meta({ id: 'Findings' })
export type Findings = z.infer<typeof findings>

// ---- the session calls that agent wrappers know ------------------------------------------------------------------------

export const revertBody = z.object({
  messageID: z.string().min(1).max(500),
  partID: z.string().min(1).max(500).optional(),
  onConflict: onConflict.optional(),
})
export const wrapperQuery = z.strictObject({
  workspace: id.optional().describe('where several workspaces have a session of this id'),
})
export const wrapperSession = z
  .object({
    id,
    workspace: id,
    agent: z.string(),
    time: z.object({ created: z.number(), updated: z.number() }),
    revert: z.object({ messageID: z.string(), partID: z.string().optional() }).optional(),
  })
  .meta({ id: 'WrapperSession' })
export type WrapperSession = z.infer<typeof wrapperSession>
export const wrapperDiffQuery = wrapperQuery.extend({ messageID: z.string().max(500).optional() })
export const wrapperDiff = z
  .array(
    z.object({
      file: path,
      before: z.string(),
      after: z.string(),
      additions: count,
      deletions: count,
      status: z.enum(['added', 'deleted', 'modified']),
    }),
  )
  .meta({ id: 'WrapperDiff' })
export type WrapperDiff = z.infer<typeof wrapperDiff>

// ---- events ----------------------------------------------------------------------------------------------------------

const moved = {
  op: id,
  session: id.nullable(),
  reverted: z.array(id),
  redone: z.array(id),
  changes: z.array(change),
}
const decided = {
  op: id,
  session: id,
  hunks: z.array(z.object({ hunk: z.string(), path })),
  changes: z.array(change),
}
const ofTurn = { session: id, turn: id }
const ofStep = { ...ofTurn, step: id, tool: z.string(), part: z.string().optional() }

/** What is told live; each has an id of the stream. */
export const serverEvent = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('session.updated'),
      session: id,
      head: id.nullable(),
      turns: count,
      reverted: z.array(id),
    }),
    z.object({
      type: z.literal('turn.began'),
      ...ofTurn,
      agent: z.string(),
      prompt: z.string().optional(),
      message: z.string().optional(),
    }),
    z.object({
      type: z.literal('turn.ended'),
      ...ofTurn,
      status: turnStatus.exclude(['open']),
      message: z.string().optional(),
    }),
    z.object({ type: z.literal('step.began'), ...ofStep, paths: z.array(path) }),
    z.object({ type: z.literal('step.ended'), ...ofStep, changes: z.array(change) }),
    z.object({ type: z.literal('change'), change }),
    z.object({ type: z.literal('undo'), ...moved }),
    z.object({ type: z.literal('redo'), ...moved }),
    z.object({ type: z.literal('restore'), ...moved }),
    z.object({ type: z.literal('rollback'), ...moved }),
    z.object({ type: z.literal('accept'), ...decided }),
    z.object({ type: z.literal('reject'), ...decided }),
    z.object({
      type: z.literal('propose'),
      op: id,
      ...ofTurn,
      proposal: z.string(),
      paths: z.array(path),
    }),
    z.object({ type: z.literal('message.removed'), ...ofTurn, message: z.string().optional() }),
    z.object({
      type: z.literal('part.removed'),
      ...ofTurn,
      step: id,
      message: z.string().optional(),
      part: z.string().optional(),
    }),
    z.object({ type: z.literal('conflict'), session: id.nullable(), conflicts: z.array(conflict) }),
    z.object({ type: z.literal('gc'), bytesBefore: z.number(), bytesAfter: z.number() }),
    z
      .object({ type: z.literal('reset'), reason: z.string() })
      .describe('what was told before is gone: fetch the state anew'),
  ])
  .meta({ id: 'ServerEvent' })
export type ServerEvent = z.infer<typeof serverEvent>
