import { expect, test } from 'vitest'
import { visible, visiblePatch } from './visible.ts'

test('[D114] what hides, or turns the line around, is named; letters and tabs stay', () => {
  expect(visible('a\u202eb')).toBe('a⟦U+202E⟧b')
  expect(visible('bell\u0007 zero\u200bwidth \ufeff')).toBe('bell⟦U+0007⟧ zero⟦U+200B⟧width ⟦U+FEFF⟧')
  expect(visible('\ttab, ä, 漢, 🙂')).toBe('\ttab, ä, 漢, 🙂')
  expect(visible('odd byte \udcff')).toBe('odd byte ⟦U+DCFF⟧')
})

test('[D114] ends of lines are named only where they differ', () => {
  const head = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n'
  expect(visiblePatch(`${head}-one\r\n+two\r\n`)).toBe(`${head}-one\r\n+two\r\n`)
  expect(visiblePatch(`${head}-one\r\n+one\n`)).toBe(`${head}-one⟦U+000D⟧\n+one\n`)
})
