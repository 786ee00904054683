import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { type Fixture, workspace } from '../../../core/src/testing/workspace.ts'
import { Terminal } from '../terminal.ts'
import { walkHunks } from './review-interactive.ts'
import { Keys } from './review-keys.ts'

const ten = '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n'

function edited(changes: Readonly<Record<string, string>>): string {
  return ten.replace(/^.*$/gm, (line) => changes[line] ?? line)
}

/** What is typed at a question: keys, or something that happens meanwhile and then the next one. */
type Typed = string | (() => Promise<unknown>)

interface Walked {
  readonly code: number
  readonly screen: string
}

/** Walks with the real engine. A question is a text that ends with a space; each is answered by the next of `typed`. */
async function walk(w: Fixture, ...typed: readonly Typed[]): Promise<Walked> {
  const source = new EventEmitter()
  const answers = [...typed]
  let screen = ''
  const answer = async (): Promise<void> => {
    const next = answers.shift()
    if (next === undefined) source.emit('end')
    else if (typeof next === 'string') source.emit('data', next)
    else await next().then(answer)
  }
  const write = (text: string) => {
    screen += text
    if (text.length > 1 && text.endsWith(' ')) setImmediate(() => void answer())
  }
  const code = await walkHunks({
    workspace: w.workspace,
    session: w.session,
    selection: {},
    keys: new Keys(source),
    write,
    terminal: new Terminal({ quiet: false, env: { NO_COLOR: '1' } }),
    rows: () => 24,
  })
  expect(answers).toEqual([])
  return { code, screen }
}

async function pending(w: Fixture): Promise<readonly string[]> {
  const { files } = await w.workspace.review(w.session)
  return files.flatMap(({ path, fresh = [], hunks }) =>
    hunks.map(({ edit }) => `${path} ${fresh.slice(edit?.from ?? 0, edit?.to ?? 0).join('')}`.trim()),
  )
}

test('[U310] y accepts, n rejects, s leaves pending; the end tells what was done and how to take it back', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited({ 1: 'ONE', 5: 'FIVE', 10: 'TEN' }) })

  const { code, screen } = await walk(w, 'y', 'n', 's', 'q')

  expect(code).toBe(0)
  expect(w.files()).toEqual({ a: edited({ 1: 'ONE', 10: 'TEN' }) })
  expect(await pending(w)).toEqual(['a TEN'])
  expect(screen.replace(/\bo\d{6}\b/g, 'OP')).toMatchInlineSnapshot(`
    "
    a  +3 −3  1 of 3
    1d8883  @@ -1,4 +1,4 @@  test-agent, t000002
    -1
    +ONE
     2
     3
     4
    Accept this hunk? [y,n,s,f,a,d,j,k,c,e,u,v,q,?] y
    Accepted 1 hunk in a

    a  +2 −2  1 of 2
    f6cfc7  @@ -2,7 +2,7 @@  test-agent, t000002
     2
     3
     4
    -5
    +FIVE
     6
     7
     8
    Accept this hunk? [y,n,s,f,a,d,j,k,c,e,u,v,q,?] n
    Rejected 1 hunk in a

    a  +1 −1  1 of 1
    d5ed3b  @@ -7,4 +7,4 @@  test-agent, t000002
     7
     8
     9
    -10
    +TEN
    Accept this hunk? [y,n,s,f,a,d,j,k,c,e,u,v,q,?] s
    That was the last one. u takes the last decision back, any other key ends. q
    Accepted 1 hunk, rejected 1; 1 hunk is still pending.
    Rejected 1 hunk in a. Take this back with: unturn rollback --op OP
    Accepted 1 hunk in a. Take this back with: unturn rollback --op OP
    "
  `)
})

test('[U311] u takes the last decision back, also behind the last hunk, and shows its hunk again', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited({ 1: 'ONE', 5: 'FIVE' }) })
  const before = await pending(w)

  const { screen } = await walk(w, 'u', 'n', 'y', 'u', 'u', 'q')

  expect(await pending(w)).toEqual(before)
  expect(w.files()).toEqual({ a: edited({ 1: 'ONE', 5: 'FIVE' }) })
  expect(screen).toContain('Nothing was decided here yet.')
  expect(screen).toContain('That was the last one.')
  expect(screen).toContain('Took back: Accepted 1 hunk in a')
  expect(screen).toContain('Took back: Rejected 1 hunk in a')
})

test('[U312] f decides on the file, a and d on all that is left; skipped hunks stay', async () => {
  await using w = await workspace({ a: ten, b: ten, c: ten })
  const all = edited({ 1: 'ONE', 5: 'FIVE', 10: 'TEN' })
  await w.turn('Shout', { a: all, b: all, c: edited({ 3: 'THREE' }) })

  await walk(w, 'f', 'x', 'f', 'n', 's', 'a', 'q')
  expect(w.files()).toEqual({ a: ten, b: all, c: edited({ 3: 'THREE' }) })
  expect(await pending(w)).toEqual(['b ONE'])

  await w.turn('More', { c: edited({ 3: 'THREE', 8: 'EIGHT' }) })
  await walk(w, 'd', 'q')
  expect(w.files()).toEqual({ a: ten, b: edited({ 5: 'FIVE', 10: 'TEN' }), c: edited({ 3: 'THREE' }) })
})

