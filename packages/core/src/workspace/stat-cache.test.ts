import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AbsPath, absPathUnchecked, type BlobId, type RelPath } from '../values.ts'
import { type CacheTable, isRacy } from './cache-table.ts'
import { bytesOfPaths } from './capture-rules.ts'
import { type Known, StatCache } from './stat-cache.ts'

const rel = (path: string) => path as RelPath

function known(number: number, kind: 'file' | 'link' = 'file'): Known {
  const blob = number.toString(16).padStart(40, 'a') as BlobId
  return {
    kind,
    perm: 0o640,
    size: number,
    mtimeMs: 1.5 + number,
    ctimeMs: 2.25,
    ino: 2 ** 40 + number,
    blob,
  }
}

class Folder implements Disposable {
  readonly path: string
  readonly file: AbsPath

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'unturn-cache-'))
    this.file = absPathUnchecked(join(this.path, 'cache'))
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true })
  }
}

test('[W90] what was set is there, also after it was written and read by the next process', () => {
  using folder = new Folder()
  const cache = StatCache.empty()
  cache.set(rel('a'), known(1))
  cache.set(rel('b/\xff/c'), known(2, 'link'))
  cache.set(rel('b/d'), known(3))
  cache.snapshotTree = 'tree'
  cache.snapshotAttrs = 'attrs'
  cache.write(folder.file)
  const again = StatCache.read(folder.file)
  expect(new Map(again?.entries())).toEqual(new Map(cache.entries()))
  expect(again?.get(rel('b/\xff/c'))).toEqual(known(2, 'link'))
  expect(again?.size).toBe(3)
  expect([again?.snapshotTree, again?.snapshotAttrs]).toEqual(['tree', 'attrs'])
  expect(statSync(folder.file).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder.path)).toEqual(['cache'])
})

test('[W91] a cache that is missing, cut, of another version, or has one wrong bit is no cache', () => {
  using folder = new Folder()
  expect(StatCache.read(folder.file)).toBeUndefined()
  const cache = StatCache.empty()
  for (let i = 0; i < 20; i++) cache.set(rel(`d${i % 3}/f${i}`), known(i))
  cache.write(folder.file)
  const good = readFileSync(folder.file)
  for (let at = 0; at < good.length; at += 7) {
    const bad = Buffer.from(good)
    bad[at] = (bad[at] ?? 0) ^ 4
    writeFileSync(folder.file, bad)
    expect(StatCache.read(folder.file), `bit in byte ${at}`).toBeUndefined()
  }
  for (const length of [0, 3, 63, 64, 100, good.length - 1]) {
    writeFileSync(folder.file, good.subarray(0, length))
    expect(StatCache.read(folder.file), `${length} bytes`).toBeUndefined()
  }
  writeFileSync(folder.file, good)
  expect(StatCache.read(folder.file)?.size).toBe(20)
})

test('[W92] any order of set, forget, distrust, write and read leaves what a map would hold', () => {
  const path = fc.constantFrom('a', 'b', 'a-b/x', 'a/x', 'a/x/y', 'a/b/c', 'z/z/z', 'z', '\xe9/x').map(rel)
  const step = fc.oneof(
    fc.record({ do: fc.constant('set'), path, number: fc.nat(9) }),
    fc.record({ do: fc.constant('forget'), path }),
    fc.record({ do: fc.constant('distrust'), path }),
    fc.record({ do: fc.constant('restart') }),
    fc.record({ do: fc.constant('compact') }),
  )
  using folder = new Folder()
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let cache = StatCache.empty()
      const model = new Map<RelPath, Known>()
      for (const one of steps) {
        if ('number' in one) {
          cache.set(one.path, known(one.number))
          model.set(one.path, known(one.number))
        } else if (one.do === 'compact') cache.compact()
        else if ('path' in one) {
          if (one.do === 'forget') model.delete(one.path)
          if (one.do === 'forget') cache.forget(one.path)
          else cache.distrust(one.path)
        } else {
          cache.write(folder.file)
          cache = StatCache.read(folder.file) ?? StatCache.empty()
        }
        expect(cache.size).toBe(model.size)
        for (const [path, entry] of model) expect(cache.get(path)).toEqual(entry)
      }
      expect(new Map(cache.entries())).toEqual(model)
    }),
    { numRuns: 300 },
  )
})

