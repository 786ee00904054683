import { describe, expect, test } from 'vitest'
import { earOf } from './adapters.ts'
import type { AgentEvent, AgentName } from './events.ts'
import { fixture, fixtureNames } from './testing/place.ts'
import { whoCalls } from './who.ts'

/** What each recorded payload means, in one line. */
function inShort(agent: AgentName, name: string): readonly string[] {
  return earOf(agent).parse(name.split('.')[0], fixture(agent, name), {}).map(shortly)
}

function shortly(event: AgentEvent): string {
  const who = event.subagent === undefined ? '' : ` by ${event.subagent}`
  switch (event.kind) {
    case 'session-began':
      return `${event.kind} ${event.how}`
    case 'prompted':
      return `${event.kind} by ${event.by}: ${event.prompt.slice(0, 20)}${event.about === undefined ? '' : ` about ${event.about}`}`
    case 'step-began':
      return `${event.kind} ${callInShort(event)}${who}`
    case 'step-ended':
      return `${event.kind} ${callInShort(event)} ${event.outcome}${who}`
    case 'turn-ended':
      return `${event.kind} ${event.outcome}${event.stillRunning.map((one) => ` running ${one}`).join('')}`
    case 'subagent-began':
    case 'subagent-ended':
      return `${event.kind} ${event.of}`
    case 'own-undo':
      return `${event.kind} ${event.undone ? 'undone' : `to ${event.to}`}`
    case 'session-ended':
      return `${event.kind} ${event.reason}`
    default:
      return event.kind
  }
}

function callInShort({ call }: Extract<AgentEvent, { kind: 'step-began' | 'step-ended' }>): string {
  const paths = call.paths.map(({ path, op, from }) =>
    [op, from === undefined ? path : `${from} -> ${path}`].filter((word) => word !== undefined).join(' '),
  )
  return [call.does, call.tool, ...paths, call.command].filter((word) => word !== undefined).join(' ')
}

