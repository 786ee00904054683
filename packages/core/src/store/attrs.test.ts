import { expect, test } from 'vitest'
import { rel, type StoreFixture, storeFixture, type TreeLiteral } from '../testing/store-fixture.ts'
import type { RelPath } from '../values.ts'
import {
  type Attrs,
  fileStateOf,
  folderPermOf,
  mergeAttrs,
  parseAttrs,
  permOf,
  planBetween,
  serializeAttrs,
} from './attrs.ts'
import { findLeaf, type Leaf } from './trees.ts'

type Perms = Readonly<Record<string, number>>

function attrs(
  parts: { files?: Perms; folders?: Perms; bare?: Perms } = {},
  defaults = { file: 0o644, exec: 0o755, folder: 0o755 },
): Attrs {
  const map = (perms: Perms = {}) =>
    new Map(Object.entries(perms).map(([path, perm]) => [rel(path), perm] as [RelPath, number]))
  return { defaults, files: map(parts.files), folders: map(parts.folders), bare: map(parts.bare) }
}

const plain = { mode: '100644', blob: '1' } as unknown as Leaf
const executable = { mode: '100755', blob: '1' } as unknown as Leaf
const link = { mode: '120000', blob: '1' } as unknown as Leaf

test('[S69] attributes are one sorted text and come back from it', () => {
  const all = attrs({ files: { 'z\nz': 0o600, b: 0 }, folders: { '\xff': 0o700 }, bare: { 'a b': 0o755 } })
  const bytes = serializeAttrs(all)
  expect(bytes.toString('latin1')).toBe(
    'unturn-attrs 1 644 755 755\ne 755 a b\0f 0 b\0f 600 z\nz\0d 700 \xff\0',
  )
  expect(parseAttrs(bytes)).toEqual(all)
  expect(parseAttrs(serializeAttrs(attrs()))).toEqual(attrs())
})

test.each([
  '',
  'unturn-attrs 2 644 755 755\n',
  'unturn-attrs 1 644 755\n',
  'unturn-attrs 1 0644 755 755\n',
  'unturn-attrs 1 1644 755 755\n',
  'unturn-attrs 1 755 755 755\n',
  'unturn-attrs 1 644 644 755\n',
  'unturn-attrs 1 644 755 755\nf 600 a',
  'unturn-attrs 1 644 755 755\nf 600 b\0f 600 a\0',
  'unturn-attrs 1 644 755 755\nf 600 a\0d 600 a\0',
  'unturn-attrs 1 644 755 755\nx 600 a\0',
  'unturn-attrs 1 644 755 755\nf 4755 a\0',
  'unturn-attrs 1 644 755 755\nf 600 \0',
  'unturn-attrs 1 644 755 755\n\0',
])('[S70] attributes that Unturn would not have written are refused: %j', (text) => {
  expect(() => parseAttrs(Buffer.from(text, 'latin1'))).toThrow(
    expect.objectContaining({ code: 'store-damaged' }),
  )
})

test.each(['../a', '/a', 'a//b', '.git/config', 'a/.GIT/x'])(
  '[S70] [M2] the path %j in attributes is refused',
  (path) => {
    const bytes = Buffer.from(`unturn-attrs 1 644 755 755\nf 600 ${path}\0`, 'latin1')
    expect(() => parseAttrs(bytes)).toThrow(expect.objectContaining({ code: 'bad-path' }))
  },
)

