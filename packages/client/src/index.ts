/**
 * `@unturn/client`: asks a running Unturn server, in a browser or in Node. Imports nothing at run time.
 *
 * ```ts
 * const unturn = new Unturn({ url: location.origin, token })
 * const workspace = unturn.workspace(id)
 * const { sessions, eventId } = await workspace.status()
 * for await (const { event } of workspace.events({ lastEventId: eventId })) console.log(event.type)
 * ```
 */

import type { AnswerOf, BodyOf, QueryOf, RouteName } from '@unturn/server/routes'
import type { Failure, ServerEvent } from '@unturn/server/schemas'
import { type EventOptions, type LiveEvent, liveEvents } from './events.ts'
import { UnturnRequestError } from './failure.ts'

export type {
  AgentList,
  Blame,
  BlameLine,
  Change,
  ChangePage,
  Cleaned,
  Collected,
  Commit,
  Conflict,
  Decision,
  FileList,
  FileResult,
  Findings,
  HunkSelection,
  MoveResult,
  Operation,
  OperationPage,
  PastEntry,
  PastFile,
  Proposal,
  Proposed,
  Rejection,
  Review,
  ReviewFile,
  ReviewHunk,
  ReviewLine,
  Selection,
  ServerEvent,
  ServerInfo,
  Session,
  SessionSize,
  Shown,
  Skipped,
  Status,
  Step,
  Store,
  Tree,
  TreeTurn,
  Turn,
  TurnDetail,
  TurnPage,
  UserEdit,
  WatchState,
  WorkspaceEntry,
} from '@unturn/server/schemas'
export type { ConnectionState, EventOptions, LiveEvent } from './events.ts'
export { UnturnRequestError } from './failure.ts'

export interface ClientOptions {
  /** `http://127.0.0.1:PORT`; in the page that the server gave out: `location.origin`. */
  readonly url: string
  /** A function is asked at every request: a server that was started anew has another token. */
  readonly token: string | (() => string | Promise<string>)
  /** Another way to send requests, through a socket for instance. */
  readonly fetch?: typeof fetch
}

/** Wishes for one request. */
export interface RequestOptions {
  readonly signal?: AbortSignal
}

type Query<Name extends RouteName> = QueryOf<Name>
type Body<Name extends RouteName> = BodyOf<Name>
type Answer<Name extends RouteName> = Promise<AnswerOf<Name>>

/** The server. */
export class Unturn {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  workspace(id: string): WorkspaceClient {
    return new WorkspaceClient(this, id)
  }

  server(options?: RequestOptions): Answer<'readServer'> {
    return this.get('/api/server', {}, options)
  }

  async workspaces(options?: RequestOptions): Promise<AnswerOf<'listWorkspaces'>['workspaces']> {
    const { workspaces } = await this.get<AnswerOf<'listWorkspaces'>>('/api/workspaces', {}, options)
    return workspaces
  }

  /** The workspace of a folder. Through the local socket only. */
  openWorkspace(body: Body<'openWorkspace'>, options?: RequestOptions): Answer<'openWorkspace'> {
    return this.post('/api/workspaces', body, options)
  }

  /** Ends the server. Through the local socket only. */
  stopServer(options?: RequestOptions): Answer<'stopServer'> {
    return this.post('/api/server/stop', {}, options)
  }

  /** To before a message of the agent's, or a part of it. */
  revert(
    session: string,
    body: Body<'revertSession'>,
    query: Query<'revertSession'> = {},
    options?: RequestOptions,
  ): Answer<'revertSession'> {
    return this.post(`/session/${segment(session)}/revert${queryText(query)}`, body, options)
  }

  unrevert(
    session: string,
    query: Query<'unrevertSession'> = {},
    options?: RequestOptions,
  ): Answer<'unrevertSession'> {
    return this.post(`/session/${segment(session)}/unrevert${queryText(query)}`, {}, options)
  }

  sessionDiff(
    session: string,
    query: Query<'diffSession'> = {},
    options?: RequestOptions,
  ): Answer<'diffSession'> {
    return this.get(`/session/${segment(session)}/diff`, query, options)
  }

  /** For routes that have no method here yet. */
  async get<T>(path: string, query: object = {}, options: RequestOptions = {}): Promise<T> {
    const response = await this.request(`${path}${queryText(query)}`, { ...signalOf(options) })
    return (await response.json()) as T
  }