describe('every recorded payload means what the agent did', () => {
  test('[A100] Claude Code', () => {
    expect(
      Object.fromEntries(fixtureNames('claude-code').map((name) => [name, inShort('claude-code', name)])),
    ).toMatchInlineSnapshot(`
      {
        "CwdChanged": [
          "moved",
        ],
        "FileChanged": [],
        "PermissionRequest": [],
        "PostCompact": [],
        "PostToolBatch": [],
        "PostToolUse.Agent": [
          "step-ended subagent Agent ok",
        ],
        "PostToolUse.Agent.background": [
          "step-ended subagent Agent launched",
        ],
        "PostToolUse.Bash": [
          "step-ended shell Bash echo from-shell > shell.txt && echo two >> a.txt ok",
        ],
        "PostToolUse.Bash.background": [
          "step-ended shell Bash sleep 1; echo late > late.txt launched",
        ],
        "PostToolUse.Bash.cd": [
          "step-ended shell Bash mkdir -p sub && cd sub && echo x > inside.txt ok",
        ],
        "PostToolUse.Edit": [
          "step-ended edit Edit /home/dev/project/a.txt ok",
        ],
        "PostToolUse.Write": [
          "step-ended edit Write /home/dev/project/new.txt ok",
        ],
        "PostToolUse.Write.overwrite": [
          "step-ended edit Write /home/dev/project/a.txt ok",
        ],
        "PostToolUseFailure": [
          "step-ended shell Bash echo half > half.txt; exit 3 failed",
        ],
        "PreCompact": [],
        "PreToolUse.Agent": [
          "step-began subagent Agent",
        ],
        "PreToolUse.Bash": [
          "step-began shell Bash echo from-shell > shell.txt && echo two >> a.txt",
        ],
        "PreToolUse.Write": [
          "step-began edit Write /home/dev/project/new.txt",
        ],
        "PreToolUse.subagent": [
          "step-began edit Write /home/dev/project/part.txt by a0000000000000001",
        ],
        "SessionEnd": [
          "session-ended other",
        ],
        "SessionStart": [
          "session-began new",
        ],
        "SessionStart.compact": [
          "session-began compacted",
        ],
        "SessionStart.resume": [
          "session-began resumed",
        ],
        "Stop": [
          "turn-ended ok",
        ],
        "Stop.background": [
          "turn-ended ok running sleep 1; echo late > late.txt",
        ],
        "StopFailure": [
          "turn-ended failed",
        ],
        "SubagentStart": [
          "subagent-began a0000000000000001",
        ],
        "SubagentStop": [
          "subagent-ended a0000000000000001",
        ],
        "UserPromptExpansion": [],
        "UserPromptSubmit": [
          "prompted by user: Add the files. play:",
        ],
        "UserPromptSubmit.synthetic": [
          "prompted by machine: <task-notification>
       about toolu_000000000000000000000011",
        ],
      }
    `)
  })

  test('[A100] Codex', () => {
    expect(
      Object.fromEntries(fixtureNames('codex').map((name) => [name, inShort('codex', name)])),
    ).toMatchInlineSnapshot(`
      {
        "Interrupt": [
          "turn-ended interrupted",
        ],
        "PostModelRequest": [],
        "PostToolUse.Bash": [
          "step-ended shell Bash echo from-shell > shell.txt && echo two >> a.txt unknown",
        ],
        "PostToolUse.Bash.failed": [
          "step-ended shell Bash echo half > half.txt; exit 3 unknown",
        ],
        "PostToolUse.apply_patch": [
          "step-ended edit apply_patch create new.txt modify a.txt delete gone.txt unknown",
        ],
        "PostToolUse.spawn_agent": [
          "step-ended subagent spawn_agent unknown",
        ],
        "PreModelRequest": [],
        "PreToolUse.Bash": [
          "step-began shell Bash echo from-shell > shell.txt && echo two >> a.txt",
        ],
        "PreToolUse.apply_patch": [
          "step-began edit apply_patch create new.txt modify a.txt delete gone.txt",
        ],
        "PreToolUse.code-mode": [
          "step-began shell Bash echo from-shell > shell.txt",
        ],
        "PreToolUse.subagent": [
          "step-began shell Bash echo part > part-shell.txt by 019b0000-0000-7000-8000-000000000006",
        ],
        "SessionEnd": [
          "session-ended other",
        ],
        "SessionStart": [
          "session-began new",
        ],
        "SessionStart.resume": [
          "session-began resumed",
        ],
        "Stop": [
          "turn-ended ok",
        ],
        "SubagentStart": [
          "subagent-began 019b0000-0000-7000-8000-000000000006",
        ],
        "SubagentStop": [
          "subagent-ended 019b0000-0000-7000-8000-000000000006",
        ],
        "UserPromptSubmit": [
          "prompted by user: Add the files. play:",
        ],
        "UserPromptSubmit.subagent": [
          "prompted by parent-agent: Do your part. play:c",
        ],
        "notify": [],
      }
    `)
  })

  test('[A100] OpenCode', () => {
    const event = (name: string) =>
      name.startsWith('event.')
        ? earOf('opencode')
            .parse('event', { hook: 'event', input: fixture('opencode', name) }, {})
            .map(shortly)
        : earOf('opencode')
            .parse(
              name.replace(/\.(subagent|user|bash|edit|task|write|aborted|failed)(\..*)?$/, ''),
              fixture('opencode', name),
              {},
            )
            .map(shortly)
    expect(
      Object.fromEntries(fixtureNames('opencode').map((name) => [name, event(name)])),
    ).toMatchInlineSnapshot(`
      {
        "chat.message": [
          "prompted by user: Add the files. play:",
        ],
        "chat.message.subagent": [
          "prompted by user: Do your part. play:o",
        ],
        "event.session.created": [
          "session-began new",
        ],
        "event.session.created.child": [],
        "event.session.error.aborted": [
          "turn-ended interrupted",
        ],
        "event.session.idle": [
          "turn-ended ok",
        ],
        "event.session.status.busy": [],
        "event.session.status.idle": [
          "turn-ended ok",
        ],
        "event.session.updated": [
          "own-undo undone",
        ],
        "event.session.updated.reverted": [
          "own-undo to msg_00000000000100000000000000",
        ],
        "init": [],
        "shell.env": [],
        "shell.env.user": [],
        "tool.execute.after.bash": [
          "step-ended shell bash echo from-shell > shell.txt && echo two >> a.txt ok",
        ],
        "tool.execute.after.bash.aborted": [
          "step-ended shell bash echo begun > slow.txt; sleep 20; echo ended >> slow.txt failed",
        ],
        "tool.execute.after.bash.failed": [
          "step-ended shell bash echo half > half.txt; exit 3 failed",
        ],
        "tool.execute.after.edit": [
          "step-ended edit edit /home/dev/project/a.txt ok",
        ],
        "tool.execute.after.task": [
          "step-ended subagent task ok",
        ],
        "tool.execute.after.write": [
          "step-ended edit write /home/dev/project/new.txt ok",
        ],
        "tool.execute.before.bash": [
          "step-began shell bash echo from-shell > shell.txt && echo two >> a.txt",
        ],
        "tool.execute.before.task": [
          "step-began subagent task",
        ],
        "tool.execute.before.write": [
          "step-began edit write /home/dev/project/new.txt",
        ],
      }
    `)
  })

  test('[A100] Gemini CLI', () => {
    expect(
      Object.fromEntries(fixtureNames('gemini-cli').map((name) => [name, inShort('gemini-cli', name)])),
    ).toMatchInlineSnapshot(`
      {
        "AfterAgent": [
          "turn-ended ok",
        ],
        "AfterTool.invoke_agent": [
          "step-ended subagent invoke_agent ok",
        ],
        "AfterTool.replace": [
          "step-ended edit replace /home/dev/project/a.txt ok",
        ],
        "AfterTool.replace.failed": [
          "step-ended edit replace /home/dev/project/missing.txt failed",
        ],
        "AfterTool.run_shell_command": [
          "step-ended shell run_shell_command echo from-shell > shell.txt && echo two >> a.txt ok",
        ],
        "AfterTool.run_shell_command.background": [
          "step-ended shell run_shell_command sleep 3; echo late > late.txt launched",
        ],
        "AfterTool.run_shell_command.failed": [
          "step-ended shell run_shell_command echo half > half.txt; exit 3 failed",
        ],
        "AfterTool.write_file": [
          "step-ended edit write_file /home/dev/project/new.txt ok",
        ],
        "BeforeAgent": [
          "prompted by user: Add the files. play:",
        ],
        "BeforeTool.invoke_agent": [
          "step-began subagent invoke_agent",
        ],
        "BeforeTool.run_shell_command": [
          "step-began shell run_shell_command echo from-shell > shell.txt && echo two >> a.txt",
        ],
        "BeforeTool.write_file": [
          "step-began edit write_file /home/dev/project/new.txt",
        ],
        "Notification": [],
        "PreCompress": [],
        "SessionEnd": [
          "session-ended exit",
        ],
        "SessionStart": [
          "session-began new",
        ],
        "SessionStart.resume": [
          "session-began resumed",
        ],
      }
    `)
  })

  test('[A100] Cline', () => {
    expect(
      Object.fromEntries(fixtureNames('cline').map((name) => [name, inShort('cline', name)])),
    ).toMatchInlineSnapshot(`
      {
        "PostToolUse.execute_command": [
          "step-ended shell execute_command echo from-bash > bash.txt ok",
        ],
        "PostToolUse.write_to_file": [
          "step-ended edit write_to_file new.txt ok",
        ],
        "PreToolUse.write_to_file": [
          "step-began edit write_to_file new.txt",
        ],
        "TaskCancel": [
          "turn-ended interrupted",
        ],
        "TaskComplete": [
          "turn-ended ok",
        ],
        "TaskStart": [
          "session-began new",
        ],
        "UserPromptSubmit": [
          "prompted by user: Add the files.",
        ],
      }
    `)
  })
})

