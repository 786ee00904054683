/**
 * One call of a hook, from the payload to the answer. It never throws and never takes longer than it may: an agent at
 * work must not notice that Unturn is in trouble.
 */

import { asUnturnError, type FailureCode, type OpenOptions } from '@unturn/core'
import { earOf } from './adapters.ts'
import { takeAbandoned } from './call-box.ts'
import { Deliverer } from './deliver.ts'
import type { DeliverOptions } from './delivery/session-at-hand.ts'
import { withSessionLock } from './desk.ts'
import type { AgentEvent, Environment, Teller } from './events.ts'
import { sessionsWithJobs } from './memory.ts'
import { optional } from './payload.ts'
import { isProcessAlive } from './process-alive.ts'
import { again, done, spool, waitingOf, waitingSessions } from './spool.ts'
import { noteFailed, noteFired } from './trace.ts'
import { whoCalls } from './who.ts'

export interface HookCall {
  readonly installedFor: Teller
  /** As in the hook's command. Where the payload names its event, the payload is right. */
  readonly event: string | undefined
  readonly payload: unknown
  readonly env: Environment
}

export interface HearOptions {
  readonly desk: string
  readonly env: Environment
  readonly budgetMs: number
  readonly now?: () => number
  readonly afterTurn?: DeliverOptions['afterTurn']
  /** Somebody who watches the files, where there is one. */
  readonly watch?: OpenOptions['watch']
  /** The caller has given up waiting: what it wanted to be seen beforehand may have happened meanwhile. */
  readonly isLate?: boolean
  /** One that stays open over many calls. Nobody waits longer than he may for it, so there is no need to give up. */
  readonly deliverer?: Deliverer
}

export interface Answered {
  /** For stdout; often empty. */
  readonly answer: string
  readonly outcome: 'delivered' | 'spooled' | 'nothing' | 'failed'
  /** To be called when the answer is out. */
  readonly told: () => void
}

export async function hear(call: HookCall, options: HearOptions): Promise<Answered> {
  const now = options.now ?? Date.now
  const agent = whoCalls(call.payload, call.env, call.installedFor)
  const event = call.event ?? 'unknown'
  const fired = { agent, event, startedMs: now(), pid: process.pid }
  const ear = earOf(agent)
  // The attendant notes only the end: the agent waits for each note, and what it dies of is left in its letter box.
  const trying = options.deliverer !== undefined || quietly(() => noteFired(options.desk, fired))
  const answered = await answering(ear.parse(call.event, call.payload, call.env), agent, event, options)
  if (trying) quietly(() => noteFired(options.desk, { ...fired, endedMs: now(), outcome: answered.outcome }))
  return answered
}

async function answering(
  events: readonly AgentEvent[],
  agent: Teller,
  name: string,
  options: HearOptions,
): Promise<Answered> {
  const { answer } = earOf(agent)
  const event = events[0]
  const plain = { answer: answer(event, undefined), told: () => {} }
  if (event === undefined) return { ...plain, outcome: 'nothing' }
  try {
    const work = () => deliverAll(event.session, events, options)
    const delivered = await (options.deliverer === undefined ? within(options.budgetMs, work) : work())
    if (delivered === 'too-late') {
      keepForLater(events, options)
      return { ...plain, outcome: 'spooled' }
    }
    const { notice, told } = delivered
    return { answer: answer(event, notice), told, outcome: 'delivered' }
  } catch (error) {
    const failure = asUnturnError(error)
    const isHopeless = hopeless.has(failure.code)
    quietly(() =>
      noteFailed(options.desk, {
        agent,
        event: name,
        atMs: (options.now ?? Date.now)(),
        code: failure.code,
        message: failure.message,
      }),
    )
    if (!isHopeless) keepForLater(events, options)
    return { ...plain, outcome: isHopeless ? 'failed' : 'spooled' }
  }
}

/** What another attempt would not change. Everything else is kept and tried again. */
const hopeless: ReadonlySet<FailureCode> = new Set([
  'workspace-refused',
  'not-a-workspace',
  'bad-path',
  'unknown-id',
  'store-newer',
  'git-missing',
])