  async post<T>(path: string, body: object, options: RequestOptions = {}): Promise<T> {
    const response = await this.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...signalOf(options),
    })
    return (await response.json()) as T
  }

  /** Whether another token may be had by asking again. */
  get canAskForToken(): boolean {
    return typeof this.#options.token === 'function'
  }

  /** Throws `UnturnRequestError` where the server refused, or could not do it. */
  async request(path: string, init: RequestInit): Promise<Response> {
    const { url, token, fetch: send = fetch } = this.#options
    const key = typeof token === 'string' ? token : await token()
    const response = await send(`${url.replace(/\/$/, '')}${path}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${key}` },
    })
    if (response.ok) return response
    throw await failureOf(response)
  }
}

/** One workspace, by its id. */
export class WorkspaceClient {
  readonly id: string
  readonly #unturn: Unturn
  readonly #base: string

  constructor(unturn: Unturn, id: string) {
    this.#unturn = unturn
    this.id = id
    this.#base = `/api/workspaces/${segment(id)}`
  }

  // ---- looking -----------------------------------------------------------------------------------------------------

  status(options?: RequestOptions): Answer<'readStatus'> {
    return this.#get('', {}, options)
  }

  sessions(options?: RequestOptions): Answer<'listSessions'> {
    return this.#get('/sessions', {}, options)
  }

  /** All turns of a session; of the one last active where none is named. */
  tree(query: Query<'readTree'> = {}, options?: RequestOptions): Answer<'readTree'> {
    return this.#get('/tree', query, options)
  }

  /** Newest first; `next` of the answer is `before` of the page behind it. */
  turns(query: Query<'listTurns'> = {}, options?: RequestOptions): Answer<'listTurns'> {
    return this.#get('/turns', query, options)
  }

  turn(turn: string, options?: RequestOptions): Answer<'readTurn'> {
    return this.#get(`/turns/${segment(turn)}`, {}, options)
  }

  operations(query: Query<'listOperations'> = {}, options?: RequestOptions): Answer<'listOperations'> {
    return this.#get('/operations', query, options)
  }

  changes(query: Query<'listChanges'> = {}, options?: RequestOptions): Answer<'listChanges'> {
    return this.#get('/changes', query, options)
  }

  /** A turn, step, change or operation with its diff. */
  show(id: string, query: Query<'show'> = {}, options?: RequestOptions): Answer<'show'> {
    return this.#get(`/show/${segment(id)}`, query, options)
  }

  diff(query: Query<'diff'> = {}, options?: RequestOptions): Answer<'diff'> {
    return this.#get('/diff', query, options)
  }

  blame(file: string, options?: RequestOptions): Answer<'blame'> {
    return this.#get('/blame', { file }, options)
  }

  /** Names in a folder, or all files, at any point of the history. */
  files(query: Query<'listFiles'> = {}, options?: RequestOptions): Answer<'listFiles'> {
    return this.#get('/files', query, options)
  }

  /** A file at any point of the history. */
  file(query: Query<'readFile'>, options?: RequestOptions): Answer<'readFile'> {
    return this.#get('/file', query, options)
  }

