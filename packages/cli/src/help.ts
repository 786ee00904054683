/** Help: one screen of commands, and one page for each. */

import type { OptionSpec } from './args.ts'
import { type Command, commonOptions } from './command.ts'
import { commandNames, loadCommand } from './commands.ts'
import type { Terminal } from './terminal.ts'

export async function overview(terminal: Terminal): Promise<string> {
  const commands = await Promise.all(commandNames.map(loadCommand))
  const width = Math.max(...commands.map((command) => command.name.length))
  const groups = [...new Set(commands.map((command) => command.group))]
  const lines = ['Undo for AI coding agents.', '', 'Usage: unturn [-C DIR] COMMAND [OPTIONS]']
  for (const group of groups) {
    lines.push('', terminal.style('bold', group))
    for (const command of commands) {
      if (command.group === group) lines.push(`  ${command.name.padEnd(width)}  ${command.summary}`)
    }
  }
  lines.push(
    '',
    'Everywhere:',
    ...optionLines(commonOptions),
    '',
    'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing to do, 4 conflicts, 5 busy.',
  )
  return lines.join('\n')
}

export function commandHelp(command: Command, terminal: Terminal): string {
  const lines = [command.summary, '', `${terminal.style('bold', 'Usage:')} unturn ${command.usage}`]
  if (command.details !== undefined) lines.push('', command.details)
  if (command.options.length > 0)
    lines.push('', terminal.style('bold', 'Options'), ...optionLines(command.options))
  lines.push('', terminal.style('bold', 'Everywhere'), ...optionLines(commonOptions))
  return lines.join('\n')
}

function optionLines(options: readonly OptionSpec[]): readonly string[] {
  const heads = options.map((option) => {
    const dashes = option.name === 'C' ? '-C' : `--${option.name}`
    return option.value === undefined ? dashes : `${dashes} ${option.value}`
  })
  const width = Math.max(...heads.map((head) => head.length))
  return options.map((option, at) => `  ${(heads[at] ?? '').padEnd(width)}  ${option.help}`)
}
