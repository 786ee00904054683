import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  filesOf,
  lines,
  rel,
  type StoreFixture,
  storeFixture,
  type TreeLiteral,
} from '../testing/store-fixture.ts'
import { absPathUnchecked, type Exclusive, type TreeId } from '../values.ts'
import { nodeFs } from '../workspace/node-fs.ts'
import { Git } from './git.ts'
import { type ConflictKind, MergeScratch, type OnConflict, removeScratches, type TreeMerge } from './merge.ts'

const nine = lines('1', '2', '3', '4', '5', '6', '7', '8', '9')

interface Case {
  readonly base: TreeLiteral
  readonly ours: TreeLiteral
  readonly theirs: TreeLiteral
}

async function merged(
  { base, ours, theirs }: Case,
  choice?: Exclude<OnConflict, 'abort'>,
  labels?: { ours: string; theirs: string },
) {
  await using f = storeFixture()
  await using scratch = f.scratch()
  const trees = { base: f.tree(base), ours: f.tree(ours), theirs: f.tree(theirs) }
  const merge = await scratch.merge(trees.base, trees.ours, trees.theirs)
  const tree =
    choice === undefined ? merge.tree : scratch.settle(merge, trees.ours, trees.theirs, choice, labels)
  return { ...merge, files: filesOf(scratch, tree) }
}

test('[S50] where only one side changed something, the other side comes out, and no git is started', async () => {
  await using f = storeFixture()
  await using scratch = MergeScratch.open(
    nodeFs,
    f.store,
    new Git({ folder: f.git.folder, env: {} }),
    f.scratches,
  )
  const [one, two] = [f.tree({ a: '1' }), f.tree({ a: '2' })]
  expect((await scratch.merge(one, one, two)).tree).toBe(two)
  expect((await scratch.merge(one, two, one)).tree).toBe(two)
  expect((await scratch.merge(one, two, two)).tree).toBe(two)
  expect(readdirSync(f.scratches)).toEqual([])
})

test('[S50] sides that touched different paths are combined, and no git is started', async () => {
  await using f = storeFixture()
  await using scratch = MergeScratch.open(
    nodeFs,
    f.store,
    new Git({ folder: f.git.folder, env: {} }),
    f.scratches,
  )
  const base = f.tree({ a: '1', 'd/b': '1', c: 'same' })
  const merge = await scratch.merge(
    base,
    f.tree({ a: '2', 'd/b': '1', c: 'both' }),
    f.tree({ a: '1', 'd/n': '1', c: 'both' }),
  )
  expect(filesOf(scratch, merge.tree)).toEqual({ a: '2', 'd/n': '1', c: 'both' })
  expect(merge.autoMerged).toEqual([])
})

const pool = [
  '',
  'x',
  nine,
  `${nine}10\n`,
  `0\n${nine}`,
  lines('a', 'b', 'c', 'd'),
  lines('a', 'b', 'c', 'e'),
]
const paths = ['a', 'b', 'c', 'd', 'd/a', 'd/b', 'e/f/g', 'e']
const someFiles = fc.uniqueArray(
  fc.record({ path: fc.constantFrom(...paths), text: fc.constantFrom(...pool) }),
  { selector: (file) => file.path, maxLength: 6 },
)
type Move =
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'move'; readonly path: string; readonly to: string }

const someMoves: fc.Arbitrary<Move[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('write' as const),
      path: fc.constantFrom(...paths),
      text: fc.constantFrom(...pool),
    }),
    fc.record({ kind: fc.constant('remove' as const), path: fc.constantFrom(...paths) }),
    fc.record({
      kind: fc.constant('move' as const),
      path: fc.constantFrom(...paths),
      to: fc.constantFrom(...paths),
    }),
  ),
  { minLength: 1, maxLength: 3 },
)

function put(files: Map<string, string>, path: string, text: string): void {
  for (const other of [...files.keys()]) {
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) files.delete(other)
  }
  files.set(path, text)
}

function after(files: ReadonlyMap<string, string>, moves: readonly Move[]): Map<string, string> {
  const result = new Map(files)
  for (const move of moves) {
    const text = result.get(move.path)
    if (move.kind === 'write') put(result, move.path, move.text)
    else result.delete(move.path)
    if (move.kind === 'move' && text !== undefined) put(result, move.to, text)
  }
  return result
}

