/** How each agent is attached: are our hooks there, may they run, have they been heard, and what went wrong. */

import { existsSync } from 'node:fs'
import { checkup as claudeCode } from './claude-code/doctor.ts'
import { checkup as cline } from './cline/doctor.ts'
import { checkup as codex } from './codex/doctor.ts'
import { checkup as copilotCli } from './copilot-cli/doctor.ts'
import { checkup as cursor } from './cursor/doctor.ts'
import { type AgentName, agentNames, type Teller } from './events.ts'
import { checkup as geminiCli } from './gemini-cli/doctor.ts'
import { InstallRefused, type Machine, type Scope } from './install.ts'
import { installers } from './installers.ts'
import { checkup as opencode } from './opencode/doctor.ts'
import { isProcessAlive } from './process-alive.ts'
import { readText } from './settings/text-file.ts'
import { type Failed, type Fired, readFailed, readFired } from './trace.ts'

/** What only one agent knows about itself. */
export interface Checkup {
  /** Events that our hooks are registered for, in these settings. */
  registered(machine: Machine, scope: Scope): readonly string[]
  readonly wanted: readonly string[]
  /** `unknown`: it cannot be read; whether it has been heard tells. */
  trusted?(machine: Machine, scope: Scope): 'yes' | 'no' | 'unknown'
  /** Something in its settings that keeps hooks from running, as a sentence. */
  hindrance?(machine: Machine): string | undefined
}

const checkups: Readonly<Record<AgentName, Checkup>> = {
  'claude-code': claudeCode,
  codex,
  opencode,
  'gemini-cli': geminiCli,
  cursor,
  'copilot-cli': copilotCli,
  cline,
}

export interface AgentHealth {
  readonly agent: Teller
  readonly title: string
  readonly known: 'from runs' | 'from documentation'
  readonly found: boolean
  readonly installed: Scope | null
  readonly trusted: 'yes' | 'no' | 'unknown' | 'not-needed'
  readonly fired: readonly Fired[]
  readonly failed?: Failed
  /** Full sentences, each with what to do. */
  readonly problems: readonly string[]
}

export function checkAgents(machine: Machine, desk: string): readonly AgentHealth[] {
  return [...agentNames.map((agent) => checkAgent(agent, machine, desk)), ...checkProxy(desk)]
}

// There is nothing to install for it: whoever uses it has been heard.
function checkProxy(desk: string): readonly AgentHealth[] {
  const fired = readFired(desk, 'acp')
  const failed = readFailed(desk, 'acp')
  if (fired.length === 0 && failed === undefined) return []
  return [
    {
      agent: 'acp',
      title: 'ACP proxy',
      known: 'from runs',
      found: true,
      installed: null,
      trusted: 'not-needed',
      fired,
      ...(failed === undefined ? {} : { failed }),
      problems: unfinished(fired, 'the ACP proxy'),
    },
  ]
}

function checkAgent(agent: AgentName, machine: Machine, desk: string): AgentHealth {
  const { title, known, detect } = installers[agent]
  const problems: string[] = []
  const scopes = (['user', 'project'] as const).filter(
    (scope) => registeredIn(agent, machine, scope, problems).length > 0,
  )
  const scope = scopes[0]
  const fired = readFired(desk, agent)
  const failed = readFailed(desk, agent)
  const trusted = scope === undefined ? 'not-needed' : trustIn(agent, machine, scope, fired)
  if (scope !== undefined) {
    problems.push(
      ...incomplete(agent, machine, scope),
      ...unstartable(agent, machine, scope),
      ...unfinished(fired, title),
    )
    if (scopes.length > 1)
      problems.push(
        `The hooks of ${title} are installed for you and for this project, and may run twice. Take one out: unturn init ${agent} --remove --project`,
      )
    if (trusted === 'no')
      problems.push(`${title} has not been told to trust the hooks, and leaves them out. Trust them there.`)
    const hindrance = checkups[agent].hindrance?.(machine)
    if (hindrance !== undefined) problems.push(hindrance)
  }
  return {
    agent,
    title,
    known,
    found: detect(machine).found,
    installed: scope ?? null,
    trusted,
    fired,
    ...(failed === undefined ? {} : { failed }),
    problems,
  }
}

function registeredIn(
  agent: AgentName,
  machine: Machine,
  scope: Scope,
  problems: string[],
): readonly string[] {
  try {
    return checkups[agent].registered(machine, scope)
  } catch (error) {
    if (!(error instanceof InstallRefused)) throw error
    problems.push(`${error.message}.`)
    return []
  }
}

// To have been heard is the best proof. A hook that was never heard may be new, or may be left out in silence.
function trustIn(
  agent: AgentName,
  machine: Machine,
  scope: Scope,
  fired: readonly Fired[],
): AgentHealth['trusted'] {
  const asked = checkups[agent].trusted?.(machine, scope)
  if (asked === undefined) return 'not-needed'
  if (fired.length === 0 || asked === 'yes') return asked
  return asked === 'unknown' ? 'yes' : 'unknown' // heard, though nothing says that it is trusted: perhaps it was, once
}

function incomplete(agent: AgentName, machine: Machine, scope: Scope): readonly string[] {
  const { wanted, registered } = checkups[agent]
  const there = new Set(registered(machine, scope))
  const missing = wanted.filter((event) => !there.has(event))
  return missing.length === 0
    ? []
    : [`Hooks are missing for ${missing.join(', ')}. Put them in again: unturn init ${agent}`]
}

// Node and the command may have moved with an upgrade; then every hook fails without a word.
function unstartable(agent: AgentName, machine: Machine, scope: Scope): readonly string[] {
  const texts = installers[agent].files(machine, scope).map((path) => readText(path) ?? '')
  const named = texts.flatMap((text) =>
    [...text.matchAll(/(?:"|'|\s)(\/[^"'\s\\]+)/g)].map((match) => match[1] ?? ''),
  )
  const gone = [...new Set(named)].filter(
    (path) => /unturn[^/]*\.(js|sh)$|\/node[^/]*$/.test(path) && !existsSync(path),
  )
  return gone.map(
    (path) => `The hooks start ${path}, which is not there any more. Renew them: unturn init ${agent}`,
  )
}

function unfinished(fired: readonly Fired[], title: string): readonly string[] {
  return fired
    .filter(({ endedMs, pid }) => endedMs === undefined && !isProcessAlive(pid))
    .map(({ event }) => `The last hook of ${title} for ${event} did not come to its end.`)
}
