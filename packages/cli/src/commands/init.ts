/** `init`: puts our hooks into the agents' settings, and takes them out again. Every change is shown first. */

import { existsSync, realpathSync } from 'node:fs'
import { createInterface } from 'node:readline'
import {
  type AgentName,
  agentNames,
  carryBack,
  carryOut,
  deskFolder,
  diffOf,
  type FileEdit,
  findAgent,
  type Installer,
  InstallRefused,
  installers,
  keepHttpPlace,
  type Machine,
  newHttpPlace,
  planWayBack,
  readHttpPlace,
  type Scope,
} from '@unturn/agents'
import { visible } from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { machineFor } from '../machine.ts'

export const initCommand: Command = {
  name: 'init',
  group: 'More',
  usage: 'init [AGENT…] [--user | --project] [--http] [--dry-run] [--yes] [--remove]',
  summary: 'let your agents tell Unturn what they do; shows every change first',
  details: `Agents: ${agentNames.join(', ')}. Without a name: all that are found on this machine or in this project.\nWith --remove the hooks go, and the files are as they were before.`,
  options: [
    { name: 'user', help: 'in your own settings, for all projects (default)' },
    { name: 'project', help: 'in the settings of this project' },
    {
      name: 'http',
      help: 'Claude Code: tell of tool calls over HTTP, which is quickest; what is told while nobody listens is found at the end of the turn',
    },
    { name: 'dry-run', help: 'show the changes and write nothing' },
    { name: 'yes', help: 'do not ask' },
    { name: 'remove', help: 'take the hooks out again' },
  ],
  words: agentNames.length,
  run: async (context) => {
    const scope = scopeOf(context)
    const machine = { ...machineFor(context.folder), ...httpWish(context) }
    const plans = agentsFor(context, machine).map((agent) => planFor(context, agent, machine, scope))
    if (!context.wantsJson) show(context, plans)
    const isWritten = await isWanted(context, plans)
    if (isWritten) write(plans, machine, context.args.has('remove'))
    return tell(context, plans, isWritten)
  },
}

type State = 'changed' | 'unchanged' | 'refused' | 'elsewhere'

interface Plan {
  readonly installer: Installer
  readonly scope: Scope
  readonly state: State
  readonly edits: readonly FileEdit[]
  readonly why?: string
}

// Once it is wanted it stays so, until the hooks are taken out.
function httpWish({ args }: Context): Pick<Machine, 'http'> {
  const http = readHttpPlace(deskFolder(process.env)) ?? (args.has('http') ? newHttpPlace() : undefined)
  return http === undefined ? {} : { http }
}

function scopeOf({ args }: Context): Scope {
  if (args.has('user') && args.has('project')) throw new UsageError('give --user or --project, not both')
  return args.has('project') ? 'project' : 'user'
}

function agentsFor({ args }: Context, machine: Machine): readonly AgentName[] {
  const named = args.words.map((typed) => {
    const agent = findAgent(typed)
    if (agent === undefined)
      throw new UsageError(`there is no agent ${JSON.stringify(typed)}; known are ${agentNames.join(', ')}`)
    return agent
  })
  if (named.length > 0) return [...new Set(named)]
  if (args.has('remove')) return agentNames
  return agentNames.filter((agent) => installers[agent].detect(machine).found)
}

function planFor(context: Context, agent: AgentName, machine: Machine, scope: Scope): Plan {
  const installer = installers[agent]
  const base = { installer, scope, edits: [] }
  try {
    const remove = context.args.has('remove')
    const elsewhere = remove ? undefined : otherScope(installer, machine, scope)
    if (elsewhere !== undefined) return { ...base, state: 'elsewhere', why: elsewhere }
    const edits = remove ? wayBack(installer, machine, scope) : installer.planInstall(machine, scope)
    return { ...base, edits, state: edits.length === 0 ? 'unchanged' : 'changed' }
  } catch (error) {
    if (!(error instanceof InstallRefused)) throw error
    return { ...base, state: 'refused', why: `${error.message}.` }
  }
}

function wayBack(installer: Installer, machine: Machine, scope: Scope): readonly FileEdit[] {
  const desk = deskFolder(machine.env)
  return planWayBack(desk, installer.files(machine, scope), installer.planRemoval(machine, scope))
}

// At two places the hooks run twice in some agents.
function otherScope(installer: Installer, machine: Machine, scope: Scope): string | undefined {
  const other = scope === 'user' ? 'project' : 'user'
  if (isSameFile(installer, machine) || installer.planRemoval(machine, other).length === 0) return undefined
  const where = other === 'user' ? 'for you, in all projects' : 'in this project'
  return `The hooks are installed ${where} already. Take them out there first: unturn init ${installer.agent} --remove --${other}`
}