test('[A101] the ids are the agent’s own: session, turn, call, subagent', () => {
  expect(earOf('claude-code').parse(undefined, fixture('claude-code', 'PreToolUse.subagent'), {})).toEqual([
    {
      kind: 'step-began',
      agent: 'claude-code',
      session: 'aaaaaaaa-0000-4000-8000-000000000001',
      turn: 'bbbbbbbb-0000-4000-8000-000000000002',
      subagent: 'a0000000000000001',
      cwd: '/home/dev/project',
      call: {
        id: 'toolu_000000000000000000000009',
        tool: 'Write',
        does: 'edit',
        paths: [{ path: '/home/dev/project/part.txt' }],
        wrote: [{ path: '/home/dev/project/part.txt', whole: 'part\n' }],
      },
    },
  ])
  expect(earOf('codex').parse(undefined, fixture('codex', 'PreToolUse.subagent'), {})).toMatchObject([
    {
      session: '019b0000-0000-7000-8000-000000000004',
      turn: '019b0000-0000-7000-8000-000000000007',
      subagent: '019b0000-0000-7000-8000-000000000006',
      call: { id: 'call_000000000000000000000010', command: 'echo part > part-shell.txt' },
    },
  ])
  const child = { ...(fixture('opencode', 'chat.message.subagent') as object), rootSession: 'ses_root' }
  expect(earOf('opencode').parse('chat.message', child, {})).toMatchObject([
    { session: 'ses_root', subagent: 'ses_00000000000100000000000000', by: 'parent-agent' },
  ])
})

