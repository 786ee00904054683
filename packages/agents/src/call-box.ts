/**
 * The attendant's letter box, for hooks that are no Node (see unturn-hook.sh): each call is a payload in a file, with a few
 * words about who calls in a second one. A line through a pipe says that it is there; the answer goes back through a pipe
 * that the caller has made. A call whose caller has gone without an answer stays, and is recorded by whoever looks next.
 */

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { privateFolder, replaceFile } from './desk.ts'
import { type Environment, findTeller, type Teller } from './events.ts'

export interface BoxedCall {
  /** Which Unturn the hook was installed for: its Node and its command. */
  readonly node: string
  readonly entry: string
  readonly agent: Teller
  readonly event: string
  /** The process above the hook. */
  readonly parent: string
  readonly env: Environment
  readonly payload: unknown
}

export interface Posted extends BoxedCall {
  /** Undefined: the caller is to do it by himself. False: he did not wait any longer. */
  readonly answer: (text: string | undefined) => boolean
}

const callsFolder = 'calls'

export class CallBox {
  readonly #desk: string
  readonly #onCall: (call: Posted) => void
  #pipe: Socket | undefined
  #received = ''

  constructor(desk: string, onCall: (call: Posted) => void) {
    this.#desk = desk
    this.#onCall = onCall
  }

  /** Does nothing where there are no such pipes. */
  open(): void {
    const path = join(this.#desk, 'hook.in')
    privateFolder(this.#desk, callsFolder)
    rmSync(path, { force: true })
    if (spawnSync('mkfifo', ['-m', '600', path], { stdio: 'ignore' }).status !== 0) return
    // For writing as well: otherwise the pipe would be at its end whenever nobody writes.
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    this.#pipe = new Socket({ fd, readable: true, writable: false })
    this.#pipe.setEncoding('utf8').on('data', (text) => this.#take(String(text)))
    this.#pipe.on('error', () => {}) // callers get no answer, and do it by themselves
    replaceFile(join(this.#desk, 'hook.pid'), `${process.pid}\n`)
  }

  close(): void {
    rmSync(join(this.#desk, 'hook.pid'), { force: true })
    rmSync(join(this.#desk, 'hook.in'), { force: true })
    this.#pipe?.destroy()
  }

  #take(text: string): void {
    const names = (this.#received + text).split('\n')
    this.#received = names.pop() ?? ''
    for (const name of names) if (/^\d+-\d+$/.test(name)) this.#open(name)
  }

  #open(name: string): void {
    const call = readCall(this.#desk, name)
    let isAnswered = false
    const answer = (text: string | undefined) => {
      if (isAnswered) return false
      isAnswered = true
      return this.#answer(name, text)
    }
    if (call === undefined) answer(undefined)
    else this.#onCall({ ...call, answer })
  }

  // The caller holds its pipe open, so nobody waits here; one that has gone has left a pipe that nobody reads.
  #answer(name: string, text: string | undefined): boolean {
    const path = join(this.#desk, callsFolder, name)
    const isHeard = writeQuietly(
      `${path}.out`,
      text === undefined ? 'no\n' : `ok${text === '' ? '' : ` ${text}`}\n`,
    )
    if (text !== undefined) removeCall(this.#desk, name)
    else rmSync(`${path}.out`, { force: true }) // its payload is still needed
    return isHeard
  }
}

function writeQuietly(pipe: string, text: string): boolean {
  try {
    const fd = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
    writeSync(fd, text)
    closeSync(fd)
    return true
  } catch {
    return false
  }
}

function removeCall(desk: string, name: string): void {
  for (const ending of ['json', 'call', 'out'])
    rmSync(join(desk, callsFolder, `${name}.${ending}`), { force: true })
}

function readCall(desk: string, name: string): BoxedCall | undefined {
  try {
    const path = join(desk, callsFolder, name)
    const [node = '', entry = '', who = '', event = '', parent = '', ...rest] = readFileSync(
      `${path}.call`,
      'utf8',
    ).split('\0')
    const agent = findTeller(who)
    const payload: unknown = JSON.parse(readFileSync(`${path}.json`, 'utf8'))
    return agent === undefined ? undefined : { node, entry, agent, event, parent, env: envOf(rest), payload }
  } catch {
    return undefined // no payload, or half of one: then there is nothing that Node could do with it either
  }
}

const told = [
  'PWD',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_PROJECT_DIR',
  'CLAUDE_PID',
  'GEMINI_SESSION_ID',
  'GEMINI_PROJECT_DIR',
] as const

function envOf(values: readonly string[]): Environment {
  return Object.fromEntries(told.map((name, at) => [name, values[at] || undefined]))
}

/** Calls whose callers have gone, oldest first. They are taken out of the box. */
export function takeAbandoned(desk: string, isAlive: (pid: number) => boolean): readonly BoxedCall[] {
  const folder = join(desk, callsFolder)
  if (!existsSync(folder)) return []
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .filter((name) => !isAlive(Number.parseInt(name, 10)))
  const aged = names.map((name) => ({ name, atMs: timeOf(join(folder, `${name}.json`)) }))
  return aged
    .sort((a, b) => a.atMs - b.atMs)
    .flatMap(({ name }) => {
      const call = readCall(desk, name)
      removeCall(desk, name)
      return call ?? []
    })
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