async function byPlainGit(f: StoreFixture, base: TreeId, ours: TreeId, theirs: TreeId) {
  const commit = async (tree: TreeId, ...more: string[]) =>
    (await f.git.run(['commit-tree', '-m', 'x', tree, ...more])).stdout.toString().trim()
  const root = await commit(base)
  const sides = [await commit(ours, '-p', root), await commit(theirs, '-p', root)]
  const run = await f.git.run(['merge-tree', '--write-tree', ...sides], { okCodes: [0, 1] })
  return { clean: run.exitCode === 0, tree: run.stdout.toString().slice(0, 40) }
}

// Ours has emptied a file that theirs has renamed to where ours has an empty file, too.
const emptied: [{ path: string; text: string }[], Move[], Move[]] = [
  [
    { path: 'e/f/g', text: lines('a', 'b', 'c', 'd') },
    { path: 'd/b', text: '' },
  ],
  [
    { kind: 'write', path: 'b', text: '' },
    { kind: 'move', path: 'd/b', to: 'e/f/g' },
  ],
  [
    { kind: 'move', path: 'e/f/g', to: 'b' },
    { kind: 'write', path: 'a', text: '' },
  ],
]

test('[S51] whatever both sides did, the merge is the one that git makes, with git or without', async () => {
  const runs = process.env.UNTURN_SOAK === undefined ? 80 : 2_000
  let withoutGit = 0
  const property = fc.asyncProperty(someFiles, someMoves, someMoves, async (files, ourMoves, theirMoves) => {
    await using f = storeFixture()
    const start = new Map<string, string>()
    for (const { path, text } of files) put(start, path, text)
    const trees = [start, after(start, ourMoves), after(start, theirMoves)].map((map) =>
      f.tree(Object.fromEntries(map)),
    )
    const [base, ours, theirs] = trees as [TreeId, TreeId, TreeId]
    await using scratch = f.scratch()
    const merge = await scratch.merge(base, ours, theirs)
    const plain = await byPlainGit(f, base, ours, theirs)
    if (!plain.clean) expect(merge.conflicts.length).toBeGreaterThan(0)
    else if (merge.conflicts.length === 0) expect(merge.tree).toBe(plain.tree)
    // Git may lose a change without a word. Then, and only then, there is a conflict where git has none.
    else
      for (const { path } of merge.conflicts)
        expect(filesOf(scratch, plain.tree as TreeId)[path]).toBe(undefined)
    if (merge.commits === undefined) withoutGit += 1
    checkSettled(scratch, merge, ours, theirs)
  })
  await fc.assert(property, { numRuns: runs, examples: [emptied] })
  expect(withoutGit).toBeGreaterThan(runs / 10)
}, 600_000)

function checkSettled(scratch: MergeScratch, merge: TreeMerge, ours: TreeId, theirs: TreeId): void {
  const before = filesOf(scratch, ours)
  const kept = filesOf(scratch, scratch.settle(merge, ours, theirs, 'keep'))
  for (const path of merge.conflicts.flatMap((conflict) => conflict.paths))
    expect(kept[path]).toEqual(before[path])
  for (const choice of ['keep', 'overwrite', 'markers'] as const) {
    const settled = filesOf(scratch, scratch.settle(merge, ours, theirs, choice))
    for (const [path, text] of Object.entries(settled)) {
      expect(path).not.toContain('~')
      if (choice !== 'markers') expect(text).not.toContain('<<<<<<<')
    }
  }
}

test('[S52] [F1] edits of one file are combined, and the file is named as combined', async () => {
  const base = { a: nine }
  const result = await merged({
    base,
    ours: { a: nine.replace('2', 'two') },
    theirs: { a: nine.replace('8', 'eight') },
  })
  expect(result.files).toEqual({ a: nine.replace('2', 'two').replace('8', 'eight') })
  expect(result).toMatchObject({ conflicts: [], autoMerged: ['a'] })
})

test('[S53] [reading R16] edits with one untouched line between them are combined', async () => {
  const result = await merged({
    base: { a: lines('1', '2', '3', '4', '5') },
    ours: { a: lines('1', 'X', '3', '4', '5') },
    theirs: { a: lines('1', '2', '3', 'Y', '5') },
  })
  expect(result.files).toEqual({ a: lines('1', 'X', '3', 'Y', '5') })
})

