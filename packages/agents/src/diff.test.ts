import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffOf } from './diff.ts'

test('[A142] a change in two places is shown with its lines around, and the rest is left out', () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`)
  const before = `${lines.join('\n')}\n`
  const after = before.replace('line 3\n', 'line 3\nnew\n').replace('line 25\n', '')
  expect(diffOf({ path: '/s.json', before, after }).join('\n')).toMatchInlineSnapshot(`
    "--- /s.json
    +++ /s.json
    @@ -1,6 +1,7 @@
     line 1
     line 2
     line 3
    +new
     line 4
     line 5
     line 6
    @@ -22,7 +23,6 @@
     line 22
     line 23
     line 24
    -line 25
     line 26
     line 27
     line 28"
  `)
})

test('[A142] git applies what is shown, whatever the change', () => {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-diff-'))
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 12 })
    .map((all) => `${all.join('\n')}\n`)
  try {
    fc.assert(
      fc.property(text, text, (before, after) => {
        fc.pre(before !== after)
        writeFileSync(join(folder, 's'), before)
        const patch = diffOf({ path: 's', before, after }).join('\n')
        execFileSync('git', ['apply', '--unsafe-paths', '-p0', '--whitespace=nowarn', '-'], {
          cwd: folder,
          input: `${patch}\n`,
        })
        expect(readFileSync(join(folder, 's'), 'utf8')).toBe(after)
      }),
      { numRuns: 40 },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
