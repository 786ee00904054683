import { expect, test } from 'vitest'
import { problemsOf, rulesIn, testNamesIn } from './rules.ts'

test('[U90] a rule without a test and a test without a rule are both found', () => {
  const rules = rulesIn('- **H1** One.\n- **H2** Two.\n')
  const source = `test('[H1] holds', () => {})\ntest('nothing said', () => {})\ntest('[H9] unknown', () => {})\n`
  const tests = testNamesIn(source).map((one) => ({ file: 'x.test.ts', ...one }))
  expect(problemsOf(rules, tests)).toEqual([
    'the rule H2 has no test',
    'x.test.ts:2: the test "nothing said" names no rule',
    'x.test.ts:3: the test names H9, which no spec has',
  ])
})

test('[U90] names of tables and of tests with other quotes are found', () => {
  const source = ['test.each([', '  1,', '])(', "  '[H2] b',", '  f,', ')', 'test(`[H3] c`, f)'].join('\n')
  const names = testNamesIn(source).map(({ name }) => name)
  expect(names).toContain('[H3] c')
  expect(names).toContain('[H2] b')
})
