import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import { objectId } from '../object-id.ts'
import { objectFixture } from '../testing/object-fixture.ts'
import type { BlobId, RelPath, TreeId } from '../values.ts'
import type { ObjectBatch, Objects } from './objects.ts'
import {
  buildTree,
  diffTrees,
  editTree,
  emptyTree,
  findLeaf,
  hasFolder,
  type Leaf,
  listTree,
  parseTree,
  serializeTree,
  type TreeEntry,
} from './trees.ts'

const rel = (path: string) => path as RelPath
const blobOf = (text: string): BlobId => objectId('blob', Buffer.from(text))
const file = (text: string): Leaf => ({ mode: '100644', blob: blobOf(text) })
const someId = blobOf('some')

type Files = ReadonlyMap<string, Leaf>

function treeOf(batch: ObjectBatch, files: Files): TreeId {
  return buildTree(
    batch,
    [...files].map(([path, leaf]) => [rel(path), leaf] as const),
  )
}

function filesOf(objects: Objects, tree: TreeId): Map<string, Leaf> {
  return new Map(listTree(objects, tree))
}

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

// Names that sort differently as files and as folders, and bytes that are no UTF-8.
const name = fc.constantFrom('a', 'a.b', 'a-', 'a0', 'ab', 'b', 'B', 'z\xff', '\x01', 'a b', 'A', 'lib')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
const leaf = fc
  .tuple(fc.constantFrom('100644', '100755', '120000'), fc.constantFrom('one', 'two', 'three'))
  .map(([mode, text]): Leaf => ({ mode: mode as Leaf['mode'], blob: blobOf(text) }))

/** Drawn paths without those that would be a file and a folder at once. */
const files = fc.array(fc.tuple(path, leaf), { maxLength: 25 }).map((drawn): Files => {
  const kept = new Map<string, Leaf>()
  for (const [path, leaf] of drawn) if (fits(kept, path)) kept.set(path, leaf)
  return kept
})