test('[W93] entries that changed since the cache was written are counted', () => {
  using folder = new Folder()
  const cache = StatCache.empty()
  cache.set(rel('a'), known(1))
  cache.set(rel('b'), known(2))
  expect(cache.staleEntries).toBe(2)
  cache.write(folder.file)
  expect(cache.staleEntries).toBe(0)
  cache.forget(rel('a'))
  cache.forget(rel('not-there'))
  expect(cache.staleEntries).toBe(1)
})

test('[W94] distrust of an unknown path puts it as known content; without content it does nothing', () => {
  const cache = StatCache.empty()
  cache.distrust(rel('a'))
  expect(cache.get(rel('a'))).toBeUndefined()
  cache.distrust(rel('a'), known(7).blob, 'link', 0o600)
  expect(cache.get(rel('a'))).toMatchObject({ kind: 'link', perm: 0o600, blob: known(7).blob })
})

test('[W62] a stat proves nothing until its times are 20 ms old, or 2 s where times are whole seconds', () => {
  const now = 1_700_000_000_000
  const at = (mtimeMs: number, ctimeMs = mtimeMs) => isRacy({ mtimeMs, ctimeMs }, now)
  expect(at(now - 19.5)).toBe(true)
  expect(at(now - 20.5)).toBe(false)
  expect(at(now - 5000.5, now - 1.5)).toBe(true)
  expect(at(now - 1000)).toBe(true)
  expect(at(now - 2000)).toBe(false)
  expect(at(now - 5000.5, now + 60_000)).toBe(true)
})

test('[W95] names of forgotten entries do not make the cache grow for ever', () => {
  using folder = new Folder()
  const cache = StatCache.empty()
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 200; i++) cache.set(rel(`folder/${'n'.repeat(80)}-${round}-${i}`), known(i))
    cache.compact()
    for (let i = 0; i < 200; i++) cache.forget(rel(`folder/${'n'.repeat(80)}-${round}-${i}`))
  }
  cache.set(rel('folder/last'), known(1))
  cache.write(folder.file)
  expect(statSync(folder.file).size).toBeLessThan(150_000)
  expect(StatCache.read(folder.file)?.get(rel('folder/last'))).toEqual(known(1))
})

test('[W92] a cache seeded in one go holds what setting each path would, in folders that no scan has listed', () => {
  const paths = ['a', 'b-c/x', 'b/-', 'b/c-/f', 'b/c/d/e', 'b/y', 'b0', 'd/e\xe9/g'].map(rel)
  const entries = paths.map((_, i) => ({ ...known(i), perm: i % 3 === 0 ? 0o750 : 0o640 }))
  const cache = StatCache.seeded({
    paths: bytesOfPaths(paths),
    stats: new Float64Array(entries.flatMap((e) => [e.size, e.mtimeMs, e.ctimeMs, e.ino])),
    executable: new Uint8Array(entries.map((e) => (e.perm === 0o750 ? 1 : 0))),
    perms: { file: 0o640, exec: 0o750 },
    ids: Buffer.from(entries.map((e) => e.blob).join(''), 'hex'),
  })
  const set = StatCache.empty()
  for (const [i, path] of paths.entries()) set.put(path, entries[i] ?? known(i), false)

  expect([...cache.entries()]).toEqual([...set.entries()])
  for (const [i, path] of paths.entries()) expect(cache.get(path)).toEqual(entries[i])
  expect([...cache.folders()]).toEqual([])
  expect(foldersIn(cache.compact())).toEqual(foldersIn(set.compact()))
})

function foldersIn(table: CacheTable) {
  return Array.from({ length: table.folderCount }, (_, i) => ({
    path: table.folderPath(i),
    parent: table.parent(i),
    bits: table.folderBits(i),
    entries: [table.firstEntry(i), table.endEntry(i)],
    entryBits: Array.from({ length: table.endEntry(i) - table.firstEntry(i) }, (_, at) =>
      table.entryBits(table.firstEntry(i) + at),
    ),
  }))
}
