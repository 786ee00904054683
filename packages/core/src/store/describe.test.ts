import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesOf, lines, rel, storeFixture, userGit } from '../testing/store-fixture.ts'
import type { TreeId } from '../values.ts'
import { Describer, findRenames, patch } from './describe.ts'
import { emptyTree } from './trees.ts'

const six = lines('1', '2', '3', '4', '5', '6')

test('[S64] every kind of change has its name, its counts and both sides', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const before = f.tree({
    add: 'x',
    old: six,
    del: 'gone\n',
    mode: 'x',
    type: 'x',
    mod: six,
    bin: 'a\0',
    same: 's',
  })
  const after = f.tree({
    add: 'x',
    new: six.replace('6', 'six'),
    mode: { exec: 'x' },
    type: { link: 'x' },
    mod: `${six}7\n8\n`.replace('1\n', ''),
    bin: 'b\0',
    same: 's',
    'd/added': 'x\ny\n',
  })
  const changes = await describer.describe(before, after)
  const plain = changes.map(({ before: _, after: __, ...rest }) => rest)
  expect(plain).toEqual([
    { path: 'bin', kind: 'modify', additions: 0, deletions: 0, binary: true },
    { path: 'd/added', kind: 'add', additions: 2, deletions: 0, binary: false },
    { path: 'del', kind: 'delete', additions: 0, deletions: 1, binary: false },
    { path: 'mod', kind: 'modify', additions: 2, deletions: 1, binary: false },
    { path: 'mode', kind: 'mode', additions: 0, deletions: 0, binary: false },
    { path: 'new', from: 'old', kind: 'rename', additions: 1, deletions: 1, binary: false },
    { path: 'type', kind: 'type', additions: 0, deletions: 0, binary: false },
  ])
  const renamed = changes.find((change) => change.kind === 'rename')
  expect(f.store.readBlob(renamed?.before?.blob as never).toString()).toBe(six)
  expect(changes.find((change) => change.kind === 'mode')?.after?.mode).toBe('100755')
  expect(changes.find((change) => change.kind === 'add')?.before).toBeUndefined()
})

test('[S64] equal trees have no changes, and an empty tree is a side like any other', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const tree = f.tree({ a: '1\n' })
  expect(await describer.describe(tree, tree)).toEqual([])
  expect(await describer.describe(emptyTree, tree)).toMatchObject([{ path: 'a', kind: 'add', additions: 1 }])
  expect(await describer.describe(tree, emptyTree)).toMatchObject([
    { path: 'a', kind: 'delete', deletions: 1 },
  ])
})

test('[S64] [G15] [G17] names come back byte for byte, also from a rename', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const odd = ['a\nb', 'tab\t"', '\xff\xfe', ':x', '1\t1\tx']
  const before = f.tree(Object.fromEntries(odd.map((name, i) => [name, `${i}\n`])))
  const after = f.tree(Object.fromEntries(odd.map((name, i) => [name, `${i}${i}\n`])))
  const changes = await describer.describe(before, after)
  expect(changes.map((change) => change.path)).toEqual(odd.toSorted())
  const moved = await describer.describe(f.tree({ 'a\tb\n': six }), f.tree({ '\xff\n': six }))
  expect(moved).toMatchObject([{ path: '\xff\n', from: 'a\tb\n', kind: 'rename', additions: 0 }])
})

test('[S64] [M5] what .gitattributes says about diffs changes nothing', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const all = { '.gitattributes': '* -diff\n*.bin diff\n' }
  const changes = await describer.describe(f.tree({ ...all, a: '1\n' }), f.tree({ ...all, a: '2\n' }))
  expect(changes).toMatchObject([{ path: 'a', additions: 1, deletions: 1, binary: false }])
})

test('[S65] what was stored after the describer started is seen', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  let before = f.tree({ a: 'start' })
  await describer.describe(emptyTree, before)
  for (let i = 0; i < 10; i += 1) {
    const after = f.tree({ a: `version ${i}\n`, [`d${i}/x`]: `${i}` })
    expect(await describer.describe(before, after)).not.toEqual([])
    before = after
  }
})

test('[S65] questions asked at once are all answered, each with its own answer', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const trees = Array.from({ length: 20 }, (_, i) => f.tree({ [`f${i}`]: 'x' }))
  const answers = await Promise.all(trees.map((tree) => describer.describe(emptyTree, tree)))
  expect(answers.map((answer) => answer[0]?.path)).toEqual(trees.map((_, i) => `f${i}`))
})

test('[S65] a describer whose git was killed goes on with a new one', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const tree = f.tree({ a: '1' })
  await describer.describe(emptyTree, tree)
  const children = spawnSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  }).stdout
  const pids = children
    .split('\n')
    .filter((line) => line.includes('diff-tree --stdin'))
    .map((line) => Number.parseInt(line, 10))
  expect(pids).toHaveLength(1)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  expect(await describer.describe(emptyTree, tree)).toHaveLength(1)
})