test('[A101] the folder of the project and the process come from the environment only where it is the session’s own', () => {
  const payload = fixture('claude-code', 'PostToolUse.Bash.cd')
  const env = { CLAUDE_PROJECT_DIR: '/home/dev/project', CLAUDE_PID: '4242' }
  const [own] = earOf('claude-code').parse(undefined, payload, {
    ...env,
    CLAUDE_CODE_SESSION_ID: 'aaaaaaaa-0000-4000-8000-000000000001',
  })
  expect(own).toMatchObject({ root: '/home/dev/project', cwd: '/home/dev/project/sub', pid: 4242 })
  const [inherited] = earOf('claude-code').parse(undefined, payload, {
    ...env,
    CLAUDE_CODE_SESSION_ID: 'other',
  })
  expect(inherited).not.toHaveProperty('root')
  expect(inherited).not.toHaveProperty('pid')
})

test('[A102] the payload says who calls, whoever the hook was installed for', () => {
  for (const agent of ['claude-code', 'codex', 'gemini-cli', 'cline'] as const) {
    const wrong = fixtureNames(agent)
      .filter((name) => name !== 'notify')
      .filter((name) => whoCalls(fixture(agent, name), {}, 'cursor') !== agent)
    expect(wrong).toEqual([])
  }
  expect(whoCalls({ conversation_id: 'c', cursor_version: '2' }, {}, 'claude-code')).toBe('cursor')
  expect(whoCalls({ sessionId: 's', toolName: 'bash' }, {}, 'claude-code')).toBe('copilot-cli')
  expect(whoCalls({ session_id: 's' }, {}, 'codex')).toBe('codex')
  expect(whoCalls({ session_id: 's' }, { CLAUDE_CODE_SESSION_ID: 's' }, 'codex')).toBe('claude-code')
  expect(whoCalls({ session_id: 's' }, { CLAUDE_CODE_SESSION_ID: 'x' }, 'codex')).toBe('codex')
})

/** Not recorded: made from what their documentation says. */
test('[A103] events from the documentation of Cursor and Copilot CLI', () => {
  const all = (agent: AgentName) =>
    Object.fromEntries(fixtureNames(agent).map((name) => [name, inShort(agent, name).join()]))
  expect(all('cursor')).toEqual({
    beforeSubmitPrompt: 'prompted by user: Shout in a.txt',
    'preToolUse.Shell': 'step-began shell Shell ls',
    'preToolUse.Write': 'step-began edit Write /home/dev/project/a.txt',
    'postToolUse.Write': 'step-ended edit Write /home/dev/project/a.txt ok',
    'postToolUseFailure.Shell': 'step-ended shell Shell false failed',
    'stop.aborted': 'turn-ended interrupted',
    'stop.completed': 'turn-ended ok',
    sessionEnd: 'session-ended completed',
  })
  expect(all('copilot-cli')).toEqual({
    sessionStart: 'session-began new',
    userPromptSubmitted: 'prompted by user: Shout in a.txt',
    'preToolUse.bash': 'step-began shell bash ls',
    'postToolUse.edit': 'step-ended edit edit /home/dev/project/a.txt ok',
    'postToolUseFailure.bash': 'step-ended shell bash false failed',
    agentStop: 'turn-ended ok',
    sessionEnd: 'session-ended complete',
  })
})

test('[A104] what is no payload, or one of an unknown event, means nothing and does no harm', () => {
  for (const agent of [
    'claude-code',
    'codex',
    'opencode',
    'gemini-cli',
    'cursor',
    'copilot-cli',
    'cline',
  ] as const) {
    const { parse } = earOf(agent)
    for (const payload of [
      undefined,
      null,
      1,
      'text',
      [],
      {},
      { session_id: 7 },
      { session_id: 's', tool_input: [] },
    ])
      expect(parse('SomethingNew', payload, {})).toEqual([])
  }
})
