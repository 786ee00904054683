/**
 * Where the running server of this user is: `server.json` in a folder that nobody else may look into. It has the token,
 * too, so whoever can read it may ask. Light: commands load this and nothing else of the server.
 */

import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeHome, textOfBytes, UnturnError } from '@unturn/core'

export type Env = Readonly<Record<string, string | undefined>>

export interface Whereabouts {
  readonly version: string
  readonly pid: number
  readonly port: number
  /** A socket, or on Windows a named pipe. */
  readonly socket: string
  readonly token: string
  readonly startedAt: string
}

export function serverFolder(env: Env): string {
  return join(textOfBytes(storeHome(env)), 'server')
}

/** What is written there, if it can be believed. Whether that server still lives is another question. */
export function readWhereabouts(env: Env): Whereabouts | undefined {
  const folder = serverFolder(env)
  try {
    const json = readFileSync(join(folder, 'server.json'), 'utf8')
    return isOursAlone(folder) ? parseWhereabouts(json) : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

function parseWhereabouts(json: string): Whereabouts | undefined {
  try {
    const { version, pid, port, socket, token, startedAt } = JSON.parse(json) as Partial<Whereabouts>
    const isWhole =
      typeof version === 'string' &&
      typeof pid === 'number' &&
      typeof port === 'number' &&
      typeof socket === 'string' &&
      typeof token === 'string' &&
      typeof startedAt === 'string'
    return isWhole ? { version, pid, port, socket, token, startedAt } : undefined
  } catch {
    return undefined // half written by somebody who was killed: there is no server behind it
  }
}

/** Somebody else's folder could hold somebody else's server, and it would be told every prompt. */
function isOursAlone(folder: string): boolean {
  if (process.platform === 'win32') return true
  const { uid, mode } = lstatSync(folder)
  return uid === process.geteuid?.() && (mode & 0o077) === 0
}

/** Makes the folder, or refuses one that is not ours alone. */
export function ensureServerFolder(env: Env): string {
  const folder = serverFolder(env)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isOursAlone(folder)) throw unsafeFolder(folder)
  return folder
}

/**
 * Says where we are, unless a living server has said so already: then that one's whereabouts are the answer.
 */
export async function claim(
  env: Env,
  own: Whereabouts,
  isAlive: (other: Whereabouts) => Promise<boolean>,
): Promise<Whereabouts | 'claimed'> {
  const folder = ensureServerFolder(env)
  const path = join(folder, 'server.json')
  const temporary = join(folder, `.${process.pid}-${randomBytes(6).toString('hex')}`)
  writeFileSync(temporary, `${JSON.stringify(own)}\n`, { mode: 0o600, flag: 'wx' })
  try {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      if (linked(temporary, path)) return 'claimed'
      const other = readWhereabouts(env)
      if (other !== undefined && (await isAlive(other))) return other
      removeDead(path, other)
    }
    throw new Error('server.json changes hands too often')
  } finally {
    rmSync(temporary, { force: true })
  }
}

// A link is made or not, whoever else tries at the same time.
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

// Moved away before it is judged for good: a new server may have come between the look and the removal.
function removeDead(path: string, dead: Whereabouts | undefined): void {
  const aside = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  const moved = parseWhereabouts(readFileSync(aside, 'utf8'))
  if (moved !== undefined && moved.token !== dead?.token) linked(aside, path)
  unlinkSync(aside)
}

/** Takes our own whereabouts away, and nobody else's. */
export function unclaim(env: Env, own: Whereabouts): void {
  const now = readWhereabouts(env)
  if (now?.pid === own.pid && now.startedAt === own.startedAt)
    rmSync(join(serverFolder(env), 'server.json'), { force: true })
  if (process.platform !== 'win32') rmSync(own.socket, { force: true })
}

// The kernel takes about a hundred bytes for the name of a socket.
const longestSocketName = 100

/** A name for a new socket, in a folder that nobody else may look into. */
export function newSocketName(env: Env): string {
  const id = randomBytes(8).toString('hex')
  if (process.platform === 'win32') return `\\\\.\\pipe\\unturn-${id}`
  const near = join(ensureServerFolder(env), `${id.slice(0, 8)}.sock`)
  if (Buffer.byteLength(near) <= longestSocketName) return near
  const hash = createHash('sha256').update(serverFolder(env)).digest('hex').slice(0, 12)
  const folder = join(env.XDG_RUNTIME_DIR ?? tmpdir(), `unturn-${hash}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isOursAlone(folder)) throw unsafeFolder(folder)
  return join(folder, `${id.slice(0, 8)}.sock`)
}

export function makePrivate(socket: string): void {
  if (process.platform !== 'win32') chmodSync(socket, 0o600)
}

function unsafeFolder(folder: string): UnturnError {
  return new UnturnError(
    'store-unsafe',
    { folder, reason: 'others than you may look into it' },
    {
      message: `The folder ${folder} is not safe to use: it belongs to somebody else, or others may look into it. No server was started.`,
      hint: `Look at who changed it. If all is well: chmod 700 ${folder}`,
    },
  )
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