  /** What happens from now on, or since an event; connects again by itself. Ends with `signal`. */
  events(options: EventOptions = {}): AsyncGenerator<LiveEvent<ServerEvent>, void, undefined> {
    return liveEvents(
      (lastId, signal) =>
        this.#unturn.request(`${this.#base}/events`, {
          headers: {
            accept: 'text/event-stream',
            ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
          },
          signal,
        }),
      options,
      this.#unturn.canAskForToken ? [400, 403, 404] : [400, 401, 403, 404],
    )
  }

  // ---- recording ---------------------------------------------------------------------------------------------------

  beginTurn(body: Body<'beginTurn'> = {}, options?: RequestOptions): Answer<'beginTurn'> {
    return this.#post('/turns', body, options)
  }

  endTurn(turn: string, body: Body<'endTurn'> = {}, options?: RequestOptions): Answer<'endTurn'> {
    return this.#post(`/turns/${segment(turn)}/end`, body, options)
  }

  beginStep(body: Body<'beginStep'>, options?: RequestOptions): Answer<'beginStep'> {
    return this.#post('/steps', body, options)
  }

  endStep(step: string, options?: RequestOptions): Answer<'endStep'> {
    return this.#post(`/steps/${segment(step)}/end`, {}, options)
  }

  capture(body: Body<'capture'> = {}, options?: RequestOptions): Answer<'capture'> {
    return this.#post('/capture', body, options)
  }

  // ---- moving ------------------------------------------------------------------------------------------------------

  undo(body: Body<'undo'> = {}, options?: RequestOptions): Answer<'undo'> {
    return this.#post('/undo', body, options)
  }

  redo(body: Body<'redo'> = {}, options?: RequestOptions): Answer<'redo'> {
    return this.#post('/redo', body, options)
  }

  restore(body: Body<'restore'>, options?: RequestOptions): Answer<'restore'> {
    return this.#post('/restore', body, options)
  }

  rollback(body: Body<'rollback'>, options?: RequestOptions): Answer<'rollback'> {
    return this.#post('/rollback', body, options)
  }

  /** Does exactly what a dry run planned, or throws `plan-stale`. */
  applyPlan(plan: string, options?: RequestOptions): Answer<'applyPlan'> {
    return this.#post(`/plans/${segment(plan)}/apply`, {}, options)
  }

  cleanup(session: string, options?: RequestOptions): Answer<'cleanup'> {
    return this.#post(`/sessions/${segment(session)}/cleanup`, {}, options)
  }

  // ---- review --------------------------------------------------------------------------------------------------------

  /** What is pending, as of the last capture. */
  review(query: Query<'readReview'> = {}, options?: RequestOptions): Answer<'readReview'> {
    return this.#get('/review', query, options)
  }

  /** A pending file as a whole, on either side. */
  pendingFile(query: Query<'readPending'>, options?: RequestOptions): Answer<'readPending'> {
    return this.#get('/review/file', query, options)
  }

  /** What is pending, after a look at the files. */
  lookReview(body: Body<'lookReview'> = {}, options?: RequestOptions): Answer<'lookReview'> {
    return this.#post('/review', body, options)
  }

  accept(body: Body<'accept'>, options?: RequestOptions): Answer<'accept'> {
    return this.#post('/accept', body, options)
  }

  reject(body: Body<'reject'>, options?: RequestOptions): Answer<'reject'> {
    return this.#post('/reject', body, options)
  }

  /** Offers a change without writing it. */
  propose(body: Body<'propose'>, options?: RequestOptions): Answer<'propose'> {
    return this.#post('/proposals', body, options)
  }

  // ---- the store -----------------------------------------------------------------------------------------------------

  store(options?: RequestOptions): Answer<'readStore'> {
    return this.#get('/store', {}, options)
  }

  pin(session: string, options?: RequestOptions): Answer<'pin'> {
    return this.#post(`/sessions/${segment(session)}/pin`, {}, options)
  }

  unpin(session: string, options?: RequestOptions): Answer<'unpin'> {
    return this.#post(`/sessions/${segment(session)}/unpin`, {}, options)
  }

  /** Are the hooks of agents installed, may they run, and have they been heard. */
  agents(options?: RequestOptions): Answer<'listAgents'> {
    return this.#get('/agents', {}, options)
  }

  gc(body: Body<'gc'> = {}, options?: RequestOptions): Answer<'gc'> {
    return this.#post('/gc', body, options)
  }

  purge(paths: readonly string[], options?: RequestOptions): Answer<'purge'> {
    return this.#post('/purge', { paths }, options)
  }

  doctor(body: Body<'doctor'> = {}, options?: RequestOptions): Answer<'doctor'> {
    return this.#post('/doctor', body, options)
  }

  #get<T>(path: string, query: object, options: RequestOptions | undefined): Promise<T> {
    return this.#unturn.get(`${this.#base}${path}`, query, options)
  }

  #post<T>(path: string, body: object, options: RequestOptions | undefined): Promise<T> {
    return this.#unturn.post(`${this.#base}${path}`, body, options)
  }
}

function signalOf({ signal }: RequestOptions): Pick<RequestInit, 'signal'> {
  return signal === undefined ? {} : { signal }
}

async function failureOf(response: Response): Promise<UnturnRequestError> {
  const text = await response.text()
  try {
    const { error } = JSON.parse(text) as Failure
    return new UnturnRequestError(response.status, error)
  } catch {
    // Not our server, or it died in the middle of the answer.
    const message = `The server answered ${response.status} and did not say why.`
    return new UnturnRequestError(response.status, { code: 'internal', message, hint: '', data: {} })
  }
}

function queryText(query: object): string {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) pairs.push(`${name}=${segment(String(one))}`)
  }
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/**
 * Percent-encoded. A file name that is not UTF-8 has a lone surrogate for each odd byte: those become that byte, which
 * `encodeURIComponent` would throw on.
 */
function segment(text: string): string {
  let out = ''
  for (const char of text) {
    const code = char.charCodeAt(0)
    if (char.length === 1 && code >= 0xdc80 && code <= 0xdcff) out += `%${(code - 0xdc00).toString(16)}`
    else if (char.length === 1 && code >= 0xd800 && code <= 0xdfff) out += '%EF%BF%BD'
    else out += encodeURIComponent(char)
  }
  // A segment of dots would be taken for a folder, by whoever handles the address on the way.
  return /^\.{1,2}$/.test(out) ? out.replaceAll('.', '%2E') : out
}
