/** The main job in half a minute: an agent deletes the wrong folder, and one undo brings it back. */

import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const unturn = fileURLToPath(new URL('../packages/cli/dist/unturn.js', import.meta.url))
const base = mkdtempSync(join(tmpdir(), 'unturn-demo-'))
const project = join(base, 'project')
const env = { ...process.env, UNTURN_HOME: join(base, 'history') }

function say(text: string): void {
  console.log(`\n\u001b[2m# ${text}\u001b[22m`)
}

function run(...args: string[]): void {
  console.log(`$ unturn ${args.map((arg) => (/^[\w./-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ')}`)
  spawnSync(process.execPath, [unturn, ...args], { cwd: project, env, stdio: 'inherit' })
}

function show(...command: [string, ...string[]]): void {
  console.log(`$ ${command.join(' ')}`)
  console.log(execFileSync(command[0], command.slice(1), { cwd: project, encoding: 'utf8' }).trimEnd())
}

try {
  mkdirSync(join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'src/main.ts'), 'export const answer = 41\n')
  writeFileSync(join(project, 'notes.md'), '# Notes\n\nCall Ada.\n\nThe end.\n')

  say(
    'A project with a folder and some notes. An agent is asked to tidy up, edits the notes and deletes the sources.',
  )
  run(
    'run',
    '--agent',
    'demo-agent',
    '--prompt',
    'Tidy up',
    '--',
    'sh',
    '-c',
    'sed -i.bak s/Notes/NOTES/ notes.md && rm -r notes.md.bak src',
  )
  run('log')

  say('Before anybody notices, you write a line of your own into the same file.')
  appendFileSync(join(project, 'notes.md'), '\nMy own line.\n')

  say('Now undo. The sources are back, the heading too, and your line is still there.')
  run('undo')
  show('cat', 'notes.md', 'src/main.ts')

  say('And back again, if you like.')
  run('redo')
  run('log', '--ops')
} finally {
  rmSync(base, { recursive: true, force: true })
}
