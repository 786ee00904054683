/** What the parts of the extension know of a folder: its workspace, whom to ask about it, and what happens in it. */

import type { ServerEvent, WorkspaceClient } from '@unturn/client'
import type * as vscode from 'vscode'

export type Client = WorkspaceClient
export type WorkspaceEvent = ServerEvent

/**
 * `empty`: the server is there, and nothing has been recorded in this folder yet. `offline`: no server can be had; what
 * stands in the way is `trouble`.
 */
export type RootState = 'connected' | 'connecting' | 'empty' | 'offline'

export interface Root {
  readonly folder: vscode.WorkspaceFolder
  readonly trusted: () => boolean
  /** Whom to ask about this folder's workspace; rejects with a message for people. */
  client(): Promise<Client>
  /** What happens, live. A `reset` means: fetch the state anew. One comes after every connection that was made again. */
  readonly onEvent: vscode.Event<WorkspaceEvent>
  readonly onState: vscode.Event<RootState>
  readonly state: RootState
  /** For people; set while offline. */
  readonly trouble: string | undefined
  /** Offline, because the command line was not found. */
  readonly lacksCommand: boolean
  /** The workspace's id; undefined until the server has named it. Two folders of one repository have the same. */
  readonly workspace: string | undefined
  /**
   * The path that the server knows a file by: relative to the workspace, which may begin above the folder. Undefined:
   * it is not in the workspace, or the workspace is not known yet.
   */
  pathOf(uri: vscode.Uri): string | undefined
  /** The file that the server means. */
  uriOf(path: string): vscode.Uri
}

export interface Roots {
  all(): readonly Root[]
  /** The folder that a file belongs to. */
  of(uri: vscode.Uri): Root | undefined
  /** Folders came or went. */
  readonly onChange: vscode.Event<void>
}
