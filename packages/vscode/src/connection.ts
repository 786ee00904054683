/**
 * One folder's connection to the server: found by the command line, which starts a server where none runs; listened to
 * for as long as the folder is open; made again when it breaks.
 */

import { realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { Unturn } from '@unturn/client'
import * as vscode from 'vscode'
import { CommandError } from './command.ts'
import type { Client, Root, RootState, WorkspaceEvent } from './root.ts'
import { findServer } from './server-address.ts'
import { textOf } from './words.ts'

// A server that was killed and comes again by itself is back within this time; after it the command line is asked.
const lostForMs = 1_500
const emptyLookMs = 2_000
// Between two connections, so that a server that refuses every time is not asked all the time.
const againMs = 200
const firstWaitMs = 2_000
const longestWaitMs = 60_000
const clientWaitMs = 20_000

export interface ConnectionOptions {
  readonly folder: vscode.WorkspaceFolder
  readonly command: () => string
  readonly log: (line: string) => void
}

export class Connection implements Root, vscode.Disposable {
  readonly folder: vscode.WorkspaceFolder
  readonly #options: ConnectionOptions
  readonly #events = new vscode.EventEmitter<WorkspaceEvent>()
  readonly #states = new vscode.EventEmitter<RootState>()
  readonly #ending = new AbortController()
  #wake: () => void = () => {}
  #state: RootState = 'connecting'
  #trouble: string | undefined
  #lacksCommand = false
  #client: Client | undefined
  #workspaceRoot: string | undefined
  #folderPath: string
  #lastEventId: string | undefined

  readonly onEvent = this.#events.event
  readonly onState = this.#states.event

  constructor(options: ConnectionOptions) {
    this.folder = options.folder
    this.#folderPath = options.folder.uri.fsPath
    this.#options = options
    void this.#stayConnected()
  }

  get state(): RootState {
    return this.#state
  }

  get trouble(): string | undefined {
    return this.#trouble
  }

  get lacksCommand(): boolean {
    return this.#lacksCommand
  }

  get workspace(): string | undefined {
    return this.#client?.id
  }

  readonly trusted = () => vscode.workspace.isTrusted

  async client(): Promise<Client> {
    if (this.#state === 'connecting') await this.#settled()
    if (this.#state === 'connected' && this.#client !== undefined) return this.#client
    throw new Error(this.#whyNot())
  }

  #whyNot(): string {
    if (this.#state === 'empty')
      return `Nothing has been recorded in ${this.folder.name} yet. The first turn of a connected agent will be.`
    return this.#trouble ?? 'The Unturn server does not answer. Your files are as they were.'
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        listening.dispose()
        resolve()
      }
      const timer = setTimeout(done, clientWaitMs)
      const listening = this.onState((state) => {
        if (state !== 'connecting') done()
      })
    })
  }

  /** Tries at once what would be tried in a while. */
  retry(): void {
    if (this.#state === 'offline') this.#become('connecting')
    this.#wake()
  }

  pathOf(uri: vscode.Uri): string | undefined {
    if (uri.scheme !== this.folder.uri.scheme || this.#workspaceRoot === undefined) return undefined
    const inFolder = below(this.folder.uri.fsPath, uri.fsPath)
    const real = inFolder === undefined ? uri.fsPath : join(this.#folderPath, inFolder)
    return below(this.#workspaceRoot, real)?.replaceAll(sep, '/')
  }

  uriOf(path: string): vscode.Uri {
    // A name that is not UTF-8 has halves of characters in it, which no address can hold.
    const real = join(this.#workspaceRoot ?? this.#folderPath, path.toWellFormed())
    const inFolder = below(this.#folderPath, real)
    if (inFolder === undefined) return this.folder.uri.with({ path: vscode.Uri.file(real).path })
    return vscode.Uri.joinPath(this.folder.uri, ...inFolder.split(sep))
  }

  async #stayConnected(): Promise<void> {
    let waitMs = firstWaitMs
    while (!this.#ending.signal.aborted) {
      // Who is offline stays so while it is tried again: what is told about it would otherwise come and go.
      if (this.#state !== 'offline') this.#become('connecting')
      try {
        await this.#connectAndListen(() => {
          waitMs = firstWaitMs
        })
        await this.#pause(againMs)
      } catch (error) {
        if (this.#ending.signal.aborted) return
        this.#trouble = textOf(error)
        this.#lacksCommand = error instanceof CommandError && error.reason === 'not-found'
        this.#options.log(`${this.folder.name}: ${this.#trouble}`)
        this.#become('offline')
        await this.#pause(waitMs)
        waitMs = Math.min(waitMs * 2, longestWaitMs)
      }
    }
  }

  async #connectAndListen(onConnected: () => void): Promise<void> {
    const { signal } = this.#ending
    const address = await findServer(this.#options.command(), this.folder.uri.fsPath, { signal })
    const unturn = new Unturn(address)
    if (address.workspace === null) return this.#waitForFirstTurn(unturn)
    const client = unturn.workspace(address.workspace)
    const { root, eventId } = await client.status({ signal })
    this.#folderPath = await realpath(this.folder.uri.fsPath).catch(() => this.folder.uri.fsPath)
    this.#workspaceRoot = root
    this.#client = client
    onConnected()
    this.#options.log(`${this.folder.name}: connected to ${address.url}`)
    await this.#listen(client, this.#lastEventId ?? eventId)
  }

  /** Until the connection has been lost for a while, or the server refuses. */
  async #listen(client: Client, lastEventId: string): Promise<void> {
    const stopping = new AbortController()
    const stop = () => stopping.abort()
    this.#ending.signal.addEventListener('abort', stop)
    let lost: NodeJS.Timeout | undefined
    const onState = (state: 'connecting' | 'open' | 'lost') => {
      if (state === 'open') {
        clearTimeout(lost)
        lost = undefined
        this.#become('connected')
      } else if (state === 'lost') {
        this.#become('connecting')
        lost ??= setTimeout(stop, lostForMs)
      }
    }
    try {
      for await (const { event, id } of client.events({ lastEventId, signal: stopping.signal, onState })) {
        this.#lastEventId = id
        this.#events.fire(event)
      }
    } catch (error) {
      // Another server has another token: the command line knows it.
      this.#options.log(`${this.folder.name}: ${textOf(error)}`)
    } finally {
      clearTimeout(lost)
      this.#ending.signal.removeEventListener('abort', stop)
    }
  }

  /** Returns once some workspace came or went: it may be this one. Asking does not make one. */
  async #waitForFirstTurn(unturn: Unturn): Promise<void> {
    const { signal } = this.#ending
    const idsOf = async () =>
      (await unturn.workspaces({ signal }))
        .map(({ id }) => id)
        .sort()
        .join()
    const before = await idsOf()
    this.#become('empty')
    while (!signal.aborted) {
      await this.#pause(emptyLookMs)
      // A server that has ended meanwhile is no trouble: it is found, or started, as at first.
      if ((await idsOf().catch(() => undefined)) !== before) return
    }
  }

  #become(state: RootState): void {
    if (state !== 'offline') {
      this.#trouble = undefined
      this.#lacksCommand = false
    }
    if (state === this.#state) return
    this.#state = state
    this.#states.fire(state)
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  dispose(): void {
    this.#ending.abort()
    this.#wake()
    this.#events.dispose()
    this.#states.dispose()
  }
}

/** The path from the folder to what is in it; undefined where it is not. */
function below(folder: string, path: string): string | undefined {
  const way = relative(folder, path)
  return way === '' || way === '..' || way.startsWith(`..${sep}`) || way === path ? undefined : way
}
