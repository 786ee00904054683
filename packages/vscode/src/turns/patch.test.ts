import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hunksByPath, patched } from './patch.ts'

/** As git writes it. */
function patchOf(before: string, after: string, name = 'a.txt'): string {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-patch-'))
  try {
    writeFileSync(join(folder, 'before'), before)
    writeFileSync(join(folder, 'after'), after)
    execFileSync('git', ['diff', '--no-index', '--no-color', 'before', 'after'], { cwd: folder })
    return ''
  } catch (error) {
    const text = String((error as { readonly stdout: Buffer }).stdout)
    return text
      .replace('--- a/before', `--- ${name.replace(/^("?)/, '$1a/')}`)
      .replace('+++ b/after', `+++ ${name.replace(/^("?)/, '$1b/')}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const long = Array.from({ length: 60 }, (_, at) => `line ${at}\n`).join('')

test.each([
  ['one\n', 'two\n'],
  ['', 'new\nfile\n'],
  ['gone\n', ''],
  ['no end', 'no end at all'],
  ['an end\n', 'an end'],
  ['no end', 'no end\n'],
  [long, `first\n${long.replace('line 30\n', '').replace('line 55', 'changed')}last`],
  ['a\r\nb\r\n', 'a\r\nc\r\n'],
])('[X116] the planned file is the file as it is with the diff in it: %j', (before, after) => {
  expect(patched(before, hunksByPath(patchOf(before, after)).get('a.txt') ?? [])).toBe(after)
})

test('[X116] a file that is not the one of the diff any more gives nothing, instead of a guess', () => {
  const hunks = hunksByPath(patchOf('one\ntwo\n', 'one\n2\n')).get('a.txt') ?? []
  expect(patched('one\nzwei\n', hunks)).toBeUndefined()
})

test('[X116] names with spaces, quotes and other letters are found', () => {
  const paths = ['with space.txt', '"caf\\303\\251 \\"x\\".txt"']
  const patch = paths.map((name) => patchOf('one\n', 'two\n', name)).join('')
  expect([...hunksByPath(patch).keys()]).toEqual(['with space.txt', 'café "x".txt'])
})
