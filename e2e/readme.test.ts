import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { command, node, Project, plainIds } from './support.ts'

interface Example {
  readonly typed: string
  readonly printed: string
}

/** The `console` blocks of the README: a line behind `$ ` is typed, the lines below it are printed. */
function examplesOf(markdown: string): readonly Example[] {
  const blocks = [...markdown.matchAll(/^```console\n([\s\S]*?)^```/gm)].map((match) => match[1] ?? '')
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [typed = '', ...printed] = part.split('\n')
        return { typed, printed: printed.join('\n') }
      }),
  )
}

test('[U13] [U1] the five minutes of the README print what the README shows', () => {
  using project = new Project()
  const examples = examplesOf(readFileSync(new URL('../README.md', import.meta.url), 'utf8'))
  expect(examples.length).toBeGreaterThan(10)
  const script = [
    `unturn() { '${node}' '${command}' "$@"; }`,
    ...examples.flatMap(({ typed }) => [typed, `printf '\\036'`]),
  ].join('\n')
  const ran = spawnSync('bash', ['-c', `exec 2>&1\n${script}`], {
    cwd: project.dir,
    env: project.env,
    encoding: 'utf8',
  })
  const printed = plainIds(ran.stdout).split('\u001e')
  examples.forEach(({ typed, printed: shown }, at) => {
    expect({ typed, printed: printed[at] }).toEqual({ typed, printed: shown })
  })
})