test('[S71] permission bits are those written down, else the default, and never contradict the executable bit', () => {
  const known = attrs({ files: { a: 0o600, x: 0o700 }, folders: { d: 0o700 }, bare: { e: 0o711 } })
  expect(permOf(known, rel('a'), plain)).toBe(0o600)
  expect(permOf(known, rel('a'), executable)).toBe(0o755)
  expect(permOf(known, rel('x'), executable)).toBe(0o700)
  expect(permOf(known, rel('x'), plain)).toBe(0o644)
  expect(permOf(known, rel('other'), plain)).toBe(0o644)
  expect([
    folderPermOf(known, rel('d')),
    folderPermOf(known, rel('e')),
    folderPermOf(known, rel('o')),
  ]).toEqual([0o700, 0o711, 0o755])
  expect(fileStateOf(known, rel('a'), plain)).toEqual({ kind: 'file', perm: 0o600, blob: '1' })
  expect(fileStateOf(known, rel('a'), link)).toEqual({ kind: 'link', blob: '1' })
  expect(fileStateOf(known, rel('a'), undefined)).toBeUndefined()
})

interface Side {
  readonly files: TreeLiteral
  readonly attrs?: Attrs
}

function merged(f: StoreFixture, base: Side, ours: Side, theirs: Side, result: TreeLiteral): Attrs {
  const trees = {
    base: f.tree(base.files),
    ours: f.tree(ours.files),
    theirs: f.tree(theirs.files),
    result: f.tree(result),
  }
  const sides = { base: base.attrs ?? attrs(), ours: ours.attrs ?? attrs(), theirs: theirs.attrs ?? attrs() }
  return mergeAttrs(f.store, trees, sides)
}

test('[S72] [G3] bits that only the undone turn changed go back; [G4] bits that the user changed stay', async () => {
  await using f = storeFixture()
  const private_ = attrs({ files: { a: 0o600 } })
  expect(
    merged(
      f,
      { files: { a: '2' } },
      { files: { a: '2' } },
      { files: { a: '1' }, attrs: private_ },
      { a: '1' },
    ).files,
  ).toEqual(private_.files)
  expect(
    merged(
      f,
      { files: { a: '2' } },
      { files: { a: '2' }, attrs: private_ },
      { files: { a: '1' } },
      { a: '1' },
    ).files,
  ).toEqual(private_.files)
  const other = attrs({ files: { a: 0o640 } })
  expect(
    merged(
      f,
      { files: { a: '2' } },
      { files: { a: '2' }, attrs: other },
      { files: { a: '1' }, attrs: private_ },
      { a: '1' },
    ).files,
  ).toEqual(other.files)
  const bitsOnly = merged(
    f,
    { files: { a: '1' } },
    { files: { a: '1' } },
    { files: { a: '1' }, attrs: private_ },
    { a: '1' },
  )
  expect(bitsOnly.files).toEqual(private_.files)
  const cleared = merged(
    f,
    { files: { a: '1' }, attrs: private_ },
    { files: { a: '1' }, attrs: private_ },
    { files: { a: '1' } },
    { a: '1' },
  )
  expect(cleared.files.size).toBe(0)
})

test('[S72] a file that comes back has its old bits; one that goes leaves no record', async () => {
  await using f = storeFixture()
  const private_ = attrs({ files: { a: 0o600 } })
  expect(
    merged(f, { files: {} }, { files: { b: '' } }, { files: { a: '1' }, attrs: private_ }, { a: '1', b: '' })
      .files,
  ).toEqual(private_.files)
  expect(
    merged(
      f,
      { files: { a: '1' }, attrs: private_ },
      { files: { a: '1', b: '' }, attrs: private_ },
      { files: {} },
      { b: '' },
    ).files.size,
  ).toBe(0)
})

test('[S72] bits agree with the executable bit of the merged file', async () => {
  await using f = storeFixture()
  // The user made it 0700; the undo takes the executable bit of the turn's 0755 away.
  const result = merged(
    f,
    { files: { a: { exec: 'x' } } },
    { files: { a: { exec: 'x' } }, attrs: attrs({ files: { a: 0o700 } }) },
    { files: { a: 'x' }, attrs: attrs({ files: { a: 0o640 } }) },
    { a: 'x' },
  )
  expect(result.files).toEqual(new Map([['a', 0o640]]))
  const none = merged(
    f,
    { files: { a: { exec: 'x' } } },
    { files: { a: { exec: 'x' } }, attrs: attrs({ files: { a: 0o700 } }) },
    { files: { a: { link: 'x' } } },
    { a: 'x' },
  )
  expect(none.files.size).toBe(0)
})

