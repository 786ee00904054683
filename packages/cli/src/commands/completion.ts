/** `completion`: a script for the shell, made from the commands themselves. */

import { type Command, commonOptions, UsageError } from '../command.ts'
import { commandNames, loadCommand } from '../commands.ts'

export const completionCommand: Command = {
  name: 'completion',
  group: 'More',
  usage: 'completion bash|zsh|fish',
  summary: 'print a completion script for your shell',
  details: 'bash: source <(unturn completion bash)    zsh: the same    fish: unturn completion fish | source',
  options: [],
  words: 1,
  run: async (context) => {
    const shell = context.args.words[0] ?? ''
    const commands = await Promise.all(commandNames.map(loadCommand))
    if (shell === 'fish') context.terminal.bytes(fishScript(commands))
    else if (shell === 'bash') context.terminal.bytes(bashScript(commands))
    else if (shell === 'zsh')
      context.terminal.bytes(`autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`)
    else throw new UsageError('name the shell: bash, zsh or fish')
    return 0
  },
}

function optionNames(command: Command): string {
  return [...command.options, ...commonOptions]
    .map((option) => (option.name === 'C' ? '-C' : `--${option.name}`))
    .join(' ')
}

function bashScript(commands: readonly Command[]): string {
  const firsts = [...new Set(commands.map((command) => command.name.split(' ')[0]))].join(' ')
  const cases = commands.map((command) => `    "${command.name}") words="${optionNames(command)}" ;;`)
  return `_unturn() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="${firsts} help"
  local one="\${COMP_WORDS[1]}" two="\${COMP_WORDS[1]} \${COMP_WORDS[2]}"
  case "$COMP_CWORD:$one" in
    2:turn|2:step) words="begin end" ;;
  esac
  local name
  for name in "$two" "$one"; do
    if [ "$COMP_CWORD" -gt 1 ]; then case "$name" in
${cases.join('\n')}
    *) continue ;;
    esac; break; fi
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _unturn unturn
`
}

function fishScript(commands: readonly Command[]): string {
  const firsts = [...new Set(commands.map((command) => command.name.split(' ')[0] ?? ''))]
  const lines = firsts.map((first) => {
    const summary = commands.find((command) => command.name === first)?.summary ?? ''
    return `complete -c unturn -n __fish_use_subcommand -a ${first} -d '${summary.replaceAll("'", '’')}'`
  })
  lines.push(`complete -c unturn -n '__fish_seen_subcommand_from turn step' -a 'begin end'`)
  for (const command of commands) {
    for (const option of [...command.options, ...commonOptions]) {
      if (option.name === 'C') continue
      lines.push(
        `complete -c unturn -n '__fish_seen_subcommand_from ${command.name.split(' ')[0]}' -l ${option.name} -d '${option.help.replaceAll("'", '’')}'`,
      )
    }
  }
  return `${[...new Set(lines)].join('\n')}\n`
}