test.each([
  ['changed', lines('1', '2', 'Y', '4', '5')],
  ['removed', lines('1', '2', '4', '5')],
  ['put before', lines('1', '2', 'new', '3', '4', '5')],
])('[S53] [reading R16] a line %s right below an edited one is a conflict', async (_, theirs) => {
  const result = await merged({
    base: { a: lines('1', '2', '3', '4', '5') },
    ours: { a: lines('1', 'X', '3', '4', '5') },
    theirs: { a: theirs },
  })
  expect(result.conflicts).toMatchObject([{ path: 'a', kind: 'content' }])
})

test('[S53] [F14] a reformatted file is a conflict', async () => {
  const reformatted = nine.replace(/^/gm, '  ')
  const result = await merged({
    base: { a: nine },
    ours: { a: reformatted },
    theirs: { a: nine.replace('5', 'five') },
  })
  expect(result.conflicts).toMatchObject([{ path: 'a', kind: 'content' }])
})

test('[S54] [F8] an edit follows a file that the other side renamed', async () => {
  const result = await merged({
    base: { a: nine },
    ours: { 'd/b': nine },
    theirs: { a: nine.replace('5', 'five') },
  })
  expect(result.files).toEqual({ 'd/b': nine.replace('5', 'five') })
  expect(result.conflicts).toEqual([])
})

test.each([
  ['alone', { x: nine }, { x: nine }],
  ['beside an edit that git has to merge', { x: `0\n${nine}` }, { x: `${nine}10\n` }],
])(
  '[S54] [F11] a file that the user put into a moved folder stays where it is: %s',
  async (_, mine, undone) => {
    const moved = { 'new/a': nine, 'new/b': `${nine}b`, 'new/c': `${nine}c` }
    const old = { 'old/a': nine, 'old/b': `${nine}b`, 'old/c': `${nine}c` }
    const result = await merged({
      base: { ...moved, x: nine },
      ours: { ...moved, ...mine, 'new/mine': 'mine' },
      theirs: { ...old, ...undone },
    })
    expect(Object.keys(result.files).sort()).toEqual(['new/mine', 'old/a', 'old/b', 'old/c', 'x'])
    expect(result.conflicts).toEqual([])
  },
)

test('[S54] an executable bit of one side and an edit of the other are combined', async () => {
  const result = await merged({ base: { a: 'x' }, ours: { a: { exec: 'x' } }, theirs: { a: 'y' } })
  expect(result.files).toEqual({ a: { exec: 'y' } })
})