test('[S72] a side with other defaults has its bits written down', async () => {
  await using f = storeFixture()
  const group = attrs({}, { file: 0o664, exec: 0o775, folder: 0o775 })
  const result = merged(
    f,
    { files: { k: '' } },
    { files: { k: '', b: '' } },
    { files: { k: '', 'd/a': '1' }, attrs: group },
    { k: '', b: '', 'd/a': '1' },
  )
  expect(result.defaults.file).toBe(0o644)
  expect(result.files).toEqual(new Map([['d/a', 0o664]]))
})

test('[S73] [reading R11] [G13] a folder that was there before stays when undo takes its last file', async () => {
  await using f = storeFixture()
  const before = { files: { k: '' }, attrs: attrs({ bare: { d: 0o755 } }) }
  const after = { files: { k: '', 'd/a': '1' } }
  expect(merged(f, after, after, before, { k: '' }).bare).toEqual(new Map([['d', 0o755]]))
  const later = { files: { k: '2', 'd/a': '1' } }
  expect(merged(f, after, later, before, { k: '2' }).bare).toEqual(new Map([['d', 0o755]]))
})

test('[S73] [reading R11] [B2] a folder that the turn made goes when undo leaves it empty, and so do its parents', async () => {
  await using f = storeFixture()
  const after = { files: { k: '', 'x/y/z': '1' } }
  const result = merged(f, after, { files: { k: '2', 'x/y/z': '1' } }, { files: { k: '' } }, { k: '2' })
  expect([result.bare.size, result.folders.size]).toEqual([0, 0])
})

test('[S73] [G14] folders that the turn removed come back with their bits', async () => {
  await using f = storeFixture()
  const before = { files: { k: '', 'p/a': '1' }, attrs: attrs({ folders: { p: 0o700 }, bare: { e: 0o711 } }) }
  const result = merged(f, { files: { k: '' } }, { files: { k: '2' } }, before, { k: '2', 'p/a': '1' })
  expect(result.folders).toEqual(new Map([['p', 0o700]]))
  expect(result.bare).toEqual(new Map([['e', 0o711]]))
})

test('[S73] a folder that the user removed stays away, and one that the user made stays, with what it lies in', async () => {
  await using f = storeFixture()
  const withFolder = attrs({ bare: { d: 0o755 } })
  const gone = merged(
    f,
    { files: { k: '1' }, attrs: withFolder },
    { files: { k: '1' } },
    { files: { k: '0' }, attrs: withFolder },
    { k: '0' },
  )
  expect(gone.bare.size).toBe(0)
  const turn = { files: { k: '', 'made/by/turn': '1' } }
  const user = { ...turn, attrs: attrs({ bare: { 'made/mine': 0o700 } }) }
  const kept = merged(f, turn, user, { files: { k: '' } }, { k: '' })
  expect(kept.bare).toEqual(
    new Map([
      ['made', 0o755],
      ['made/mine', 0o700],
    ]),
  )
})

test('[S73] an empty folder makes way for a file that comes back', async () => {
  await using f = storeFixture()
  const result = merged(
    f,
    { files: { k: '' } },
    { files: { k: '' }, attrs: attrs({ bare: { d: 0o755, 'd/e': 0o755 } }) },
    { files: { k: '', d: 'file' } },
    { k: '', d: 'file' },
  )
  expect(result.bare.size).toBe(0)
})

test('[S73] an empty folder that gets a file is no longer listed as empty, and keeps its bits', async () => {
  await using f = storeFixture()
  const empty = attrs({ bare: { d: 0o700, e: 0o755 } })
  const result = merged(
    f,
    { files: { k: '' }, attrs: empty },
    { files: { k: '2' }, attrs: empty },
    { files: { k: '', 'd/a': '', 'e/a': '' }, attrs: attrs({ folders: { d: 0o700 } }) },
    { k: '2', 'd/a': '', 'e/a': '' },
  )
  expect(result.bare.size).toBe(0)
  expect(result.folders).toEqual(new Map([['d', 0o700]]))
})