function fits(files: Files, path: string): boolean {
  return ![...files.keys()].some((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`))
}

function sorted(files: Files): readonly (readonly [string, Leaf])[] {
  return [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

test('[S20] a parsed tree is written back byte for byte, and entries given in any order end in that of git', () => {
  const entry = fc.record({
    name: name,
    mode: fc.constantFrom('100644', '100755', '120000', '40000'),
    id: fc.constant(someId as string),
  })
  const entries = fc.uniqueArray(entry, { selector: ({ name }) => name })
  fc.assert(
    fc.property(entries, (drawn) => {
      const bytes = serializeTree(drawn)
      expect(serializeTree(parseTree(bytes))).toEqual(bytes)
      expect(serializeTree(drawn.toReversed())).toEqual(bytes)
      expect(parseTree(bytes)).toHaveLength(drawn.length)
    }),
  )
})

test('[S20] [S2] the bytes and the id of a tree are those of git mktree', () => {
  using f = objectFixture()
  fc.assert(
    fc.property(files, (drawn) => {
      const batch = f.store.newBatch()
      const blobs = ['one', 'two', 'three'].map((text) => batch.blob(Buffer.from(text)))
      expect(blobs[0]).toBe(blobOf('one'))
      const tree = treeOf(batch, drawn)
      batch.flush()
      expect(gitTreeOf(f, drawn)).toBe(tree)
    }),
    { numRuns: 25 },
  )
})

/** Through git's own index, which shares no line with ours. */
function gitTreeOf(f: ReturnType<typeof objectFixture>, files: Files): string {
  f.git(['read-tree', '--empty'])
  const lines = [...files].map(([path, { mode, blob }]) => `${mode} ${blob} 0\t${path}\0`).join('')
  f.git(['update-index', '-z', '--index-info'], Buffer.from(lines, 'latin1'))
  return f.gitText(['write-tree'])
}

const id20 = '\x11'.repeat(20)
const malformed: readonly (readonly [string, string])[] = [
  ['no name', `100644 \0${id20}`],
  ['no mode', ` a\0${id20}`],
  ['no mode at all', `a\0${id20}`],
  ['a mode with a leading zero', `040000 a\0${id20}`],
  ['a mode that is no number', `10064x a\0${id20}`],
  ['a name with a slash', `100644 a/b\0${id20}`],
  ['an absolute name', `100644 /a\0${id20}`],
  ['an id cut short', `100644 a\0${id20.slice(1)}`],
  ['bytes behind the end', `100644 a\0${id20}x`],
  ['no end of the name', '100644 a'],
  ['a name twice', `100644 a\0${id20}100644 a\0${id20}`],
  ['names out of order', `100644 b\0${id20}100644 a\0${id20}`],
  ['a file and a folder of one name', `100644 a\0${id20}40000 a\0${id20}`],
  ['the same with a name in between', `100644 a\0${id20}100644 a.b\0${id20}40000 a\0${id20}`],
  ['a folder sorted like a file', `40000 a\0${id20}100644 a.b\0${id20}`],
]

test.each(malformed)('[S21] a stored tree is refused as damaged: %s', (_flaw, bytes) => {
  expect(
    isFailure(
      thrown(() => parseTree(Buffer.from(bytes, 'latin1'))),
      'store-damaged',
    ),
  ).toBe(true)
})

test('[S22] random edits give the tree of the edited files, as a map of paths has them', () => {
  using f = objectFixture()
  fc.assert(
    fc.property(files, fc.array(fc.tuple(path, fc.option(leaf)), { maxLength: 12 }), (start, drawn) => {
      const batch = f.store.newBatch()
      const model = new Map(start)
      const edits = new Map<RelPath, Leaf | undefined>()
      for (const [path, leaf] of drawn) {
        if (leaf !== null && !fits(model, path)) continue
        edits.set(rel(path), leaf ?? undefined)
        if (leaf === null) model.delete(path)
        else model.set(path, leaf)
      }
      const edited = editTree(batch, treeOf(batch, start), edits)
      expect(sorted(filesOf(batch, edited))).toEqual(sorted(model))
      expect(edited).toBe(treeOf(batch, model))
    }),
    { numRuns: 300 },
  )
})

test('[S23] a file takes the place of a folder whose files are all removed, in whatever order they are named', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const root = treeOf(
    batch,
    new Map([
      ['d/x', file('1')],
      ['d/e/y', file('2')],
      ['k', file('3')],
    ]),
  )
  const edits: readonly (readonly [string, Leaf | undefined])[] = [
    ['d', file('new')],
    ['d/e/y', undefined],
    ['d/x', undefined],
  ]
  for (const order of [edits, edits.toReversed()]) {
    const edited = editTree(batch, root, new Map(order.map(([path, leaf]) => [rel(path), leaf])))
    expect(sorted(filesOf(batch, edited))).toEqual([
      ['d', file('new')],
      ['k', file('3')],
    ])
  }
  const back = editTree(
    batch,
    editTree(batch, root, new Map(edits.map(([p, l]) => [rel(p), l]))),
    new Map([
      [rel('d/x'), file('1')],
      [rel('d'), undefined],
    ]),
  )
  expect(sorted(filesOf(batch, back))).toEqual([
    ['d/x', file('1')],
    ['k', file('3')],
  ])
})

test('[S23] [P4] a file is not put over a folder that still holds something', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const root = treeOf(
    batch,
    new Map([
      ['d/x', file('1')],
      ['d/y', file('2')],
    ]),
  )
  const over = new Map([
    [rel('d'), file('new')],
    [rel('d/x'), undefined],
  ])
  expect(
    isFailure(
      thrown(() => editTree(batch, root, over)),
      'internal',
    ),
  ).toBe(true)
  // Removing a path that is a folder removes nothing of what is in it.
  expect(editTree(batch, root, new Map([[rel('d'), undefined]]))).toBe(root)
})

test('[S22] [S28] a tree that loses its last file is the empty tree', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const root = treeOf(batch, new Map([['a/b/c', file('1')]]))
  expect(editTree(batch, root, new Map([[rel('a/b/c'), undefined]]))).toBe(emptyTree)
  expect(buildTree(batch, [])).toBe(emptyTree)
})

test('[S28] the empty tree can be read from a store that does not hold it', () => {
  using f = objectFixture()
  expect(f.store.readTree(emptyTree)).toEqual([])
  expect([...listTree(f.store, emptyTree)]).toEqual([])
})

test('[S24] leaves given in any order build the same tree, and one path given twice is refused', () => {
  using f = objectFixture()
  fc.assert(
    fc.property(files, (drawn) => {
      const batch = f.store.newBatch()
      const leaves = [...drawn].map(([path, leaf]) => [rel(path), leaf] as const)
      const tree = buildTree(batch, leaves)
      expect(buildTree(batch, leaves.toReversed())).toBe(tree)
      expect(
        buildTree(
          batch,
          leaves.toSorted(([, a], [, b]) => (a.blob < b.blob ? -1 : 1)),
        ),
      ).toBe(tree)
      expect(sorted(filesOf(batch, tree))).toEqual(sorted(drawn))
    }),
  )
  const twice = (...paths: readonly string[]) => paths.map((path) => [rel(path), file('x')] as const)
  for (const paths of [
    ['a', 'a'],
    ['a', 'a/b'],
    ['a/b', 'a.b', 'a'],
    ['x/a', 'b', 'x/a'],
  ]) {
    expect(
      isFailure(
        thrown(() => buildTree(f.store.newBatch(), twice(...paths))),
        'internal',
      ),
    ).toBe(true)
  }
})

test('[S25] a diff lists exactly the paths that differ, sorted by their bytes', () => {
  using f = objectFixture()
  fc.assert(
    fc.property(files, files, (a, b) => {
      const batch = f.store.newBatch()
      const diffs = diffTrees(batch, treeOf(batch, a), treeOf(batch, b))
      const paths = [...new Set([...a.keys(), ...b.keys()])].toSorted((x, y) => (x < y ? -1 : 1))
      const differing = paths.filter((path) => JSON.stringify(a.get(path)) !== JSON.stringify(b.get(path)))
      expect(diffs).toEqual(differing.map((path) => ({ path, before: a.get(path), after: b.get(path) })))
    }),
    { numRuns: 300 },
  )
})

test('[S25] folders that are the same on both sides are not opened', () => {
  using f = objectFixture()
  const batch = f.store.newBatch()
  const many = new Map(Array.from({ length: 200 }, (_, i) => [`d${i % 20}/f${i}`, file(`${i}`)] as const))
  const root = treeOf(batch, many)
  const edited = editTree(batch, root, new Map([[rel('d3/f3'), file('new')]]))
  let opened = 0
  const counting: Objects = {
    has: (id) => batch.has(id),
    readBlob: (id) => batch.readBlob(id),
    readCommit: (id) => batch.readCommit(id),
    readTree: (id) => {
      opened += 1
      return batch.readTree(id)
    },
  }
  expect(diffTrees(counting, root, edited)).toHaveLength(1)
  expect(opened).toBe(4)
})

/** A store whose trees are what a hostile writer made of them. */
function hostile(trees: Readonly<Record<string, readonly TreeEntry[]>>): Objects {
  const none = () => {
    throw new Error('not needed')
  }
  return { has: () => true, readBlob: none, readCommit: none, readTree: (id) => trees[id] ?? [] }
}

test.each(['..', '.', '.git', '.GIT', 'git~1', '.git.', '.g\xe2\x80\x8cit'])(
  '[S26] [M2] a stored tree with the name %j gives no path to anybody',
  (name) => {
    const evil = [{ name, mode: '100644', id: someId }]
    const objects = hostile({ evil, deep: [{ name: 'd', mode: '40000', id: 'evil' }] })
    for (const root of ['evil', 'deep'] as TreeId[]) {
      expect(
        isFailure(
          thrown(() => diffTrees(objects, emptyTree, root)),
          'bad-path',
        ),
      ).toBe(true)
      expect(
        isFailure(
          thrown(() => diffTrees(objects, root, emptyTree)),
          'bad-path',
        ),
      ).toBe(true)
      expect(
        isFailure(
          thrown(() => [...listTree(objects, root)]),
          'bad-path',
        ),
      ).toBe(true)
    }
  },
)

test('[S26] a submodule in a tree is no file, and never written by us', () => {
  using f = objectFixture()
  const module = { name: 'sub', mode: '160000', id: someId }
  const objects = hostile({ with: [module] })
  expect(diffTrees(objects, emptyTree, 'with' as TreeId)).toEqual([])
  expect([...listTree(objects, 'with' as TreeId)]).toEqual([])
  expect(findLeaf(objects, 'with' as TreeId, rel('sub'))).toBeUndefined()
  expect(
    isFailure(
      thrown(() => f.store.newBatch().tree([module])),
      'internal',
    ),
  ).toBe(true)
})

test('[S27] a leaf is found by its path, and a folder is told from a file', () => {
  using f = objectFixture()
  fc.assert(
    fc.property(files, path, (drawn, asked) => {
      const batch = f.store.newBatch()
      const tree = treeOf(batch, drawn)
      const below = sorted(drawn).filter(([path]) => path.startsWith(`${asked}/`))
      expect(findLeaf(batch, tree, rel(asked))).toEqual(drawn.get(asked))
      expect(hasFolder(batch, tree, rel(asked))).toBe(below.length > 0)
      expect([...listTree(batch, tree, rel(asked))]).toEqual(below)
    }),
  )
})

test('[S24] a name that cannot stand in a tree is refused', () => {
  using f = objectFixture()
  for (const name of ['', 'a/b', 'a\0b']) {
    const entry = { name, mode: '100644', id: someId }
    expect(
      isFailure(
        thrown(() => f.store.newBatch().tree([entry])),
        'internal',
      ),
    ).toBe(true)
  }
  for (const id of ['', someId.slice(1), someId.toUpperCase().replace(/^./, 'G')]) {
    const entry = { name: 'a', mode: '100644', id }
    expect(
      isFailure(
        thrown(() => f.store.newBatch().tree([entry])),
        'internal',
      ),
    ).toBe(true)
  }
})
