/**
 * What an agent's hooks call: `unturn hook AGENT EVENT`, the payload on standard input. It ends with 0 whatever happens,
 * since any other code may stop the agent's tool, and prints one JSON object or nothing. It goes past the other commands'
 * way in: their usage errors, warnings and exit codes are for people.
 *
 * This file is all that is loaded while there is an attendant. Everything else comes with hook-alone.ts.
 */

import { readFileSync, realpathSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import type { Environment, Replied } from '@unturn/agents'
import { attendantPlace } from './attendant-place.ts'

export async function runHook(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  try {
    if (argv[0] === '--catch-up' || argv[0] === '--attend') {
      const { attendAgents, catchUpAlone } = await import('./hook-alone.ts')
      await (argv[0] === '--attend' ? attendAgents(env, stampOfThis()) : catchUpAlone(env))
    } else await answerAgent(argv, env)
  } catch (error) {
    if (env.UNTURN_DEBUG !== undefined)
      process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  }
}

/** One call of a hook. */
export interface Call {
  readonly agent: string
  readonly event: string | undefined
  readonly payload: unknown
  readonly env: Environment
  /** When it must be over, on the clock that began with this process. */
  readonly untilMs: number
}

async function answerAgent([agent = '', event]: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const untilMs = budgetOf(event ?? '', env)
  const input = await readInput(untilMs)
  // Nobody is there whom an answer could help: a person who tries it out.
  if (input === undefined) return
  const call = { agent, event, payload: parsed(input), env: telling(env), untilMs }
  const answer = await askAttendant(call, env)
  if (answer !== undefined) return print(answer)
  const { answerAlone } = await import('./hook-alone.ts')
  await answerAlone(call, env)
}

/** All that a hook may take, from the start of the process on; well below the time that the agents give it. */
function budgetOf(event: string, env: NodeJS.ProcessEnv): number {
  const wanted = Number(env.UNTURN_HOOK_BUDGET_MS)
  if (Number.isFinite(wanted) && wanted > 0) return wanted
  return /^(sessionend|interrupt)$/i.test(event) ? 2_000 : 4_000
}

/** Without the payload there is nothing to keep for later, either. */
const leastReadMs = 300

/**
 * `undefined`: there is nobody at the other end, or nothing came in time. Read as a stream: a plain read that waits for an
 * input without end cannot be left, and would hold up the end of the process.
 */
function readInput(untilMs: number): Promise<string | undefined> {
  const { stdin } = process
  if (stdin.isTTY === true) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const timer = setTimeout(() => done(undefined), Math.max(leastReadMs, untilMs - performance.now()))
    const done = (text: string | undefined) => {
      clearTimeout(timer)
      stdin.destroy()
      resolve(text)
    }
    stdin.on('data', (bytes: Buffer) => chunks.push(bytes))
    stdin.on('end', () => done(Buffer.concat(chunks).toString('utf8')))
    stdin.on('error', () => done(undefined)) // never opened
  })
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return undefined
  }
}

// Never the whole environment: it holds keys.
function telling(env: NodeJS.ProcessEnv): Environment {
  return {
    PWD: env.PWD,
    CLAUDE_CODE_SESSION_ID: env.CLAUDE_CODE_SESSION_ID,
    CLAUDE_PROJECT_DIR: env.CLAUDE_PROJECT_DIR,
    CLAUDE_PID: env.CLAUDE_PID,
    GEMINI_SESSION_ID: env.GEMINI_SESSION_ID,
    GEMINI_PROJECT_DIR: env.GEMINI_PROJECT_DIR,
    UNTURN_AGENT_PID: agentAbove(String(process.ppid)),
  }
}

// Some agents start a hook through a shell, some shells stay in between.
export function agentAbove(parent: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8')
    const [, name = '', above] = /^\d+ \((.*)\) \S (\d+)/s.exec(stat) ?? []
    return /^(sh|bash|dash|zsh|ash|ksh|fish|busybox)$/.test(name) ? above : parent
  } catch {
    return undefined // it has ended already
  }
}

/** `undefined`: there is none, or it does not answer for this Unturn. */
export function askAttendant(
  { agent, event, payload, env: told, untilMs }: Call,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const path = attendantPlace(env)
  if (path === undefined || env.UNTURN_HOOK_BACKGROUND === '0') return Promise.resolve(undefined)
  return new Promise((resolve) => {
    let received = ''
    let isSent = false
    const socket = connect(path)
    // It has the event, and records it when it can; to record it here as well would make two of it.
    const timer = setTimeout(() => done(isSent ? '' : undefined), Math.max(0, untilMs - performance.now()))
    const done = (answer: string | undefined) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    socket.setEncoding('utf8')
    socket.on('connect', () => {
      socket.write(`${JSON.stringify({ stamp: stampOfThis(), agent, event, payload, env: told })}\n`)
      isSent = true
    })
    socket.on('data', (part: string) => {
      received += part
    })
    socket.on('error', () => done(undefined))
    socket.on('close', () => done(answerIn(received)))
  })
}

function answerIn(received: string): string | undefined {
  const { answer } = (parsed(received) ?? {}) as Replied
  return typeof answer === 'string' ? answer : undefined
}

/** What our plugin and our proxy are to hand on to the agent. */
export function noticeIn(answer: string): string | undefined {
  const { notice } = (parsed(answer) ?? {}) as { readonly notice?: unknown }
  return typeof notice === 'string' ? notice : undefined
}

/** This Unturn, told from the one that is there after an upgrade. */
function stampOfThis(): string {
  return stampOf(process.execPath, process.argv[1] ?? '')
}

export function stampOf(node: string, entry: string): string {
  const stat = statSync(entry, { throwIfNoEntry: false })
  // The same command under two names, one of them a link, is the same Unturn: else they would end each other's attendant.
  const real = stat === undefined ? entry : realpathSync(entry)
  // Whole milliseconds: our plugin asks another runtime for the time, which rounds its own way.
  return `${node} ${real} ${Math.trunc(stat?.mtimeMs ?? 0)}`
}

export function print(answer: string): Promise<void> {
  if (answer === '') return Promise.resolve()
  return new Promise((resolve) => {
    process.stdout.on('error', () => resolve()) // the agent has gone
    process.stdout.write(`${answer}\n`, () => resolve())
  })
}
