/** The commands by name. Each is loaded only when it is asked for: a hook must not pay for the others. */

import { type OptionSpec, UsageError } from './args.ts'
import { type Command, commonOptions } from './command.ts'

const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  'turn begin': async () => (await import('./commands/recording.ts')).turnBegin,
  'turn end': async () => (await import('./commands/recording.ts')).turnEnd,
  'step begin': async () => (await import('./commands/recording.ts')).stepBegin,
  'step end': async () => (await import('./commands/recording.ts')).stepEnd,
  capture: async () => (await import('./commands/recording.ts')).captureCommand,
  run: async () => (await import('./commands/run-command.ts')).runCommand,
  acp: async () => (await import('./commands/acp.ts')).acpCommand,
  undo: async () => (await import('./commands/moving.ts')).undoCommand,
  redo: async () => (await import('./commands/moving.ts')).redoCommand,
  restore: async () => (await import('./commands/moving.ts')).restoreCommand,
  rollback: async () => (await import('./commands/rollback.ts')).rollbackCommand,
  cleanup: async () => (await import('./commands/moving.ts')).cleanupCommand,
  review: async () => (await import('./commands/review.ts')).reviewCommand,
  accept: async () => (await import('./commands/review-decide.ts')).acceptCommand,
  reject: async () => (await import('./commands/review-decide.ts')).rejectCommand,
  propose: async () => (await import('./commands/review-propose.ts')).proposeCommand,
  proposals: async () => (await import('./commands/review-propose.ts')).proposalsCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  log: async () => (await import('./commands/log.ts')).logCommand,
  show: async () => (await import('./commands/show.ts')).showCommand,
  diff: async () => (await import('./commands/show.ts')).diffCommand,
  blame: async () => (await import('./commands/blame.ts')).blameCommand,
  store: async () => (await import('./commands/store.ts')).storeCommand,
  gc: async () => (await import('./commands/store.ts')).gcCommand,
  pin: async () => (await import('./commands/store.ts')).pinCommand,
  unpin: async () => (await import('./commands/store.ts')).unpinCommand,
  purge: async () => (await import('./commands/store.ts')).purgeCommand,
  init: async () => (await import('./commands/init.ts')).initCommand,
  hook: async () => (await import('./commands/hook.ts')).hookCommand,
  watch: async () => (await import('./commands/watch.ts')).watchCommand,
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  studio: async () => (await import('./commands/serve.ts')).studioCommand,
  mcp: async () => (await import('./commands/mcp.ts')).mcpCommand,
  doctor: async () => (await import('./commands/store.ts')).doctorCommand,
  completion: async () => (await import('./commands/completion.ts')).completionCommand,
}

export const commandNames: readonly string[] = Object.keys(loaders)

export async function loadCommand(name: string): Promise<Command> {
  const load = loaders[name]
  if (load === undefined) throw new UsageError(`there is no command ${JSON.stringify(name)}`)
  return load()
}

/** The command's name, and the arguments without it. Options for every command may stand before its name. */
export function findCommand(
  argv: readonly string[],
): { readonly name: string; readonly argv: readonly string[] } | undefined {
  const at = firstWord(argv, commonOptions)
  const word = argv[at]
  if (word === undefined) return undefined
  const pair = `${word} ${argv[at + 1] ?? ''}`
  const name = pair in loaders ? pair : word
  if (!(name in loaders)) {
    const starts = commandNames.filter((one) => one.startsWith(`${word} `))
    if (starts.length > 0)
      throw new UsageError(
        `"${word}" wants one of: ${starts.map((one) => one.slice(word.length + 1)).join(', ')}`,
      )
    return undefined
  }
  const count = name === pair ? 2 : 1
  return { name, argv: [...argv.slice(0, at), ...argv.slice(at + count)] }
}

function firstWord(argv: readonly string[], options: readonly OptionSpec[]): number {
  const taking = new Set(
    options
      .filter((option) => option.value !== undefined)
      .flatMap((option) => [`--${option.name}`, `-${option.short ?? option.name}`]),
  )
  let at = 0
  while (at < argv.length && (argv[at] ?? '').startsWith('-') && argv[at] !== '--')
    at += taking.has(argv[at] ?? '') ? 2 : 1
  return argv[at] === '--' ? argv.length : at
}
