import type { Driver } from './driver.ts'
import { running } from './place.ts'

export const claudeCode: Driver = {
  agent: 'claude-code',
  prepare: () => {},
  env: ({ model }) => ({
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'placeholder',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
  start: (place, { text, session }) =>
    running(
      place.spawnAgent([
        '-p',
        text,
        '--output-format',
        'json',
        '--allowedTools',
        'Write,Edit,Bash,Read,Agent',
        '--add-dir',
        place.base,
        ...(session === undefined ? [] : ['--resume', session]),
      ]),
    ),
  callOf: (action, place) => {
    switch (action.do) {
      case 'write':
        return { tool: 'Write', input: { file_path: place.absolute(action.path), content: action.text } }
      case 'read':
        return { tool: 'Read', input: { file_path: place.absolute(action.path) } }
      case 'edit':
        return {
          tool: 'Edit',
          input: { file_path: place.absolute(action.path), old_string: action.old, new_string: action.new },
        }
      case 'shell':
        return { tool: 'Bash', input: { command: action.command, description: 'a command' } }
      case 'background':
        return { tool: 'Bash', input: { command: action.command, run_in_background: true } }
      case 'delegate':
        return {
          tool: 'Agent',
          input: {
            description: 'a part',
            prompt: `Do your part. scene:${action.scene}`,
            subagent_type: 'general-purpose',
            run_in_background: false,
          },
        }
      case 'report':
      case 'user':
        return undefined
    }
  },
}
