/** The part of `doctor` about agents: are their hooks installed, may they run, and have they been heard. */

import { type AgentHealth, checkAgents, countWaiting, deskFolder } from '@unturn/agents'
import { visible } from '@unturn/core'
import type { Context } from '../command.ts'
import { machineFor } from '../machine.ts'
import { ago, counted } from '../words.ts'

export interface AgentReport {
  readonly json: { readonly agents: readonly unknown[]; readonly waitingEvents: number }
  readonly lines: readonly string[]
}

export async function agentReport(context: Context): Promise<AgentReport> {
  const desk = deskFolder(process.env)
  const agents = checkAgents(machineFor(context.folder), desk)
  const waitingEvents = countWaiting(desk)
  const lines = agents.filter(isWorthALine).flatMap((agent) => linesOf(agent, context))
  if (waitingEvents > 0)
    lines.push(
      `${context.terminal.style('yellow', 'warning')}  ${counted(waitingEvents, 'event')} of agents could not be recorded yet. The next command tries again.`,
    )
  return { json: { agents: agents.map(healthJson), waitingEvents }, lines }
}

function isWorthALine({ found, installed, fired, failed }: AgentHealth): boolean {
  return found || installed !== null || fired.length > 0 || failed !== undefined
}

function linesOf(agent: AgentHealth, { terminal }: Context): readonly string[] {
  const problems = [...agent.problems, ...failureOf(agent)]
  return [
    `${terminal.style('bold', agent.title.padEnd(11))}  ${stateOf(agent)}`,
    ...problems.map((problem) => `  ${terminal.style('yellow', 'warning')}  ${visible(problem)}`),
  ]
}

function stateOf({ agent, installed, trusted, fired }: AgentHealth): string {
  if (agent === 'acp') return `last heard ${ago(fired.at(-1)?.startedMs ?? 0, Date.now())}`
  if (installed === null) return `its hooks are not installed; to install them: unturn init ${agent}`
  const where = installed === 'user' ? 'for you' : 'in this project'
  const trust = trusted === 'no' ? ', not trusted yet' : ''
  const last = fired.at(-1)
  const heard =
    last === undefined
      ? 'never heard yet'
      : `last heard ${ago(last.startedMs, Date.now())} (${visible(last.event)})`
  return `hooks installed ${where}${trust}, ${heard}`
}

// What has worked since then is no news any more.
function failureOf({ failed, fired }: AgentHealth): readonly string[] {
  if (failed === undefined) return []
  const isOver = fired.some(({ outcome, endedMs }) => outcome === 'delivered' && (endedMs ?? 0) > failed.atMs)
  const when = ago(failed.atMs, Date.now())
  return isOver ? [] : [`The hook for ${failed.event} failed ${when}: ${failed.message}`]
}

function healthJson({ agent, known, found, installed, trusted, fired, failed, problems }: AgentHealth) {
  return {
    agent,
    known,
    found,
    installed,
    trusted,
    fired: Object.fromEntries(
      fired.map(({ event, startedMs, outcome }) => [
        event,
        { at: new Date(startedMs).toISOString(), outcome: outcome ?? null },
      ]),
    ),
    lastFailure:
      failed === undefined
        ? null
        : {
            event: failed.event,
            at: new Date(failed.atMs).toISOString(),
            code: failed.code,
            message: failed.message,
          },
    problems,
  }
}
