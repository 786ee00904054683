import type { SessionId, Workspace } from '@unturn/core'
import { expect, test } from 'vitest'
import type { AgentName } from './events.ts'
import { Place } from './testing/place.ts'
import { play, playThroughPlugin } from './testing/player.ts'

const start = { 'a.txt': 'one\n', 'gone.txt': 'bye\n' }

/** Turns with their steps and changes, oldest first. */
function story(workspace: Workspace): readonly unknown[] {
  return workspace.index
    .sessions()
    .flatMap(({ id }) => workspace.index.turns(id))
    .sort((a, b) => a.beginSeq - b.beginSeq)
    .map((turn) => ({
      turn: `${turn.status}: ${turn.prompt ?? '(no prompt)'}`,
      steps: workspace.index.steps(turn.id).map((step) => {
        const changes = workspace.index
          .changesOfStep(step.id)
          .map(({ kind, path, certainty }) => `${kind} ${path} ${certainty}`)
        const who = step.agentId === undefined ? '' : ` by ${step.agentId}`
        return `${step.tool}${who}: ${changes.join(', ')}`
      }),
    }))
}

async function undoEverything(place: Place): Promise<void> {
  const workspace = await place.workspace()
  for (const { id } of workspace.index.sessions()) {
    const turns = workspace.index.turns(id as SessionId).length
    await workspace.undo({ session: id as SessionId, turns })
  }
}

async function played(agent: AgentName): Promise<{ place: Place; story: readonly unknown[] }> {
  const place = new Place(start)
  await play(place, agent)
  return { place, story: story(await place.workspace()) }
}

test('[A110] [A111] [A112] a recording of Claude Code becomes its turns and steps, and all of it can be undone', async () => {
  const { place, story } = await played('claude-code')
  await using _ = place
  expect(story).toMatchInlineSnapshot(`
    [
      {
        "steps": [
          "Write: add new.txt exact",
          "Edit: modify a.txt exact",
          "Bash: modify a.txt inferred, add shell.txt inferred",
          "Bash: add half.txt inferred",
          "Write: add p1.txt exact",
          "Bash: add p2.txt inferred",
        ],
        "turn": "ok: Add the files. play:claude.mixed",
      },
      {
        "steps": [
          "Write by a0000000000000001: add part.txt exact",
          "Bash by a0000000000000001: add part-shell.txt inferred",
        ],
        "turn": "ok: Let a subagent do its part. play:claude.subagent",
      },
      {
        "steps": [
          "Bash: add late.txt inferred",
        ],
        "turn": "ok: Start it in the background. play:claude.background",
      },
      {
        "steps": [
          "turn: ",
        ],
        "turn": "interrupted: Fail. play:claude.fails",
      },
      {
        "steps": [
          "Bash: add slow.txt inferred",
        ],
        "turn": "interrupted: Take your time. play:claude.slow",
      },
    ]
  `)
  await undoEverything(place)
  expect(place.files()).toEqual(start)
})

test('[A110] [A111] [A112] a recording of Codex', async () => {
  const { place, story } = await played('codex')
  await using _ = place
  expect(story).toMatchInlineSnapshot(`
    [
      {
        "steps": [
          "apply_patch: modify a.txt exact, delete gone.txt exact, add new.txt exact",
          "Bash: modify a.txt inferred, add shell.txt inferred",
          "Bash: add half.txt inferred",
          "Bash: add p1.txt inferred",
          "Bash: add p2.txt inferred",
          "apply_patch: ",
        ],
        "turn": "ok: Add the files. play:codex.mixed",
      },
      {
        "steps": [
          "Bash: add slow.txt inferred",
        ],
        "turn": "interrupted: Take your time. play:codex.slow",
      },
      {
        "steps": [
          "Bash by 019b0000-0000-7000-8000-000000000006: add part-shell.txt inferred",
          "Bash: ",
        ],
        "turn": "ok: Let a subagent do its part. play:codex.subagent",
      },
      {
        "steps": [
          "Bash: ",
          "apply_patch: add hello.txt exact",
        ],
        "turn": "ok: In code mode. play:codex.code-mode",
      },
    ]
  `)
  await undoEverything(place)
  expect(place.files()).toEqual(start)
})

test('[A110] [A111] [A112] a recording of Gemini CLI, which gives no ids', async () => {
  const { place, story } = await played('gemini-cli')
  await using _ = place
  expect(story).toMatchInlineSnapshot(`
    [
      {
        "steps": [
          "write_file: add new.txt exact",
          "replace: modify a.txt exact",
          "run_shell_command: modify a.txt inferred, add shell.txt inferred",
          "run_shell_command: add half.txt inferred",
          "replace: ",
          "write_file: add p1.txt exact",
          "run_shell_command: add p2.txt inferred",
        ],
        "turn": "ok: Add the files. play:gemini.mixed",
      },
      {
        "steps": [
          "write_file by invoke_agent:30f3df749aa66169: add part.txt exact",
          "run_shell_command by invoke_agent:30f3df749aa66169: add part-shell.txt inferred",
        ],
        "turn": "ok: Let a subagent do its part. play:gemini.subagent",
      },
      {
        "steps": [
          "run_shell_command: add slow.txt inferred",
        ],
        "turn": "interrupted: Take your time. play:gemini.slow",
      },
    ]
  `)
  await undoEverything(place)
  expect(place.files()).toEqual(start)
})

test('[A110] [A111] [A112] [A113] a recording of OpenCode, through the plugin', async () => {
  await using place = new Place(start)
  await playThroughPlugin(place)
  expect(story(await place.workspace())).toMatchInlineSnapshot(`
    [
      {
        "steps": [
          "write: add new.txt exact",
          "edit: modify a.txt exact",
          "bash: modify a.txt inferred, add shell.txt inferred",
          "bash: add half.txt inferred",
          "write: add p1.txt exact",
          "bash: add p2.txt inferred",
          "edit: ",
        ],
        "turn": "ok: Add the files. play:opencode.mixed",
      },
      {
        "steps": [
          "write by ses_00000000000100000000000000: add part.txt exact",
          "bash by ses_00000000000100000000000000: add part-shell.txt inferred",
        ],
        "turn": "ok: Let a subagent do its part. play:opencode.subagent",
      },
      {
        "steps": [
          "turn: ",
        ],
        "turn": "interrupted: [unturn] The user undid your last turn.",
      },
      {
        "steps": [
          "turn: ",
        ],
        "turn": "ok: Next. play:x.hello",
      },
      {
        "steps": [
          "bash: add slow.txt inferred",
        ],
        "turn": "interrupted: Take your time. play:opencode.slow",
      },
      {
        "steps": [
          "revert: ",
        ],
        "turn": "ok: (opencode reverted to before msg_00000000000100000000000000)",
      },
      {
        "steps": [
          "unrevert: ",
        ],
        "turn": "ok: (opencode took its own revert back)",
      },
      {
        "steps": [
          "revert: ",
        ],
        "turn": "ok: (opencode reverted to before msg_00000000002200000000000000)",
      },
      {
        "steps": [
          "turn: ",
        ],
        "turn": "ok: Another way. play:x.hello",
      },
      {
        "steps": [
          "bash: add late.txt inferred",
        ],
        "turn": "ok: Bg. play:x.opencode.bg",
      },
    ]
  `)
  await undoEverything(place)
  expect(place.files()).toEqual(start)
})