test('[S66] [P4] a tree that is not there is an error, never "no changes"', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  const missing = '0123456789012345678901234567890123456789' as TreeId
  await expect(describer.describe(emptyTree, missing)).rejects.toMatchObject({ code: 'store-damaged' })
  expect(await describer.describe(emptyTree, f.tree({ a: '1' }))).toHaveLength(1)
})

test('[S66] [M2] a tree with a name that Unturn does not touch is refused', async () => {
  await using f = storeFixture()
  await using describer = new Describer(f.git)
  await expect(describer.describe(emptyTree, f.tree({ '.git/config': 'x' }))).rejects.toMatchObject({
    code: 'bad-path',
  })
})

test('[S67] a patch takes one tree to the other with git apply, and shows renames', async () => {
  await using f = storeFixture()
  const before = { a: six, 'd/old': `${six}old\n`, 'n\xc3\xa9\n': 'x\n', m: 'x\n', gone: 'no last line' }
  const after = {
    a: six.replace('1', 'one'),
    'd/new': `${six}new\n`,
    'n\xc3\xa9\n': 'y\n',
    m: { exec: 'x\n' },
    '-n': 'n\n',
  }
  const text = await patch(f.git, f.tree(before), f.tree(after))
  expect(text.toString('latin1')).toContain('rename from d/old\nrename to d/new\n')
  expect(text.toString('latin1')).toContain('"a/n\xc3\xa9\\n"')
  const place = join(f.root, 'place')
  mkdirSync(join(place, 'd'), { recursive: true })
  for (const [name, literal] of Object.entries(before))
    writeFileSync(Buffer.from(join(place, name), 'latin1'), literal, 'latin1')
  writeFileSync(join(f.root, 'patch'), text)
  userGit(place, 'init', '-q')
  userGit(place, 'add', '-A')
  userGit(place, 'apply', '--index', '../patch')
  const tree = userGit(place, 'write-tree')
  expect(tree).toBe(f.tree(after))
  expect(filesOf(f.store, tree as TreeId)).toEqual(after)
})

test('[S67] binary files are named in a patch, not written out; context and table are to be had', async () => {
  await using f = storeFixture()
  const [before, after] = [f.tree({ a: six, b: '\0' }), f.tree({ a: six.replace('4', 'four'), b: '\0\0' })]
  const text = String(await patch(f.git, before, after, { context: 0 })).replace(/^index .*$/gm, 'index')
  expect(text).toBe(
    lines(
      'diff --git a/a b/a',
      'index',
      '--- a/a',
      '+++ b/a',
      '@@ -4 +4 @@',
      '-4',
      '+four',
      'diff --git a/b b/b',
      'index',
      'Binary files a/b and b/b differ',
    ),
  )
  const table = String(await patch(f.git, before, after, { stat: true }))
  expect(table).toContain(' 2 files changed, 1 insertion(+), 1 deletion(-)\n')
})

test('[S68] a patch of chosen paths has these and no others, names of any bytes, old names of renames', async () => {
  await using f = storeFixture()
  const before = f.tree({ a: '1\n', b: '1\n', '\xff': '1\n', t: '1\n', old: six, z: '1\n' })
  const after = f.tree({
    a: 'diff --git a/b b/b\n',
    b: '2\n',
    '\xff': '2\n',
    t: { link: '1' },
    new: six,
    z: '2\n',
  })
  const filesIn = async (...paths: string[]) => {
    const text = await patch(f.git, before, after, { paths: paths.map(rel) })
    return text.toString('latin1').match(/^diff --git .*$/gm) ?? []
  }
  expect(await filesIn('a')).toEqual(['diff --git a/a b/a'])
  expect(await filesIn('\xff', 'z')).toEqual(['diff --git a/z b/z', 'diff --git a/\xff b/\xff'])
  expect(await filesIn('old')).toEqual(['diff --git a/old b/new'])
  expect(await filesIn('new')).toEqual(['diff --git a/old b/new'])
  expect(await filesIn('t')).toEqual(['diff --git a/t b/t', 'diff --git a/t b/t'])
  expect(await filesIn('nothing', '*')).toEqual([])
  expect(await filesIn()).toEqual([])
  const table = await patch(f.git, before, after, { paths: [rel('b'), rel('z')], stat: true })
  expect(String(table)).toContain(' 2 files changed, 2 insertions(+), 2 deletions(-)\n')
})

test('[S68] renames between two trees are to be had alone', async () => {
  await using f = storeFixture()
  const renames = await findRenames(f.git, f.tree({ a: six, b: 'x' }), f.tree({ 'd/c': six, b: 'y' }))
  expect(renames).toEqual([{ from: 'a', to: 'd/c' }])
})
