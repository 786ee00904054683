import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AgentEvent } from '../events.ts'
import type { Fields } from '../payload.ts'
import { Conversation, type Overheard, usualName } from './conversation.ts'

const folder = new URL('fixtures/', import.meta.url)

/** A message as it was recorded, with some fields changed. */
function recorded(name: string, change: (text: string) => string = (text) => text): Fields {
  return JSON.parse(change(readFileSync(new URL(`${name}.json`, folder), 'utf8')))
}

function begun(session: string): Conversation {
  const conversation = new Conversation({
    called: 'agent',
    isNamed: false,
    proxy: 1,
    cwd: '/home/dev',
    nonce: 'n',
  })
  conversation.fromEditor({ id: 1, method: 'session/new', params: { cwd: '/home/dev/project' } })
  conversation.fromAgent({ id: 1, result: { sessionId: session } })
  conversation.fromEditor({
    id: 4,
    method: 'session/prompt',
    params: { sessionId: session, prompt: [{ type: 'text', text: 'Go' }] },
  })
  return conversation
}

function told({ events, holds }: Overheard): readonly string[] {
  return [...events.map(inShort), ...(holds ? ['held'] : [])]
}

function inShort(event: AgentEvent): string {
  if (event.kind === 'turn-ended') return `turn-ended ${event.outcome}`
  if (event.kind !== 'step-began' && event.kind !== 'step-ended') return event.kind
  const { id, does, paths, command, hasBegun } = event.call
  const words = [event.kind, id, does, ...paths.map(({ path }) => path), command, hasBegun && 'late']
  return words.filter((word) => typeof word === 'string').join(' ')
}

const opencode = 'ses_00000000000100000000000000'
const gemini = 'cccccccc-0000-4000-8000-000000000001'

test('[A350] every message that was recorded is understood: calls bit by bit, permission, a write by the editor, the end', () => {
  const ofOpencode = begun(opencode)
  const hear = (name: string, change?: (text: string) => string) =>
    told(ofOpencode.fromAgent(recorded(name, change)))
  expect(hear('opencode.tool_call')).toEqual([])
  expect(hear('opencode.tool_call_update.in_progress')).toEqual([
    'step-began call_000000000001 edit /home/dev/project/new.txt late',
  ])
  const sameCall = (text: string) => text.replace('call_000000000003', 'call_000000000001')
  expect(hear('opencode.tool_call_update.completed', sameCall)[0]).toMatch(
    /^step-ended call_000000000001 edit/,
  )
  expect(hear('opencode.tool_call_update.completed', sameCall)).toEqual([])
  expect(hear('opencode.prompt-response.cancelled')).toEqual(['turn-ended interrupted'])

  const ofGemini = begun(gemini)
  expect(told(ofGemini.fromAgent(recorded('gemini.request_permission')))).toEqual([
    'step-began replace__call_000000000003 edit /home/dev/project/a.txt',
  ])
  expect(told(ofGemini.fromEditor({ id: 3, result: { outcome: {} } }))).toEqual(['held'])
  // The call that was allowed writes: it has begun already, and the write waits until that is recorded.
  expect(told(ofGemini.fromAgent(recorded('gemini.fs-write_text_file')))).toEqual(['held'])
  expect(told(ofGemini.fromEditor({ id: 5, result: null }))).toEqual([])
  expect(told(ofGemini.fromAgent(recorded('gemini.tool_call_update.completed')))).toEqual([
    'step-ended replace__call_000000000003 edit /home/dev/project/a.txt',
  ])
  expect(readdirSync(folder)).toHaveLength(7)
})

test('[A350] a write and a command that the agent asks the editor for, without a call, are steps of their own', () => {
  const conversation = begun(gemini)
  expect(told(conversation.fromAgent(recorded('gemini.fs-write_text_file')))).toEqual([
    'step-began n:asked:5 edit /home/dev/project/a.txt',
    'held',
  ])
  expect(told(conversation.fromEditor({ id: 5, result: null }))).toEqual([
    'step-ended n:asked:5 edit /home/dev/project/a.txt',
  ])
  const run = { sessionId: gemini, command: 'npm', args: ['test'] }
  expect(told(conversation.fromAgent({ id: 6, method: 'terminal/create', params: run }))).toEqual([
    'step-began n:asked:6 shell npm test',
    'held',
  ])
  conversation.fromEditor({ id: 6, result: { terminalId: 't1' } })
  const wait = { sessionId: gemini, terminalId: 't1' }
  conversation.fromAgent({ id: 7, method: 'terminal/wait_for_exit', params: wait })
  expect(told(conversation.fromEditor({ id: 7, result: { exitCode: 0 } }))).toEqual([
    'step-ended n:asked:6 shell npm test',
  ])
  expect(told(conversation.fromAgent({ method: 'terminal/release', params: wait }))).toEqual([])
})

test('[A350] an edit without a path may have changed anything; what only reads is no step; commands are told', () => {
  const conversation = begun('s')
  const update = (fields: object) =>
    told(
      conversation.fromAgent({
        method: 'session/update',
        params: { sessionId: 's', update: { sessionUpdate: 'tool_call', ...fields } },
      }),
    )
  expect(update({ toolCallId: 'a', kind: 'edit', status: 'completed' })).toEqual([
    'step-began a unknown late',
    'step-ended a unknown',
  ])
  expect(update({ toolCallId: 'b', kind: 'read', status: 'in_progress' })).toEqual(['step-began b read late'])
  expect(
    update({ toolCallId: 'c', kind: 'execute', status: 'in_progress', rawInput: { command: ['rm', 'x'] } }),
  ).toEqual(['step-began c shell rm x late'])
  expect(update({ toolCallId: 'd', kind: 'execute', title: 'make', status: 'pending' })).toEqual([])
})

test('[A353] an agent that goes away leaves its turn interrupted and its session ended; an error ends a turn as failed', () => {
  const conversation = begun('s')
  expect(conversation.over().map(inShort)).toEqual(['turn-ended interrupted', 'session-ended'])
  expect(told(conversation.fromAgent({ id: 4, error: { code: 1 } }))).toEqual(['turn-ended failed'])
  expect(conversation.over().map(inShort)).toEqual(['session-ended'])
})

test('[A350] what a session is told again when it is loaded is no news', () => {
  const conversation = new Conversation({ called: 'a', isNamed: false, proxy: 1, cwd: '/', nonce: 'n' })
  conversation.fromEditor({ id: 1, method: 'session/load', params: { sessionId: opencode, cwd: '/w' } })
  expect(told(conversation.fromAgent(recorded('opencode.tool_call_update.completed')))).toEqual([])
  expect(told(conversation.fromAgent({ id: 1, result: {} }))).toEqual(['session-began'])
})

test('[A351] the agent is called what it calls itself, or by the name that its hooks have', () => {
  expect(usualName('OpenCode')).toBe('opencode')
  expect(usualName('gemini-cli')).toBe('gemini-cli')
  expect(usualName('@zed-industries/claude-code-acp')).toBe('claude-code')
  expect(usualName('goose')).toBe('goose')
})
