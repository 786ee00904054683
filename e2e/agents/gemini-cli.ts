import type { Driver } from './driver.ts'
import { running } from './place.ts'

const settings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  telemetry: { enabled: false },
  privacy: { usageStatisticsEnabled: false },
}

export const geminiCli: Driver = {
  agent: 'gemini-cli',
  prepare: (place) => place.writeHome('.gemini/settings.json', `${JSON.stringify(settings, null, 2)}\n`),
  env: ({ model }) => ({
    GOOGLE_GEMINI_BASE_URL: model.url,
    GEMINI_API_KEY: 'placeholder',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    GEMINI_CLI_NO_RELAUNCH: 'true',
    NO_COLOR: '1',
  }),
  start: (place, { text, session }) =>
    running(
      place.spawnAgent([
        '-p',
        text,
        '-o',
        'json',
        '--approval-mode',
        'yolo',
        '--include-directories',
        place.base,
        ...(session === undefined ? [] : ['--resume', session]),
      ]),
    ),
  callOf: (action, place) => {
    switch (action.do) {
      case 'write':
        return { tool: 'write_file', input: { file_path: place.absolute(action.path), content: action.text } }
      case 'read':
        return { tool: 'read_file', input: { file_path: place.absolute(action.path) } }
      case 'edit':
        return {
          tool: 'replace',
          input: {
            file_path: place.absolute(action.path),
            instruction: 'change it',
            old_string: action.old,
            new_string: action.new,
          },
        }
      case 'shell':
        return { tool: 'run_shell_command', input: { command: action.command } }
      case 'background':
        return { tool: 'run_shell_command', input: { command: action.command, is_background: true } }
      case 'delegate':
        return {
          tool: 'invoke_agent',
          input: { agent_name: 'generalist', prompt: `Do your part. scene:${action.scene}` },
        }
      case 'user':
        return undefined
      case 'report':
        return { tool: 'complete_task', input: { result: { response: 'My part is done.' } } }
    }
  },
}