function keepForLater(events: readonly AgentEvent[], options: Pick<HearOptions, 'desk' | 'now'>): void {
  const first = events[0]
  if (first === undefined) return
  quietly(() =>
    spool(
      options.desk,
      { session: first.session, events: events.map(withoutContents), attempts: 0 },
      (options.now ?? Date.now)(),
    ),
  )
}

// What we keep holds no contents of files.
function withoutContents(event: AgentEvent): AgentEvent {
  if (event.kind !== 'step-began' && event.kind !== 'step-ended') return event
  const { wrote: _, ...call } = event.call
  return { ...event, call }
}

async function deliverAll(
  session: string,
  events: readonly AgentEvent[],
  options: HearOptions,
): Promise<{ readonly notice?: string; readonly told: () => void }> {
  if (options.deliverer !== undefined) return deliverBy(options.deliverer, session, events, options)
  const { desk, env, budgetMs, now, afterTurn, watch } = options
  adoptCalls(desk)
  await using deliverer = new Deliverer({
    desk,
    env,
    open: { env, patienceMs: budgetMs, ...optional('watch', watch) },
    ...optional('now', now),
    ...optional('afterTurn', afterTurn),
  })
  return await deliverBy(deliverer, session, events, options)
}

/** First what has been waiting, of this session and of others, then this one. */
async function deliverBy(
  deliverer: Deliverer,
  session: string,
  events: readonly AgentEvent[],
  { desk, budgetMs, isLate = false }: HearOptions,
): Promise<{ readonly notice?: string; readonly told: () => void }> {
  for (const other of waitingSessions(desk)) {
    if (other === session) continue
    // What is wrong with another session's events is told when its own next event, or a command, meets it.
    await withSessionLock(desk, other, budgetMs, () => drain(desk, other, deliverer)).catch(() => {})
  }
  return await withSessionLock(desk, session, budgetMs, async () => {
    await drain(desk, session, deliverer)
    let last: { readonly notice?: string; readonly told: () => void } = { told: () => {} }
    for (const event of events) last = await deliverer.deliver(event, { late: isLate })
    return last
  })
}

const mostAttempts = 5

/** In order: an event that fails holds up those behind it, until it has failed often enough. */
async function drain(desk: string, session: string, deliverer: Deliverer): Promise<void> {
  for (const waiting of waitingOf(desk, session)) {
    try {
      for (const event of waiting.events) await deliverer.deliver(event, { late: true })
    } catch (error) {
      const { code } = asUnturnError(error)
      if (!hopeless.has(code) && waiting.attempts < mostAttempts) {
        again(waiting)
        throw error
      }
    }
    done(desk, waiting)
  }
}

/** Calls that an attendant has left behind: it was killed before it could record them. They wait with the others now. */
export function adoptCalls(desk: string): void {
  for (const { agent, event, payload, env } of takeAbandoned(desk, isProcessAlive)) {
    const events = earOf(whoCalls(payload, env, agent)).parse(event, payload, env)
    keepForLater(events, { desk })
  }
}

/** Delivers what is waiting, without an event of its own: for commands, and for the process that a late hook starts. */
export async function catchUp(options: {
  readonly desk: string
  readonly env: Environment
  readonly patienceMs: number
}): Promise<void> {
  const { desk, env, patienceMs } = options
  adoptCalls(desk)
  await using deliverer = new Deliverer({ desk, env, open: { env, patienceMs } })
  for (const session of waitingSessions(desk))
    await withSessionLock(desk, session, patienceMs, () => drain(desk, session, deliverer))
  for (const session of sessionsWithJobs(desk))
    await withSessionLock(desk, session, patienceMs, () => deliverer.takeInJobs(session))
}

async function within<T>(budgetMs: number, begin: () => Promise<T>): Promise<T | 'too-late'> {
  if (budgetMs <= 0) return 'too-late'
  const work = begin()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'too-late'>((resolve) => {
    timer = setTimeout(() => resolve('too-late'), budgetMs)
  })
  work.catch(() => {}) // when it is too late nobody waits for the failure either
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The disk may be full or gone. That is no reason to disturb the agent; what we wanted to note is lost. */
function quietly(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