const conflicts: readonly (readonly [
  ConflictKind,
  string,
  Case,
  { path: string; paths: readonly string[] },
])[] = [
  [
    'content',
    'the same line changed',
    { base: { a: '1\n' }, ours: { a: '2\n' }, theirs: { a: '3\n' } },
    { path: 'a', paths: ['a'] },
  ],
  [
    'content',
    'a link pointed elsewhere by both',
    { base: { a: { link: '1' } }, ours: { a: { link: '2' } }, theirs: { a: { link: '3' } } },
    { path: 'a', paths: ['a'] },
  ],
  [
    'content',
    'renamed by us, edited by both',
    { base: { a: nine }, ours: { b: `x${nine}` }, theirs: { a: `y${nine}` } },
    { path: 'b', paths: ['a', 'b'] },
  ],
  [
    'content',
    'renamed by them, edited by both',
    { base: { a: nine }, ours: { a: `x${nine}` }, theirs: { b: `y${nine}` } },
    { path: 'a', paths: ['a', 'b'] },
  ],
  [
    'binary',
    'bytes that are no text',
    { base: { a: '1\0' }, ours: { a: '2\0' }, theirs: { a: '3\0' } },
    { path: 'a', paths: ['a'] },
  ],
  [
    'add-add',
    'added by both',
    { base: {}, ours: { a: '2\n' }, theirs: { a: '3\n' } },
    { path: 'a', paths: ['a'] },
  ],
  [
    'add-add',
    'renamed onto an added file',
    { base: { a: nine }, ours: { a: nine, b: 'new' }, theirs: { b: nine } },
    { path: 'b', paths: ['a', 'b'] },
  ],
  [
    'mode',
    'added by both, one executable',
    { base: {}, ours: { a: 'x' }, theirs: { a: { exec: 'x' } } },
    { path: 'a', paths: ['a'] },
  ],
  [
    'type',
    'a file here, a link there',
    { base: { a: 'x' }, ours: { a: 'y' }, theirs: { a: { link: 'z' } } },
    { path: 'a', paths: ['a'] },
  ],
  [
    'modify-delete',
    'changed by us, gone there',
    { base: { a: '1' }, ours: { a: '2' }, theirs: {} },
    { path: 'a', paths: ['a'] },
  ],
  [
    'modify-delete',
    'gone here, changed by them',
    { base: { a: '1' }, ours: {}, theirs: { a: '2' } },
    { path: 'a', paths: ['a'] },
  ],
  [
    'rename-delete',
    'renamed by us, gone there',
    { base: { a: nine }, ours: { b: nine }, theirs: {} },
    { path: 'b', paths: ['a', 'b'] },
  ],
  [
    'rename-delete',
    'gone here, renamed by them',
    { base: { a: nine }, ours: {}, theirs: { b: nine } },
    { path: 'b', paths: ['a', 'b'] },
  ],
  [
    'rename-rename',
    'renamed by both',
    { base: { a: nine }, ours: { b: nine }, theirs: { c: nine } },
    { path: 'b', paths: ['a', 'b', 'c'] },
  ],
  [
    'rename-rename',
    'renamed and edited by both',
    { base: { a: nine }, ours: { b: `x${nine}` }, theirs: { c: `${nine}y` } },
    { path: 'b', paths: ['a', 'b', 'c'] },
  ],
  [
    'file-folder',
    'a file here, a folder there',
    { base: {}, ours: { a: '1' }, theirs: { 'a/b': '2', 'a/c/d': '3' } },
    { path: 'a', paths: ['a', 'a/b', 'a/c/d'] },
  ],
  [
    'file-folder',
    'a folder here, a file there',
    { base: {}, ours: { 'a/b': '1', 'a/c': '2' }, theirs: { a: '3' } },
    { path: 'a', paths: ['a', 'a/b', 'a/c'] },
  ],
  [
    'file-folder',
    'renamed to where a folder is',
    { base: { x: nine }, ours: { x: nine, 'a/b': '1' }, theirs: { a: nine } },
    { path: 'a', paths: ['a', 'a/b', 'x'] },
  ],
]

test.each(conflicts)('[S55] a conflict of the kind %s: %s', async (kind, _, sides, place) => {
  const result = await merged(sides)
  expect(result.conflicts).toMatchObject([{ kind, ...place }])
  expect(result.conflicts[0]?.message).toMatch(/^[^~]+\.$/)
})

test('[S55] [F2] a conflict has what each side has, and what both come from', async () => {
  const result = await merged({
    base: { a: nine },
    ours: { b: { exec: `x${nine}` } },
    theirs: { a: `y${nine}` },
  })
  const [conflict] = result.conflicts
  await using f = storeFixture()
  const batch = f.store.newBatch()
  expect(conflict?.base).toEqual({ mode: '100644', blob: batch.blob(Buffer.from(nine)) })
  expect(conflict?.ours).toEqual({ mode: '100755', blob: batch.blob(Buffer.from(`x${nine}`)) })
  expect(conflict?.theirs).toEqual({ mode: '100644', blob: batch.blob(Buffer.from(`y${nine}`)) })
})

test.each(conflicts)(
  '[S56] [F4] keep leaves every path of a conflict as it is: %s, %s',
  async (_, __, sides) => {
    const others = (side: TreeLiteral, more: TreeLiteral) => ({ ...side, z1: 'base', z2: 'base', ...more })
    const result = await merged(
      {
        base: others(sides.base, {}),
        ours: others(sides.ours, { z1: 'ours' }),
        theirs: others(sides.theirs, { z2: 'theirs' }),
      },
      'keep',
    )
    expect(result.files).toEqual(others(sides.ours, { z1: 'ours', z2: 'theirs' }))
  },
)

const renamedByUs = 'renamed by us, edited by both'

