import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BlobId, type ByteString, parentOf } from '../values.ts'
import { captureRules } from './capture-rules.ts'
import { bytesPath } from './locate.ts'
import { type DirtyFolders, Scanner } from './scan.ts'
import { StatCache } from './stat-cache.ts'

/** A folder with two caches of it: one is kept by full scans, the other by hints. */
class Twice implements AsyncDisposable {
  readonly base = mkdtempSync(join(tmpdir(), 'unturn-hint-'))
  readonly scanner = new Scanner(bytesPath(this.base))
  readonly full = StatCache.empty()
  readonly hinted = StatCache.empty()
  readonly #folders = new Set<ByteString>()
  readonly #trees = new Set<ByteString>()

  write(path: string, text: string): void {
    this.#told(path)
    mkdirSync(dirname(join(this.base, path)), { recursive: true })
    writeFileSync(join(this.base, path), text)
  }

  remove(path: string): void {
    rmSync(join(this.base, path), { recursive: true, force: true })
    this.#told(path)
  }

  move(from: string, to: string): void {
    this.#told(from)
    this.#told(to)
    mkdirSync(dirname(join(this.base, to)), { recursive: true })
    renameSync(join(this.base, from), join(this.base, to))
  }

  // As a watcher tells it: the folder around, and what may have come or gone with everything in it.
  #told(path: string): void {
    for (let at = path; at !== ''; at = parentOf(at)) {
      this.#folders.add(parentOf(at))
      this.#trees.add(at)
    }
  }

  hint(): DirtyFolders {
    const hint = { folders: new Set(this.#folders), trees: new Set(this.#trees) }
    this.#folders.clear()
    this.#trees.clear()
    return hint
  }

  /** What a scan found, and what the cache knows afterwards. */
  async scan(cache: StatCache, dirty?: DirtyFolders) {
    const rules = captureRules({})
    const scan = await this.scanner.scan(cache, rules, dirty === undefined ? {} : { dirty })
    const seen = scan.changed.map((file) => ({ seen: file, blob: '0'.repeat(40) as BlobId }))
    this.scanner.settle(cache, seen, scan.gone, scan)
    return {
      known: [...cache.entries()].map(([path]) => path).sort(),
      folders: [...cache.folders()].map(([path]) => path).sort(),
      skipped: scan.skipped.map(({ path, reason }) => `${reason} ${path}`),
      changed: scan.changed.map(({ path }) => path),
      gone: [...scan.gone].sort(),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scanner[Symbol.asyncDispose]()
    rmSync(this.base, { recursive: true, force: true })
  }
}

const none: DirtyFolders = { folders: new Set(), trees: new Set() }

test('[W130] a hint of nothing looks at nothing but what is racy or was skipped', async () => {
  await using t = new Twice()
  for (const name of ['a.txt', 'x/b.txt', 'x/y/c.txt', 'node_modules/m.js']) t.write(name, '1')
  await t.scan(t.hinted)
  await new Promise((resolve) => setTimeout(resolve, 2_050))
  await t.scan(t.hinted) // from now on nothing is racy
  t.write('a.txt', '2')
  t.write('x/b.txt', '2')
  t.write('x/y/new.txt', '2')
  t.remove('x/y/c.txt')
  const untold = await t.scan(t.hinted, none)
  // The root has something skipped in it, so it is looked at; the others are not.
  expect(untold).toMatchObject({ changed: ['a.txt'], gone: [], skipped: ['ignored node_modules'] })
  const told = await t.scan(t.hinted, { folders: new Set(['x']), trees: new Set() })
  expect(told.changed).toContain('x/b.txt')
  expect([...told.changed, ...told.gone].filter((path) => path.startsWith('x/y'))).toEqual([])
  const below = await t.scan(t.hinted, { folders: new Set(), trees: new Set(['x']) })
  expect([below.gone, below.changed.some((path) => path === 'x/y/new.txt')]).toEqual([['x/y/c.txt'], true])
})

const name = fc.constantFrom(
  'a',
  'b',
  'c',
  'a/b',
  'a/c',
  'a/b/c',
  'b/a/c',
  'c/b',
  'node_modules/x',
  '.gitignore',
)
const move = fc.oneof(
  fc.record({
    kind: fc.constant('write' as const),
    path: name,
    text: fc.constantFrom('1', '22', 'b\n', 'a/b\n'),
  }),
  fc.record({ kind: fc.constant('remove' as const), path: name }),
  fc.record({ kind: fc.constant('move' as const), path: name, to: name }),
  fc.record({ kind: fc.constant('scan' as const) }),
)

test('[W131] a hint that names what changed sees what a full scan sees', async () => {
  const runs = Number(process.env.UNTURN_RUNS ?? 60)
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 25 }), async (moves) => {
      await using t = new Twice()
      await t.scan(t.full)
      await t.scan(t.hinted)
      for (const one of [...moves, { kind: 'scan' as const }]) {
        try {
          if (one.kind === 'write') t.write(one.path, one.text)
          else if (one.kind === 'remove') t.remove(one.path)
          else if (one.kind === 'move') t.move(one.path, one.to)
        } catch {
          continue // nothing there, or a file where a folder would have to be
        }
        if (one.kind !== 'scan') continue
        const full = await t.scan(t.full)
        const hinted = await t.scan(t.hinted, t.hint())
        expect({ ...hinted, changed: [] }).toEqual({ ...full, changed: [] })
      }
    }),
    { numRuns: runs },
  )
})
