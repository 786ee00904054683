/** Every route with what it takes and answers. The app, the OpenAPI document and the client's types are made of this. */

import type { z } from 'zod'
import * as s from './schemas.ts'

export interface RouteSpec {
  readonly method: 'get' | 'post'
  /** Parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodObject
  readonly answer: z.ZodType
  /** Only through the local socket: no page in a browser may ask for it, whatever it holds. */
  readonly only?: 'socket'
}

const w = '/api/workspaces/{workspace}'

export const routes = {
  readServer: {
    method: 'get',
    path: '/api/server',
    summary: 'the server itself',
    answer: s.serverInfo,
  },
  stopServer: {
    method: 'post',
    path: '/api/server/stop',
    summary: 'end the server, once what it is doing is done',
    body: s.nothingBody,
    answer: s.nothingBody,
    only: 'socket',
  },
  listWorkspaces: {
    method: 'get',
    path: '/api/workspaces',
    summary: 'every workspace that has a history on this machine',
    answer: s.workspaceList,
  },
  openWorkspace: {
    method: 'post',
    path: '/api/workspaces',
    summary: 'the workspace of a folder; its store is made where there is none',
    body: s.openWorkspaceBody,
    answer: s.workspaceEntry,
    only: 'socket',
  },
  readStatus: { method: 'get', path: w, summary: 'where things stand', answer: s.status },
  listSessions: { method: 'get', path: `${w}/sessions`, summary: 'its sessions', answer: s.sessionList },
  readTree: {
    method: 'get',
    path: `${w}/tree`,
    summary: 'all turns of a session as a tree, with the edits of the user between',
    query: s.treeQuery,
    answer: s.tree,
  },
  listTurns: {
    method: 'get',
    path: `${w}/turns`,
    summary: 'turns, newest first, page by page; of all sessions unless one is named',
    query: s.logQuery,
    answer: s.turnPage,
  },
  readTurn: {
    method: 'get',
    path: `${w}/turns/{turn}`,
    summary: 'one turn with its steps and changes',
    answer: s.turnDetail,
  },
  listOperations: {
    method: 'get',
    path: `${w}/operations`,
    summary: 'everything that happened, newest first, page by page',
    query: s.operationQuery,
    answer: s.operationPage,
  },
  listChanges: {
    method: 'get',
    path: `${w}/changes`,
    summary: 'single changes, newest first, page by page',
    query: s.changeQuery,
    answer: s.changePage,
  },
  show: {
    method: 'get',
    path: `${w}/show/{id}`,
    summary: 'a turn, step, change or operation with its diff',
    query: s.showQuery,
    answer: s.shown,
  },
  diff: {
    method: 'get',
    path: `${w}/diff`,
    summary: 'the difference between two points; `now` is as of the last capture',
    query: s.diffQuery,
    answer: s.diff,
  },
  blame: {
    method: 'get',
    path: `${w}/blame`,
    summary: 'each line of a file with who wrote it, as of the last capture',
    query: s.blameQuery,
    answer: s.blame,
  },
  listFiles: {
    method: 'get',
    path: `${w}/files`,
    summary: 'names in a folder, or all files, at any point of the history',
    query: s.filesQuery,
    answer: s.fileList,
  },
  readFile: {
    method: 'get',
    path: `${w}/file`,
    summary: 'a file at any point of the history',
    query: s.fileQuery,
    answer: s.pastFile,
  },
  beginTurn: {
    method: 'post',
    path: `${w}/turns`,
    summary: 'begin a turn',
    body: s.beginTurnBody,
    answer: s.begunTurn,
  },
  endTurn: {
    method: 'post',
    path: `${w}/turns/{turn}/end`,
    summary: 'end a turn',
    body: s.endTurnBody,
    answer: s.endedTurn,
  },
  beginStep: {
    method: 'post',
    path: `${w}/steps`,
    summary: 'begin a step of a turn',
    body: s.beginStepBody,
    answer: s.begunStep,
  },
  endStep: {
    method: 'post',
    path: `${w}/steps/{step}/end`,
    summary: 'end a step',
    body: s.nothingBody,
    answer: s.endedStep,
  },
  capture: {
    method: 'post',
    path: `${w}/capture`,
    summary: 'take in what changed since the last operation',
    body: s.captureBody,
    answer: s.captured,
  },
  readHints: {
    method: 'post',
    path: `${w}/hints`,
    summary: 'what the watcher knows, for whoever looks at the files himself',
    body: s.hintsBody,
    answer: s.hints,
    only: 'socket',
  },
  undo: {
    method: 'post',
    path: `${w}/undo`,
    summary: 'take the last turns out of the files',
    body: s.undoBody,
    answer: s.moveResult,
  },
  redo: {
    method: 'post',
    path: `${w}/redo`,
    summary: 'put undone turns back',
    body: s.redoBody,
    answer: s.moveResult,
  },
  restore: {
    method: 'post',
    path: `${w}/restore`,
    summary: 'go to any point of the session',
    body: s.restoreBody,
    answer: s.moveResult,
  },
  rollback: {
    method: 'post',
    path: `${w}/rollback`,
    summary: 'take selected changes out, wherever they are',
    body: s.rollbackBody,
    answer: s.moveResult,
  },
  applyPlan: {
    method: 'post',
    path: `${w}/plans/{plan}/apply`,
    summary: 'do exactly what a dry run planned, or refuse',
    body: s.nothingBody,
    answer: s.moveResult,
  },
  cleanup: {
    method: 'post',
    path: `${w}/sessions/{session}/cleanup`,
    summary: 'remove the reverted turns of a session for good',
    body: s.nothingBody,
    answer: s.cleaned,
  },
  pin: {
    method: 'post',
    path: `${w}/sessions/{session}/pin`,
    summary: 'keep a session: gc leaves it alone',
    body: s.nothingBody,
    answer: s.pinned,
  },
  unpin: {
    method: 'post',
    path: `${w}/sessions/{session}/unpin`,
    summary: 'let gc drop a session again when it is old',
    body: s.nothingBody,
    answer: s.pinned,
  },
  readReview: {
    method: 'get',
    path: `${w}/review`,
    summary: 'what is pending, hunk by hunk, as of the last capture',
    query: s.reviewQuery,
    answer: s.review,
  },
  readPending: {
    method: 'get',
    path: `${w}/review/file`,
    summary: 'a pending file as a whole, on either side, as of the last capture',
    query: s.pendingFileQuery,
    answer: s.pastFile,
  },
  lookReview: {
    method: 'post',
    path: `${w}/review`,
    summary: 'what is pending, after a look at the files; what was committed counts as accepted',
    body: s.reviewBody,
    answer: s.review,
  },
  accept: {
    method: 'post',
    path: `${w}/accept`,
    summary: 'take pending hunks as they are; proposals are written to the disk',
    body: s.decideBody,
    answer: s.decision,
  },
  reject: {
    method: 'post',
    path: `${w}/reject`,
    summary: 'put pending hunks back; the edits of the user stay',
    body: s.decideBody,
    answer: s.decision,
  },
  propose: {
    method: 'post',
    path: `${w}/proposals`,
    summary: 'offer a change without writing it',
    body: s.proposeBody,
    answer: s.proposed,
  },
  readStore: { method: 'get', path: `${w}/store`, summary: 'what the history takes', answer: s.store },
  listAgents: {
    method: 'get',
    path: `${w}/agents`,
    summary: 'the agents of this machine: are their hooks installed, may they run, and have they been heard',
    answer: s.agentList,
  },
  gc: {
    method: 'post',
    path: `${w}/gc`,
    summary: 'drop old sessions and pack the rest',
    body: s.gcBody,
    answer: s.collected,
  },
  purge: {
    method: 'post',
    path: `${w}/purge`,
    summary: 'remove paths from all history, and prove that they are gone',
    body: s.purgeBody,
    answer: s.purged,
  },
  doctor: {
    method: 'post',
    path: `${w}/doctor`,
    summary: 'check the store; repair it where asked to',
    body: s.doctorBody,
    answer: s.findings,
  },
  revertSession: {
    method: 'post',
    path: '/session/{session}/revert',
    summary: 'to before a message, or a part of it: that and everything later goes out of the files',
    query: s.wrapperQuery,
    body: s.revertBody,
    answer: s.wrapperSession,
  },
  unrevertSession: {
    method: 'post',
    path: '/session/{session}/unrevert',
    summary: 'everything that was reverted comes back',
    query: s.wrapperQuery,
    body: s.nothingBody,
    answer: s.wrapperSession,
  },
  diffSession: {
    method: 'get',
    path: '/session/{session}/diff',
    summary: 'the files of a session, or of one message, before and after',
    query: s.wrapperDiffQuery,
    answer: s.wrapperDiff,
  },
} as const satisfies Readonly<Record<string, RouteSpec>>

export type Routes = typeof routes
export type RouteName = keyof Routes

export type AnswerOf<Name extends RouteName> = z.output<Routes[Name]['answer']>
export type QueryOf<Name extends RouteName> = Routes[Name] extends {
  readonly query: infer Q extends z.ZodType
}
  ? z.input<Q>
  : Record<string, never>
export type BodyOf<Name extends RouteName> = Routes[Name] extends { readonly body: infer B extends z.ZodType }
  ? z.input<B>
  : Record<string, never>

/** Parsed, as the handler gets them. */
export type ParsedQuery<Name extends RouteName> = Routes[Name] extends {
  readonly query: infer Q extends z.ZodType
}
  ? z.output<Q>
  : Record<string, never>
export type ParsedBody<Name extends RouteName> = Routes[Name] extends {
  readonly body: infer B extends z.ZodType
}
  ? z.output<B>
  : Record<string, never>

type Params<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Params<Rest>
  : never
export type ParamsOf<Name extends RouteName> = Readonly<Record<Params<Routes[Name]['path']>, string>>