test.each(conflicts)('[S57] [F5] overwrite takes their side: %s, %s', async (_, title, sides) => {
  const result = await merged(sides, 'overwrite')
  expect(result.files).toEqual(title === renamedByUs ? { b: `y${nine}` } : sides.theirs)
})

const markable: Readonly<Record<string, TreeLiteral>> = {
  'the same line changed': { a: lines('<<<<<<< mine', '2', '=======', '3', '>>>>>>> old') },
  'added by both': { a: lines('<<<<<<< mine', '2', '=======', '3', '>>>>>>> old') },
  [renamedByUs]: { b: `${lines('<<<<<<< mine', 'x1', '=======', 'y1', '>>>>>>> old')}${nine.slice(2)}` },
  'renamed by them, edited by both': {
    b: `${lines('<<<<<<< mine', 'x1', '=======', 'y1', '>>>>>>> old')}${nine.slice(2)}`,
  },
  'renamed onto an added file': { b: `${lines('<<<<<<< mine', 'new', '=======')}${nine}>>>>>>> old\n` },
}

test.each(conflicts)(
  '[S58] [F6] markers show both sides of text, and leave the rest as ours: %s, %s',
  async (_, title, sides) => {
    const result = await merged(sides, 'markers', { ours: 'mine', theirs: 'old' })
    expect(result.files).toEqual(markable[title] ?? sides.ours)
  },
)

test('[S58] markers have the file’s line ends, and labels stay on one line', async () => {
  const result = await merged(
    { base: { a: '1\r\n' }, ours: { a: '2\r\n' }, theirs: { a: '3\r\n' } },
    'markers',
    {
      ours: 'you\nme $1',
      theirs: 'é',
    },
  )
  expect(result.files).toEqual({ a: '<<<<<<< you me $1\r\n2\r\n=======\r\n3\r\n>>>>>>> \xc3\xa9\r\n' })
})

test.each(['* merge=union\n', '* merge=binary\n', '* -merge\n', '* -text\n* conflict-marker-size=12\n'])(
  '[S59] [M5] the verdict is the same with .gitattributes saying %j',
  async (attributes) => {
    const all = { '.gitattributes': attributes }
    const apart = {
      base: { a: nine, ...all },
      ours: { a: `x${nine}`, ...all },
      theirs: { a: `${nine}y\n`, ...all },
    }
    expect((await merged(apart)).files).toEqual({ a: `x${nine}y\n`, ...all })
    const overlapping = {
      base: { a: '1\n', ...all },
      ours: { a: '2\n', ...all },
      theirs: { a: '3\n', ...all },
    }
    const result = await merged(overlapping, 'markers', { ours: 'o', theirs: 't' })
    expect(result.conflicts).toMatchObject([{ kind: 'content' }])
    expect(result.files).toEqual({ a: lines('<<<<<<< o', '2', '=======', '3', '>>>>>>> t'), ...all })
  },
)

test.each([
  'a\nb',
  'tab\t"quote"\\',
  ' -x',
  ':(glob)*',
  '\xff\xfe',
  'n\xc3\xa9',
  'a~0123456789012345678901234567890123456789',
])('[S60] [P6] [G15] [G17] the name %j goes through a merge byte for byte', async (name) => {
  const clean = await merged({
    base: { [name]: nine },
    ours: { [name]: `x${nine}` },
    theirs: { [name]: `${nine}y\n` },
  })
  expect(clean.files).toEqual({ [name]: `x${nine}y\n` })
  expect(clean.autoMerged).toEqual([name])
  const result = await merged(
    { base: { [name]: '1' }, ours: { [name]: '2' }, theirs: { [name]: '3' } },
    'overwrite',
  )
  expect(result.conflicts).toMatchObject([{ path: name, paths: [name] }])
  expect(result.files).toEqual({ [name]: '3' })
})

test('[S60] [P6] [G1] line ends and a missing last line break come out as they went in', async () => {
  const base = `a\r\nb\r\nc\r\nd\r\ne`
  const result = await merged({
    base: { a: base },
    ours: { a: base.replace('a', 'A') },
    theirs: { a: base.replace('e', 'E') },
  })
  expect(result.files).toEqual({ a: 'A\r\nb\r\nc\r\nd\r\nE' })
})

