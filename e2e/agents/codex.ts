import type { Action, Driver } from './driver.ts'
import { type Place, running } from './place.ts'

/** The model's name decides which tools there are: this one has the patch, the other one subagents. */
const patching = 'gpt-5.5'
const delegating = 'unknown-model'

export const codex: Driver = {
  agent: 'codex',
  prepare: (place) => place.writeHome('.codex/config.toml', config(place)),
  env: () => ({}),
  start: (place, { text, session }) => {
    const model = text.includes('scene:delegate') ? delegating : patching
    const options = ['--json', '--dangerously-bypass-hook-trust', '-m', model]
    return running(
      place.spawnAgent(
        session === undefined
          ? ['exec', ...options, '-C', place.dir, text]
          : ['exec', 'resume', ...options, session, text],
      ),
    )
  },
  callOf: (action, place) => {
    switch (action.do) {
      case 'write':
      case 'edit':
        return { tool: 'apply_patch', input: patch(action, place) }
      case 'shell':
        return { tool: 'exec_command', input: { cmd: action.command, yield_time_ms: 25_000 } }
      case 'background':
        return { tool: 'exec_command', input: { cmd: action.command, yield_time_ms: 250 } }
      case 'delegate':
        return {
          tool: 'spawn_agent',
          group: 'multi_agent_v1',
          input: { message: `Do your part. scene:${action.scene}` },
        }
      case 'read':
      case 'report':
      case 'user':
        return undefined
    }
  },
}

function patch(action: Extract<Action, { readonly do: 'write' | 'edit' }>, place: Place): string {
  const lines = (sign: string, text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => `${sign}${line}`)
  const path = action.path.startsWith('/') ? place.absolute(action.path) : action.path
  const body =
    action.do === 'write'
      ? [`*** Add File: ${path}`, ...lines('+', action.text)]
      : [`*** Update File: ${path}`, '@@', ...lines('-', action.old), ...lines('+', action.new)]
  return ['*** Begin Patch', ...body, '*** End Patch', ''].join('\n')
}

function config({ model }: Place): string {
  return `model = "${patching}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "${model.url}/v1"
wire_api = "responses"
requires_openai_auth = false
request_max_retries = 0
stream_max_retries = 0
[features]
plugins = false
remote_plugin = false
apps = false
plugin_discovery_prefetch = false
[analytics]
enabled = false
[feedback]
enabled = false
`
}