test('[S74] a plan has every path that differs, by content, bits or kind, and no other', async () => {
  await using f = storeFixture()
  const from = {
    tree: f.tree({ same: '1', content: '1', bits: '1', gone: '1', kind: '1', other: '1' }),
    attrs: attrs({ files: { bits: 0o600, other: 0o600 } }),
  }
  const to = {
    tree: f.tree({
      same: '1',
      content: '2',
      bits: '1',
      'new/x': { exec: '1' },
      kind: { link: '1' },
      other: '1',
    }),
    attrs: attrs({ files: { 'new/x': 0o700, other: 0o600 } }),
  }
  const blob = (text: string) => f.store.newBatch().blob(Buffer.from(text))
  const plan = planBetween(f.store, from, to)
  expect(plan.paths).toEqual([
    {
      path: 'bits',
      from: { kind: 'file', perm: 0o600, blob: blob('1') },
      to: { kind: 'file', perm: 0o644, blob: blob('1') },
    },
    {
      path: 'content',
      from: { kind: 'file', perm: 0o644, blob: blob('1') },
      to: { kind: 'file', perm: 0o644, blob: blob('2') },
    },
    { path: 'gone', from: { kind: 'file', perm: 0o644, blob: blob('1') }, to: undefined },
    {
      path: 'kind',
      from: { kind: 'file', perm: 0o644, blob: blob('1') },
      to: { kind: 'link', blob: blob('1') },
    },
    { path: 'new/x', from: undefined, to: { kind: 'file', perm: 0o700, blob: blob('1') } },
  ])
  expect(findLeaf(f.store, to.tree, rel('new/x'))?.mode).toBe('100755')
})

test('[S74] a plan creates folders from the top, removes them from the bottom, and changes bits of those that stay', async () => {
  await using f = storeFixture()
  const from = {
    tree: f.tree({ 'a/b/c': '1', 'stay/x': '1', file: '1', 'filled/x': '1' }),
    attrs: attrs({ bare: { 'e/e': 0o755, e: 0o755, fills: 0o700 }, folders: { stay: 0o700 } }),
  }
  const to = {
    tree: f.tree({ 'n/m/x': '1', 'stay/x': '2', 'file/in': '1', 'fills/x': '1' }),
    attrs: attrs({ bare: { b: 0o711, filled: 0o755 }, folders: { 'n/m': 0o700, fills: 0o700 } }),
  }
  expect(planBetween(f.store, from, to).folders).toEqual({
    create: [
      { path: 'b', perm: 0o711 },
      { path: 'file', perm: 0o755 },
      { path: 'n', perm: 0o755 },
      { path: 'n/m', perm: 0o700 },
    ],
    remove: ['e/e', 'e', 'a/b', 'a'],
    chmod: [{ path: 'stay', from: 0o700, to: 0o755 }],
  })
  const back = planBetween(f.store, to, from).folders
  expect(back.create.map((folder) => folder.path)).toEqual(['a', 'a/b', 'e', 'e/e'])
  expect(back.remove).toEqual(['n/m', 'n', 'file', 'b'])
})

test('[S74] between snapshots with other defaults, every file and folder has new bits', async () => {
  await using f = storeFixture()
  const tree = f.tree({ 'd/a': '1', x: { exec: '1' }, l: { link: 'x' } })
  const plan = planBetween(
    f.store,
    { tree, attrs: attrs() },
    { tree, attrs: attrs({}, { file: 0o664, exec: 0o755, folder: 0o775 }) },
  )
  expect(plan.paths.map((change) => change.path)).toEqual(['d/a'])
  expect(plan.folders.chmod).toEqual([{ path: 'd', from: 0o755, to: 0o775 }])
})
