/** `acp`: stands between an editor and an agent that speaks the Agent Client Protocol, and records what it does. */

import { spawn } from 'node:child_process'
import { type AgentEvent, proxy } from '@unturn/agents'
import { type Command, UsageError } from '../command.ts'
import { askAttendant, noticeIn } from '../hook.ts'

export const acpCommand: Command = {
  name: 'acp',
  group: 'Recording',
  usage: 'acp [--agent NAME] -- AGENT ARGS…',
  summary: 'stand between an editor and an ACP agent, and record what it does',
  details:
    'In the settings of your editor, put "unturn acp --" in front of the command that starts the agent. All that they say to\neach other goes through unchanged; a prompt is the beginning of a turn, and after an undo the next prompt tells the agent.\nWhere Unturn is in trouble the conversation goes on, and "unturn doctor" tells what happened.',
  options: [{ name: 'agent', value: 'NAME', help: 'who works (default: what the agent calls itself)' }],
  takesRest: true,
  run: (context) => {
    const [program, ...args] = context.args.rest ?? []
    if (program === undefined)
      throw new UsageError('write the agent’s command behind --, as in: unturn acp -- opencode acp')
    const called = context.args.get('agent')
    return proxy({
      command: [program, ...args],
      ...(called === undefined ? {} : { called }),
      editor: { input: process.stdin, output: process.stdout, errors: process.stderr },
      tell: (events) => tell(events, process.env),
      patienceMs: patienceOf(process.env),
    })
  },
}

function patienceOf(env: NodeJS.ProcessEnv): number {
  const wanted = Number(env.UNTURN_HOOK_BUDGET_MS)
  return wanted > 0 ? wanted : 4_000
}

/** As a hook does it: by the attendant where there is one, else by a process that starts one. */
async function tell(events: readonly AgentEvent[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const event = events[0]?.kind
  const payload = { events }
  const untilMs = performance.now() + patienceOf(env)
  const call = { agent: 'acp', event, payload, env: {}, untilMs }
  const answer = await askAttendant(call, env)
  return noticeIn(answer ?? (await runHook(['hook', 'acp', event ?? ''], JSON.stringify(payload))))
}

function runHook(args: readonly string[], input: string): Promise<string> {
  const script = process.argv[1]
  if (script === undefined) return Promise.resolve('')
  return new Promise((resolve) => {
    let answer = ''
    const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'ignore'] })
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      answer += part
    })
    child.stdin.on('error', () => {}) // it has ended; its exit tells
    child.on('error', () => resolve(''))
    child.on('close', () => resolve(answer))
    child.stdin.end(input)
  })
}
