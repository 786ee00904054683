/** Finds the command, runs it, and turns what it says or throws into output and an exit code. */

import { readFileSync } from 'node:fs'
import { asUnturnError, errorJson, type FailureCode, textOfBytes, UnturnError, visible } from '@unturn/core'
import { type Args, parseArgs, UsageError } from './args.ts'
import { type Command, Context, commonOptions } from './command.ts'
import { findCommand, loadCommand } from './commands.ts'
import { commandHelp, overview } from './help.ts'
import { Terminal } from './terminal.ts'
import { conflictLines } from './words.ts'

const exitCodes: Partial<Readonly<Record<FailureCode, number>>> = {
  'bad-usage': 2,
  'nothing-to-undo': 3,
  'nothing-to-redo': 3,
  'nothing-to-roll-back': 3,
  'nothing-to-review': 3,
  conflicts: 4,
  'turn-running': 5,
}

export async function main(version: string): Promise<number> {
  const argv = rawArguments()
  const wantsJson = argv.slice(0, endOfOptions(argv)).includes('--json')
  const terminal = new Terminal({
    quiet: argv.slice(0, endOfOptions(argv)).includes('--quiet'),
    env: process.env,
  })
  const code = await dispatch(argv, terminal, version).catch((thrown) => tell(thrown, wantsJson, terminal))
  try {
    await terminal.flush()
    return code
  } catch (thrown) {
    return tell(answerLost(thrown, code), false, terminal) // where the answer cannot go, no document can
  }
}

async function dispatch(argv: readonly string[], terminal: Terminal, version: string): Promise<number> {
  const found = findCommand(argv)
  if (found === undefined) return withoutCommand(argv, terminal, version)
  const command = await loadCommand(found.name)
  const args = parseArgs(found.argv, [...command.options, ...commonOptions])
  if (args.has('help')) {
    terminal.line(commandHelp(command, terminal))
    return 0
  }
  checkWords(command, args)
  const context = new Context(args, terminal, version)
  try {
    return await command.run(context)
  } finally {
    await context.close()
  }
}

async function withoutCommand(argv: readonly string[], terminal: Terminal, version: string): Promise<number> {
  if (argv.some((word) => word === '--version' || word === '-V')) {
    terminal.line(version)
    return 0
  }
  const wantsHelp =
    argv.length === 0 || argv.some((word) => word === '--help' || word === '-h' || word === 'help')
  if (!wantsHelp)
    throw new UsageError(
      `there is no command ${JSON.stringify(argv.find((word) => !word.startsWith('-')) ?? argv[0])}`,
    )
  const topic = argv.filter((word) => !word.startsWith('-') && word !== 'help')
  const found = topic.length === 0 ? undefined : findCommand(topic)
  terminal.line(
    found === undefined ? await overview(terminal) : commandHelp(await loadCommand(found.name), terminal),
  )
  return 0
}

function checkWords(command: Command, args: Args): void {
  const most = command.words ?? 0
  if (args.words.length > most)
    throw new UsageError(`${JSON.stringify(args.words[most])} is one word too many for "${command.name}"`)
  if (args.rest !== undefined && command.takesRest !== true)
    throw new UsageError(`"${command.name}" takes nothing behind --`)
}

function tell(thrown: unknown, wantsJson: boolean, terminal: Terminal): number {
  const error = failureOf(thrown)
  if (wantsJson) terminal.json(errorJson(error))
  else tellPlainly(error, terminal)
  if (process.env.UNTURN_DEBUG !== undefined && thrown instanceof Error)
    process.stderr.write(`${thrown.stack}\n`)
  return exitCodes[error.code] ?? 1
}

function tellPlainly(error: UnturnError, terminal: Terminal): void {
  process.stderr.write(`${terminal.style('red', 'unturn:')} ${visible(error.message)}\n`)
  for (const line of conflictLines(error, terminal)) process.stderr.write(`${line}\n`)
  if (error.hint !== '') process.stderr.write(`${visible(error.hint)}\n`)
}

/** Whatever was thrown, as what people and programs are told. */
export function failureOf(thrown: unknown): UnturnError {
  return thrown instanceof UsageError ? usageError(thrown) : asUnturnError(thrown)
}

function usageError({ message }: UsageError): UnturnError {
  return new UnturnError(
    'bad-usage',
    {},
    {
      message: `Wrong usage: ${message}.`,
      hint: 'Run "unturn help" for the commands, "unturn COMMAND --help" for one of them.',
    },
  )
}

function answerLost(cause: unknown, code: number): UnturnError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnturnError(
    'disk-failed',
    { path: '', reason },
    {
      message: `The answer could not be written (${reason}). The command itself came to its end, with exit code ${code}.`,
      hint: 'Run "unturn status" and "unturn log --ops" to see where things stand.',
      cause,
    },
  )
}

function endOfOptions(argv: readonly string[]): number {
  const at = argv.indexOf('--')
  return at < 0 ? argv.length : at
}

// Node decodes arguments as UTF-8 and loses bytes that are not; Linux lets us read them as they were typed.
function rawArguments(): readonly string[] {
  const argv = process.argv.slice(2)
  if (process.platform !== 'linux' || !argv.some((word) => word.includes('\ufffd'))) return argv
  const raw = readFileSync('/proc/self/cmdline').toString('latin1').split('\0').slice(0, -1)
  return raw.slice(raw.length - argv.length).map(textOfBytes)
}
