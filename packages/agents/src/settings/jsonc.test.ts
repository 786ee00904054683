import fc from 'fast-check'
import { expect, test } from 'vitest'
import { appendAt, JsoncError, parseJsonc, plainOf, removeWhere } from './jsonc.ts'

const ours = { command: 'ours' }
const isOurs = (value: unknown) => JSON.stringify(value) === JSON.stringify(ours)

test('[A140] an entry is put in without touching comments, order or spacing of the rest', () => {
  const text = `{
    // how I like it
    "model": "big", /* for now */
    "hooks": {
        "Stop": [
            { "command": "theirs" } // mine
        ]
    },
    "last": true // no comma
}
`
  expect(appendAt(text, ['hooks', 'Stop'], ours)).toBe(`{
    // how I like it
    "model": "big", /* for now */
    "hooks": {
        "Stop": [
            { "command": "theirs" }, // mine
            {
                "command": "ours"
            }
        ]
    },
    "last": true // no comma
}
`)
  expect(appendAt(text, ['more', 'Stop'], ours)).toContain(
    '    "last": true, // no comma\n    "more": {\n        "Stop": [\n            {\n                "command": "ours"\n',
  )
})

test.each([
  ['{}', '{\n  "hooks": {\n    "Stop": [\n      {\n        "command": "ours"\n      }\n    ]\n  }\n}'],
  ['{ "a": 1 }', '{ "a": 1, "hooks": {"Stop":[{"command":"ours"}]} }'],
  ['{"hooks":{"Stop":[]}}', undefined],
  ['{\n  "a": 1,\n}\n', undefined],
  ['{\r\n\t"a": 1\r\n}\r\n', undefined],
  ['\ufeff{\n  // nothing yet\n}\n', undefined],
  ['{\n  "hooks": {\n    "Stop": [],\n  },\n}\n', undefined],
])('[A140] an entry goes into %j', (text, expected) => {
  const changed = appendAt(text, ['hooks', 'Stop'], ours)
  if (expected !== undefined) expect(changed).toBe(expected)
  const value = plainOf(parseJsonc(changed)) as { hooks: { Stop: unknown[] } }
  expect(value.hooks.Stop.at(-1)).toEqual(ours)
  expect(changed.replaceAll('\r\n', '').includes('\n') && text.includes('\r\n')).toBe(false)
})

test('[A140] what was put in comes out again, and the text is as it was', () => {
  const entries = fc.constantFrom('{ "command": "theirs" }', '1', '[]', '"x"', '{}')
  const comment = fc.constantFrom('', ' // note', ' /* note */')
  const list = fc
    .array(fc.tuple(entries, comment), { maxLength: 3 })
    .map((items) =>
      items.length === 0
        ? '[]'
        : `[\n${items.map(([item, note], at) => `      ${item}${at < items.length - 1 ? ',' : ''}${note}`).join('\n')}\n    ]`,
    )
  const hooks = fc
    .uniqueArray(fc.tuple(fc.constantFrom('Stop', 'Start', 'Other'), list), {
      selector: ([name]) => name,
      maxLength: 3,
    })
    .map((events) =>
      events.length === 0
        ? '{}'
        : `{\n${events.map(([name, items]) => `    "${name}": ${items}`).join(',\n')}\n  }`,
    )
  const file = fc
    .tuple(fc.boolean(), hooks, comment)
    .map(([has, box, note]) =>
      has ? `{\n  "model": "big",${note}\n  "hooks": ${box}\n}\n` : `{\n  "model": "big"${note}\n}\n`,
    )
  fc.assert(
    fc.property(file, (text) => {
      const first = appendAt(text, ['hooks', 'Stop'], ours)
      const both = appendAt(first, ['hooks', 'New'], ours)
      const back = removeWhere(both, ['hooks'], isOurs)
      // An empty list or object that was there before is not told from one that we made.
      const emptied = (json: string) =>
        JSON.stringify(plainOf(parseJsonc(json)))
          .replace('"Stop":[]', '')
          .replace(/,?"hooks":\{,?\}/, '')
          .replaceAll(/([{,]),|,(?=[}])/g, '$1')
      if (text.includes('"Stop": []') || text.includes('"hooks": {}'))
        expect(emptied(back)).toBe(emptied(text))
      else expect(back).toBe(text)
    }),
    { numRuns: 300 },
  )
})

test('[A141] a file that cannot be read is left alone, with the line that is wrong', () => {
  for (const text of ['', '{', '{"a" 1}', '{"a": 1} x', '{"a": nope}', '["a"', '{"a": "b}'])
    expect(() => appendAt(text, ['hooks', 'Stop'], ours), text).toThrow(JsoncError)
  expect(() => appendAt('{\n  "a": 1\n  "b": 2\n}', ['hooks', 'Stop'], ours)).toThrow('line 3')
  expect(() => appendAt('{"hooks": []}', ['hooks', 'Stop'], ours)).toThrow(JsoncError)
  expect(() => appendAt('{"hooks": {"Stop": {}}}', ['hooks', 'Stop'], ours)).toThrow(JsoncError)
})
