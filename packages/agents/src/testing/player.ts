/** Plays a recording: each event is heard by a hook of its own, and between them the tools do what they did. */

import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { earOf } from '../adapters.ts'
import { pathsOfPatch } from '../apply-patch.ts'
import type { AgentEvent, AgentName } from '../events.ts'
import { type Answered, hear } from '../hear.ts'
import { pluginSource } from '../opencode/plugin.ts'
import { fieldsOf, text } from '../payload.ts'
import { type Place, recording } from './place.ts'

export interface PlayOptions {
  /** Called before each event is heard. */
  readonly before?: (event: AgentEvent | undefined, at: number) => void
}

export async function play(
  place: Place,
  agent: AgentName,
  options: PlayOptions = {},
): Promise<readonly Answered[]> {
  const answers: Answered[] = []
  let at = 0
  for (const line of recording(agent, place.dir)) {
    const { event, payload } = lineOf(line)
    const [heard] = earOf(agent).parse(event, payload, {})
    options.before?.(heard, at)
    answers.push(await tell(place, agent, event, payload))
    if (heard?.kind === 'step-began') work(place, heard, payload)
    at += 1
  }
  return answers
}

export function tell(
  place: Place,
  agent: AgentName,
  event: string | undefined,
  payload: unknown,
  budgetMs = 30_000,
): Promise<Answered> {
  return hear(
    { installedFor: agent, event, payload, env: {} },
    { desk: place.desk, env: place.env, budgetMs },
  ).then((answered) => {
    answered.told()
    return answered
  })
}

function lineOf(line: unknown): { event: string; payload: unknown } {
  const fields = fieldsOf(line)
  return { event: text(fields, 'event') ?? '', payload: fields.payload }
}

type Hook = (input: unknown, output: unknown) => Promise<void>

/** OpenCode's recording, told to the real plugin; what it hands on is heard. */
export async function playThroughPlugin(place: Place): Promise<void> {
  const out = join(place.base, 'handed-on')
  const recorder = join(place.base, 'recorder.mjs')
  const program = `import { appendFileSync, readFileSync } from 'node:fs'
appendFileSync(${JSON.stringify(out)}, JSON.stringify({ event: process.argv[4], payload: JSON.parse(readFileSync(0)) }) + '\\n')`
  place.write(
    { 'recorder.mjs': program, 'unturn.mjs': pluginSource([process.execPath, recorder]) },
    place.base,
  )
  const { Unturn } = (await import(join(place.base, 'unturn.mjs'))) as {
    Unturn: (init: unknown) => Promise<Record<string, Hook>>
  }
  const hooks = await Unturn({ directory: place.dir })
  let read = 0
  for (const line of recording('opencode', place.dir)) {
    const { hook, input, output } = fieldsOf(line)
    await hooks[String(hook)]?.(hook === 'event' ? { event: input } : input, output)
    const handedOn = (place.read('handed-on', place.base) ?? '').trim().split('\n').slice(read)
    for (const one of handedOn.filter((json) => json !== '')) {
      read += 1
      const { event, payload } = fieldsOf(JSON.parse(one))
      await tell(place, 'opencode', String(event), payload)
      const [heard] = earOf('opencode').parse(String(event), payload, {})
      if (heard?.kind === 'step-began') work(place, heard, { output })
    }
  }
}

/** What the tool did, from its input. */
function work(place: Place, event: Extract<AgentEvent, { kind: 'step-began' }>, payload: unknown): void {
  const { call, cwd } = event
  if (call.command !== undefined) {
    // Nobody waits for a sleep; of a command that was cut only the first part has run.
    const command = call.command.includes('sleep 20') ? (call.command.split(';')[0] ?? '') : call.command
    return place.shell(command.replaceAll(/sleep \d+/g, 'true'), cwd)
  }
  const fields = fieldsOf(payload)
  const input = { ...fieldsOf(fields.tool_input), ...fieldsOf(fieldsOf(fields.output).args) }
  if (call.tool === 'apply_patch') return applyPatch(place, text(input, 'command') ?? '', cwd)
  for (const { path } of call.paths) edit(place, resolve(cwd, path), input)
}

function edit(place: Place, path: string, input: Readonly<Record<string, unknown>>): void {
  const content = text(input, 'content')
  if (content !== undefined) return place.write({ [path]: content }, '/')
  const old = place.read(path, '/')
  const from = text(input, 'old_string') ?? text(input, 'oldString') ?? ''
  const to = text(input, 'new_string') ?? text(input, 'newString') ?? ''
  if (old?.includes(from)) place.write({ [path]: old.replace(from, to) }, '/')
}

/** Enough of it for the recordings: whole new files, one block per update. */
function applyPatch(place: Place, patch: string, cwd: string): void {
  const blocks = patch.split(/^\*\*\* (?=Add|Update|Delete)/m).slice(1)
  pathsOfPatch(patch).forEach(({ path, op }, at) => {
    const lines = (blocks[at] ?? '').split('\n').slice(1)
    const added = lines.filter((line) => line.startsWith('+')).map((line) => `${line.slice(1)}\n`)
    const removed = lines.filter((line) => line.startsWith('-')).map((line) => `${line.slice(1)}\n`)
    const file = resolve(cwd, path)
    const old = place.read(file, '/')
    if (op === 'delete') rmSync(file, { force: true })
    else if (op === 'create') place.write({ [file]: added.join('') }, '/')
    else if (old !== undefined) place.write({ [file]: old.replace(removed.join(''), added.join('')) }, '/')
  })
}