test('[S61] a merge leaves no trace in the store, and none in its own folder once it is closed', async () => {
  await using f = storeFixture()
  const [base, ours, theirs] = [f.tree({ a: nine }), f.tree({ a: `x${nine}` }), f.tree({ a: `${nine}y\n` })]
  const before = f.store.packs().length
  {
    await using scratch = f.scratch()
    const merge = await scratch.merge(base, ours, theirs)
    expect(scratch.has(merge.tree)).toBe(true)
    expect(f.store.has(merge.tree)).toBe(false)
    expect(readdirSync(f.scratches)).toHaveLength(1)
  }
  expect(readdirSync(f.scratches)).toEqual([])
  f.store.refresh()
  expect([f.store.packs().length, f.store.looseCount()]).toEqual([before, 0])
})

test('[S61] what killed processes left behind is removed, and nothing else', async () => {
  await using f = storeFixture()
  for (const name of ['merge-999999999-0123456789ab', `merge-${process.pid}-0123456789ab`]) {
    mkdirSync(join(f.scratches, name, 'ab'), { recursive: true })
    writeFileSync(join(f.scratches, name, 'ab', 'tmp_obj_x'), 'x', { mode: 0o400 })
  }
  mkdirSync(join(f.scratches, 'something-else'))
  removeScratches(nodeFs, f.scratches, {} as Exclusive)
  expect(readdirSync(f.scratches)).toEqual(['something-else'])
})

test('[S62] a merge result is the start of the next merge, and is copied to the store in one go', async () => {
  await using f = storeFixture()
  await using scratch = f.scratch()
  const base = f.tree({ 'd/a': nine, b: '1', c: '1' })
  const first = await scratch.merge(
    base,
    f.tree({ 'd/a': `x${nine}`, b: '1', c: '1' }),
    f.tree({ 'd/a': `${nine}y\n`, b: '1', c: '1' }),
  )
  const edited = scratch.settle(
    await scratch.merge(base, first.tree, f.tree({ 'd/a': nine, b: '2', c: '1' })),
    first.tree,
    base,
    'keep',
  )
  const last = await scratch.merge(base, edited, f.tree({ 'd/a': nine.replace('5', 'five'), b: '1', c: '1' }))
  const batch = f.store.newBatch()
  batch.addFrom(scratch, last.tree)
  batch.flush()
  expect(filesOf(f.store, last.tree)).toEqual({ 'd/a': `x${nine.replace('5', 'five')}y\n`, b: '2', c: '1' })
})

test('[S63] a git that fails is an error, and leaves nothing behind', async () => {
  await using f = storeFixture()
  const broken = join(f.root, 'bin')
  mkdirSync(broken)
  writeFileSync(join(broken, 'git'), '#!/bin/sh\necho "no such luck" >&2\nexit 3\n', { mode: 0o755 })
  const git = new Git({ folder: f.git.folder, env: { PATH: broken } })
  {
    await using scratch = MergeScratch.open(nodeFs, f.store, git, f.scratches)
    const merge = scratch.merge(f.tree({ a: '1' }), f.tree({ a: '2' }), f.tree({ a: '3' }))
    await expect(merge).rejects.toMatchObject({
      code: 'git-failed',
      data: { exitCode: 3, stderr: 'no such luck\n' },
    })
  }
  expect(readdirSync(f.scratches)).toEqual([])
})

test('[S63] [P4] a tree that is missing in the store is an error', async () => {
  await using f = storeFixture()
  await using scratch = f.scratch()
  const missing = '0123456789012345678901234567890123456789' as TreeId
  await expect(scratch.merge(f.tree({ a: '1' }), f.tree({ a: '2' }), missing)).rejects.toMatchObject({
    code: 'store-damaged',
  })
})

test('[S63] [M2] a tree with a name that Unturn does not touch is refused', async () => {
  await using f = storeFixture()
  await using scratch = f.scratch()
  const unsafe = f.tree({ '.git/config': 'x', a: '2' })
  await expect(scratch.merge(f.tree({ a: '1' }), f.tree({ a: '3' }), unsafe)).rejects.toMatchObject({
    code: 'bad-path',
  })
  expect(existsSync(absPathUnchecked(join(f.root, '.git')))).toBe(false)
  expect(rel('a')).toBe('a')
})
