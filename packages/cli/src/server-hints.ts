/**
 * What a running server's watcher knows, for the looks of this process; and a server on demand where looks take long.
 * Everything works without: no server, a dead one, or one of another version costs a full look and nothing else.
 */

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  type AbsPath,
  bytesOfText,
  type DirtyFolders,
  type FileWatch,
  storeHome,
  type TurnId,
  textOfBytes,
  type WatchedLook,
  type Workspace,
  workspaceId,
} from '@unturn/core'
import { readWhereabouts } from '@unturn/server/whereabouts'
import { version } from './version.ts'

type Env = NodeJS.ProcessEnv
type Place = 'everywhere' | 'turn' | 'step'

interface Hints {
  readonly dirty: { readonly folders: readonly string[]; readonly trees: readonly string[] } | null
  readonly unaudited: readonly string[]
}

const noHints: Hints = { dirty: null, unaudited: [] }
// To wait longer would cost more than the look that is saved.
const patienceMs = 1_500

export class ServerHints {
  readonly #env: Env
  #longestMs = 0

  constructor(env: Env) {
    this.#env = env
  }

  /** For `openWorkspace`. */
  readonly watch = (root: AbsPath): FileWatch => ({
    look: (at) => this.#look(root, at),
    unaudited: async () => (await this.#ask(root, 'everywhere')).unaudited as readonly TurnId[],
  })

  async #look(root: AbsPath, at: Place): Promise<WatchedLook> {
    const { dirty } = at === 'everywhere' ? noHints : await this.#ask(root, at)
    if (dirty !== null) return { dirty: foldersOf(dirty), done: () => {} }
    const began = performance.now()
    return {
      done: () => {
        this.#longestMs = Math.max(this.#longestMs, performance.now() - began)
      },
    }
  }

  async #ask(root: AbsPath, at: Place): Promise<Hints> {
    const server = readWhereabouts(this.#env)
    if (server?.version !== version) return noHints
    try {
      const { ask } = await import('@unturn/server/ask')
      const path = `/api/workspaces/${workspaceId(root, this.#env)}/hints`
      const answer = await ask(server, { method: 'POST', path, body: { at } }, { answerMs: patienceMs })
      return answer?.status === 200 ? hintsOf(answer.json) : noHints
    } catch {
      return noHints // it ended while it was asked, or is too busy: only a saving is lost
    }
  }

  /** After the command's own work. Nobody waits for the server to come up. */
  startServerIfSlow(workspace: Workspace): void {
    const { isOn, afterMs } = serverWish(this.#env)
    if (!isOn || this.#longestMs <= afterMs || isSmall(workspace)) return
    if (readWhereabouts(this.#env)?.version === version) return // it is there, or coming
    startServer(this.#env)
  }
}

function hintsOf(json: unknown): Hints {
  const { dirty, unaudited } = (json ?? {}) as Partial<Hints>
  const isHint = dirty === null || (areTexts(dirty?.folders) && areTexts(dirty?.trees))
  return dirty !== undefined && isHint && areTexts(unaudited) ? { dirty, unaudited } : noHints
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function foldersOf({ folders, trees }: NonNullable<Hints['dirty']>): DirtyFolders {
  return { folders: new Set(folders.map(bytesOfText)), trees: new Set(trees.map(bytesOfText)) }
}

const fewFiles = 2_000

// A look at so few files took long because the machine was busy: one more process would not help.
function isSmall(workspace: Workspace): boolean {
  return workspace.engine.stat.cache.size < fewFiles
}

export interface ServerWish {
  readonly isOn: boolean
  readonly afterMs: number
}

/**
 * `UNTURN_SERVER=0` turns servers on demand off, `UNTURN_SERVER_AFTER_MS` says how long a look may take. For good:
 * `{"server": {"onDemand": false, "afterMs": 150}}` in `config.json` of the store's home.
 */
export function serverWish(env: Env): ServerWish {
  const { onDemand = true, afterMs = 150 } = readConfig(env)
  const typed = Number(env.UNTURN_SERVER_AFTER_MS)
  return {
    isOn: env.UNTURN_SERVER === undefined ? onDemand : env.UNTURN_SERVER !== '0',
    afterMs: env.UNTURN_SERVER_AFTER_MS !== undefined && typed >= 0 ? typed : afterMs,
  }
}

function readConfig(env: Env): { readonly onDemand?: boolean; readonly afterMs?: number } {
  try {
    const json: unknown = JSON.parse(readFileSync(join(textOfBytes(storeHome(env)), 'config.json'), 'utf8'))
    const server = typeof json === 'object' && json !== null && 'server' in json ? json.server : {}
    const { onDemand, afterMs } = (server ?? {}) as {
      readonly onDemand?: unknown
      readonly afterMs?: unknown
    }
    return {
      ...(typeof onDemand === 'boolean' ? { onDemand } : {}),
      ...(typeof afterMs === 'number' ? { afterMs } : {}),
    }
  } catch {
    return {} // there is none, or it cannot be read: then nobody wished for anything
  }
}

/** A server that outlives this command, and ends when nobody needs it. */
export function startServer(env: Env): void {
  const script = process.argv[1]
  if (script === undefined) return
  const child = spawn(process.execPath, [script, 'serve', '--quiet', '--idle', '30'], {
    cwd: env.HOME || homedir(), // not in the project, whose folder could then not be removed on some systems
    detached: true,
    env,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => {}) // the next command tries again
  child.unref()
}