test('[U313] c asks for a comment and rejects with it; Escape goes back', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited({ 1: 'ONE', 5: 'FIVE' }) })

  await walk(w, 'c', 'never mind\u001b', 'c', 'Not so loudx\u007f, pleäse\r', 'q')

  expect(w.files()).toEqual({ a: edited({ 5: 'FIVE' }) })
  expect((await w.workspace.review(w.session)).rejections).toMatchObject([
    { comment: 'Not so loud, pleäse', added: 'ONE\n' },
  ])
})

test('[U314] e numbers the lines of the hunk and decides on some of them', async () => {
  await using w = await workspace({ a: 'k\nl\n', b: null })
  await w.turn('Add', { a: 'k\none\ntwo\nthree\nl\n', b: 'whole\n' })

  const { screen } = await walk(w, 'e', '2\r', 'n', 'e', '9\r', 'y', 'e', '1\r', 'y', 'j', 'e', 'q')

  expect(w.files()).toEqual({ a: 'k\none\nthree\nl\n', b: 'whole\n' })
  expect(await pending(w)).toEqual(['a three', 'b'])
  expect(screen).toContain('2 +two')
  expect(screen).toContain('The hunk has 2 lines, not 9')
  expect(screen).toContain('it has no lines to choose from')
})

test('[U315] j and k move round, v shows a long hunk whole, ? helps', async () => {
  await using w = await workspace({ a: ten })
  const long = Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join('')
  await w.turn('Add', { a: edited({ 1: 'ONE' }), b: long })

  const { screen } = await walk(w, 'k', 'v', 'n', 'j', '?', '\u001b[A', 'q')

  expect(screen).toContain('… 32 more lines')
  expect(screen).toContain('+line 49')
  expect(screen).toContain('c  reject it with a comment')
  expect(w.files()).toEqual({ a: edited({ 1: 'ONE' }) })
})

test('[U316] [P3] a contested hunk: nothing is changed until it is said what becomes of the user’s text', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited({ 5: 'FIVE', 9: 'NINE' }) })
  const mine = edited({ 5: 'FIVE and mine', 9: 'NINE' })
  w.userWrites({ a: mine })

  const { screen } = await walk(
    w,
    'n',
    'x',
    async () => expect(w.files()).toEqual({ a: mine }),
    'd',
    'k',
    'n',
    'o',
    'u',
    'q',
  )

  expect(screen).toContain('contested: you have edited inside')
  expect(screen).toContain('    now │ FIVE and mine')
  expect(screen).toContain('    old │ 5')
  expect(screen).toContain('Rejected 1 hunk in a')
  expect(w.files()).toEqual({ a: edited({ 5: 'FIVE and mine' }) })
})

test('[U317] [P3] what an agent changed since it was shown is refused, and shown as it is now', async () => {
  await using w = await workspace({ a: ten, b: ten })
  await w.turn('Shout', { a: edited({ 5: 'FIVE' }), b: edited({ 1: 'ONE' }) })
  const meanwhile = () => w.turn('Louder', { a: edited({ 5: 'FIVE!' }) })

  const { screen } = await walk(w, meanwhile, 'n', 'y', 'q')

  expect(screen).toContain('This has changed since it was shown')
  expect(screen.split('This has changed')[1]).toContain('+FIVE!')
  expect(w.files()).toEqual({ a: edited({ 5: 'FIVE!' }), b: edited({ 1: 'ONE' }) })
  expect(await pending(w)).toEqual(['b ONE'])
})

test('[U317] all that is left is what was listed: what an agent adds meanwhile stays pending', async () => {
  await using w = await workspace({ a: ten, b: ten })
  await w.turn('Shout', { a: edited({ 5: 'FIVE' }) })
  const meanwhile = () => w.turn('More', { b: edited({ 1: 'ONE' }) })

  const { screen } = await walk(w, meanwhile, 'a', 'q')

  expect(await pending(w)).toEqual(['b ONE'])
  expect(screen.split('Accepted 1 hunk in a')[1]).toContain('+ONE')
})

test('[U318] a key that was pressed before a hunk was shown says nothing about it', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited({ 1: 'ONE', 5: 'FIVE', 10: 'TEN' }) })

  await walk(w, 'yyy', 'q')

  expect(await pending(w)).toEqual(['a FIVE', 'a TEN'])
})

test('[U319] Ctrl-C and the end of input leave; what was decided stays', async () => {
  for (const end of ['\u0003', '\u0004'] as const) {
    await using w = await workspace({ a: ten })
    await w.turn('Shout', { a: edited({ 1: 'ONE', 5: 'FIVE', 10: 'TEN' }) })
    const { code, screen } = await walk(w, 'y', 'c', `half a comm${end}`)
    expect(code).toBe(130)
    expect(screen).toContain('Accepted 1 hunk, rejected 0; 2 hunks are still pending.')
  }
  await using w = await workspace({ a: ten })
  await w.turn('Shout', { a: edited({ 1: 'ONE' }) })
  expect((await walk(w)).code).toBe(130)
  expect(await pending(w)).toEqual(['a ONE'])
})

test('[U310] with nothing pending there is nothing to ask', async () => {
  await using w = await workspace({ a: ten })
  await w.turn('Nothing', {})
  expect(await walk(w)).toEqual({ code: 0, screen: 'Nothing is pending.\n' })
})