// In the home folder itself the user's settings are the project's.
function isSameFile(installer: Installer, machine: Machine): boolean {
  const [mine, projects] = (['user', 'project'] as const).map(
    (scope) => installer.files(machine, scope)[0] ?? '',
  )
  return real(mine ?? '') === real(projects ?? '')
}

function real(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

function show({ terminal }: Context, plans: readonly Plan[]): void {
  for (const { installer, edits, state, why } of plans) {
    if (state === 'unchanged') continue
    const note = installer.known === 'from runs' ? '' : ' (made from its documentation; not tried in a run)'
    terminal.line(`${terminal.style('bold', installer.title)}${terminal.style('dim', note)}`)
    if (why !== undefined) terminal.line(`  ${visible(why)}`)
    for (const edit of edits) for (const line of diffOf(edit)) terminal.line(coloured(line, terminal))
    terminal.line()
  }
}

function coloured(line: string, terminal: Context['terminal']): string {
  const text = visible(line)
  if (line.startsWith('+')) return terminal.style('green', text)
  if (line.startsWith('-')) return terminal.style('red', text)
  return line.startsWith('@@') ? terminal.style('cyan', text) : text
}

async function isWanted(context: Context, plans: readonly Plan[]): Promise<boolean> {
  const files = plans.flatMap(({ edits }) => edits)
  if (files.length === 0 || context.args.has('dry-run')) return false
  if (context.args.has('yes')) return true
  if (context.wantsJson || process.stdin.isTTY !== true) return false
  await context.terminal.flush()
  return ask(`Write ${files.length === 1 ? 'this file' : `these ${files.length} files`}? [y/N] `)
}

function ask(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise((resolve) => {
    lines.on('close', () => resolve(false))
    lines.question(question, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()))
      lines.close()
    })
  })
}

function write(plans: readonly Plan[], machine: Machine, isRemoval: boolean): void {
  const desk = deskFolder(machine.env)
  if (plans.some(({ installer, edits }) => installer.agent === 'claude-code' && edits.length > 0))
    keepHttpPlace(desk, isRemoval ? undefined : machine.http)
  for (const { installer, scope, edits } of plans) {
    if (isRemoval) carryBack(desk, edits)
    else
      carryOut(desk, edits, (edit) => {
        const [cleared] = installer.planRemoval(machine, scope).filter(({ path }) => path === edit.path)
        return cleared === undefined ? edit.before : cleared.after
      })
  }
}

function tell(context: Context, plans: readonly Plan[], isWritten: boolean): number {
  const isRefused = plans.some(({ state }) => state === 'refused' || state === 'elsewhere')
  const isLeft = !isWritten && !context.args.has('dry-run') && plans.some(({ state }) => state === 'changed')
  if (context.wantsJson)
    context.terminal.json({ written: isWritten, agents: plans.map((plan) => planJson(plan)) })
  else for (const line of lastWords(context, plans, isWritten)) context.terminal.line(line)
  return isLeft || (isRefused && !isWritten) ? 1 : 0
}

function planJson({ installer, scope, state, edits, why }: Plan) {
  return {
    agent: installer.agent,
    known: installer.known,
    scope,
    state,
    why: why ?? null,
    files: edits.map((edit) => ({
      path: edit.path,
      action: edit.before === undefined ? 'create' : edit.after === undefined ? 'delete' : 'change',
      diff: `${diffOf(edit).join('\n')}\n`,
    })),
  }
}

/** The last line says what to do next. */
function lastWords({ args }: Context, plans: readonly Plan[], isWritten: boolean): readonly string[] {
  const changed = plans.filter(({ state }) => state === 'changed')
  const names = changed.map(({ installer }) => installer.title).join(', ')
  if (plans.length === 0)
    return [`No agent was found on this machine. Name one to attach it anyway: unturn init ${agentNames[0]}`]
  if (args.has('remove')) {
    if (changed.length === 0) return ['There are no hooks of Unturn to take out.']
    return [
      isWritten ? `The hooks of ${names} are out, and the files as they were before.` : notWritten(args),
    ]
  }
  if (changed.length === 0)
    return plans.some(({ state }) => state === 'unchanged')
      ? ['The hooks are in place already. Next: give your agent a task, then try "unturn undo".']
      : ['Nothing was written.']
  if (!isWritten) return [notWritten(args)]
  return [
    `Unturn now hears ${names}.`,
    ...changed.flatMap(({ installer }) => installer.afterwards ?? []),
    'Next: give your agent a task, then run "unturn log" to see its turn and "unturn undo" to take it back.',
  ]
}

function notWritten(args: Context['args']): string {
  return args.has('dry-run')
    ? 'This was a dry run: nothing was written. Leave out --dry-run to write it.'
    : 'Nothing was written. Say yes to the question, or run it again with --yes'
}
