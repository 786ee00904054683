/** Many clients and many agents at once on one workspace, and a strict look at what came of it. */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerEvent, Unturn, WorkspaceClient } from '@unturn/client'

export interface LoadOptions {
  readonly unturn: Unturn
  readonly workspace: string
  readonly dir: string
  readonly clients: number
  readonly agents: number
  readonly ms: number
  /** The agents are done; what follows is the look at what came of it. */
  readonly onWorked?: () => void
}

export interface LoadReport {
  readonly turns: number
  readonly writes: number
  readonly requestsPerSecond: number
  /** Heard by each client. */
  readonly events: number
  readonly reconnects: number
  /** What is wrong; nothing, if all is well. */
  readonly problems: readonly string[]
}

export async function load(options: LoadOptions): Promise<LoadReport> {
  const client = options.unturn.workspace(options.workspace)
  const { eventId } = await client.status()
  const listeners = Array.from(
    { length: options.clients },
    // Every fifth one loses its connection now and then.
    (_, at) => new Listener(client, eventId, at % 5 === 0 ? 300 + 40 * at : undefined),
  )
  for (const listener of listeners) await listener.isOpen
  const began = performance.now()
  const until = began + options.ms
  const agents = await Promise.all(
    Array.from({ length: options.agents }, (_, at) => work(client, options.dir, at, until)),
  )
  const seconds = (performance.now() - began) / 1_000
  options.onWorked?.()
  const { eventId: last } = await client.status()
  for (const listener of listeners) await listener.upTo(last)
  for (const listener of listeners) await listener.stop()
  const turns = agents.reduce((sum, agent) => sum + agent.turns, 0)
  const writes = agents.reduce((sum, agent) => sum + agent.writes, 0)
  return {
    turns,
    writes,
    requestsPerSecond: Math.round((turns * 4) / seconds),
    events: listeners[0]?.heard.length ?? 0,
    reconnects: listeners.reduce((sum, { reconnects }) => sum + reconnects, 0),
    problems: [
      ...agents.flatMap((agent) => agent.problems),
      ...problemsOfListeners(listeners),
      ...(await problemsOfLog(client, agents, listeners[0])),
    ],
  }
}

interface AgentReport {
  readonly name: string
  readonly path: string
  readonly turns: number
  readonly writes: number
  readonly problems: readonly string[]
}

const fewestTurns = 3

/** Most name what they edit, as edit tools do; some run commands, and whatever changes meanwhile may be theirs. */
async function work(client: WorkspaceClient, dir: string, at: number, until: number): Promise<AgentReport> {
  const name = `agent-${at}`
  const path = `${name}/file.txt`
  mkdirSync(join(dir, name), { recursive: true })
  const isShell = at % 4 === 3
  let turns = 0
  const problems: string[] = []
  // At least so many: on a machine that is busy with something else the time may be over before anything has happened.
  while (performance.now() < until || turns < fewestTurns) {
    turns += 1
    const { turn } = await client.beginTurn({ session: name, agent: name, prompt: `turn ${turns}` })
    const { step } = await client.beginStep({
      turn,
      tool: isShell ? 'shell' : 'edit',
      paths: isShell ? [] : [path],
    })
    // In one instant: somebody else's look would otherwise find it half written, and rightly record that, too.
    writeFileSync(join(dir, `../${name}.tmp`), `${name} ${turns}\n`)
    renameSync(join(dir, `../${name}.tmp`), join(dir, path))
    const { changes } = await client.endStep(step)
    if (!isShell && changes.length !== 1)
      problems.push(`${name}: turn ${turns} has ${changes.length} changes instead of one`)
    await client.endTurn(turn)
  }
  return { name, path, turns, writes: turns, problems }
}

class Listener {
  readonly heard: { readonly id: string; readonly event: ServerEvent }[] = []
  readonly isOpen: Promise<void>
  reconnects = 0
  #ending = new AbortController()
  #lastId: string
  #ended = false
  readonly #done: Promise<void>

  constructor(client: WorkspaceClient, eventId: string, reconnectEveryMs: number | undefined) {
    this.#lastId = eventId
    const { promise, resolve } = Promise.withResolvers<void>()
    this.isOpen = promise
    this.#done = this.#listen(client, resolve)
    if (reconnectEveryMs !== undefined) {
      const timer = setInterval(() => {
        if (this.#ended) return clearInterval(timer)
        this.reconnects += 1
        this.#ending.abort()
      }, reconnectEveryMs)
      timer.unref()
    }
  }

  async #listen(client: WorkspaceClient, onOpen: () => void): Promise<void> {
    while (!this.#ended) {
      this.#ending = new AbortController()
      const stream = client.events({
        lastEventId: this.#lastId,
        signal: this.#ending.signal,
        onState: (state) => state === 'open' && onOpen(),
      })
      for await (const { id, event } of stream) {
        this.#lastId = id
        this.heard.push({ id, event })
      }
    }
  }

  async upTo(id: string): Promise<void> {
    const deadline = Date.now() + 20_000
    while (this.#lastId !== id && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20))
  }

  async stop(): Promise<void> {
    this.#ended = true
    this.#ending.abort()
    await this.#done
  }
}

function problemsOfListeners(listeners: readonly Listener[]): readonly string[] {
  const problems: string[] = []
  const first = listeners[0]?.heard.map(({ id }) => id) ?? []
  const numbers = first.map((id) => Number(id.split('.')[1]))
  numbers.forEach((number, at) => {
    const before = numbers[at - 1]
    if (before !== undefined && number !== before + 1)
      problems.push(`event ${before} is followed by ${number}`)
  })
  listeners.forEach(({ heard }, at) => {
    const ids = heard.map(({ id }) => id)
    if (ids.length !== first.length || ids.some((id, i) => id !== first[i]))
      problems.push(`client ${at} heard ${ids.length} events, the first one ${first.length}`)
    if (heard.some(({ event }) => event.type === 'reset')) problems.push(`client ${at} was reset`)
  })
  return problems
}

async function problemsOfLog(
  client: WorkspaceClient,
  agents: readonly AgentReport[],
  listener: Listener | undefined,
): Promise<readonly string[]> {
  const problems: string[] = []
  let changes = 0
  for (const { name, path, turns, writes } of agents) {
    const found = await client.changes({ file: path, limit: 10_000 })
    changes += found.changes.length
    if (found.changes.length !== writes)
      problems.push(
        `${path} was written ${writes} times, and the log has ${found.changes.length} changes of it`,
      )
    const tree = await client.tree({ session: name })
    if (tree.turns.length !== turns)
      problems.push(`${name} has ${tree.turns.length} turns instead of ${turns}`)
  }
  const paths = new Set(agents.map(({ path }) => path))
  const isOurs = (event: ServerEvent) => event.type === 'change' && paths.has(event.change.path)
  const told = listener?.heard.filter(({ event }) => isOurs(event)).length ?? 0
  if (told !== changes) problems.push(`${told} changes were told of ${changes}`)
  const { findings } = await client.doctor()
  return [...problems, ...findings.map(({ what }) => what)]
}
