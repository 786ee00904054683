import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectId } from '../object-id.ts'
import { objectFixture } from '../testing/object-fixture.ts'
import { flawOfIndex } from './pack-reader.ts'
import { buildPack, deflated, tempName } from './pack-writer.ts'

test('[S3] what we deflate, stored or not, is what zlib inflates', () => {
  const property = fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => {
    expect(inflateSync(deflated(bytes)).equals(Buffer.from(bytes))).toBe(true)
  })
  fc.assert(property)
  for (const size of [0, 1023, 1024, 1025]) {
    expect(inflateSync(deflated(Buffer.alloc(size, 0xff))).equals(Buffer.alloc(size, 0xff))).toBe(true)
  }
})

test('[S3] the index we write is the one that git index-pack makes of the pack', () => {
  using f = objectFixture()
  for (const count of [1, 2, 700]) {
    const objects = Array.from({ length: count }, (_, i) => {
      const bytes = randomBytes(i % 40)
      return {
        id: objectId('blob', bytes),
        kind: 'blob' as const,
        size: bytes.length,
        deflated: deflated(bytes),
      }
    })
    const unique = [...new Map(objects.map((object) => [object.id, object])).values()]
    const built = buildPack(unique)
    expect(flawOfIndex(built.idx)).toBeUndefined()
    const pack = join(f.root, `${count}.pack`)
    writeFileSync(pack, built.pack)
    f.git(['index-pack', '--strict', pack])
    expect(f.git(['show-index'], built.idx).equals(f.git(['show-index'], indexOf(f.root, count)))).toBe(true)
    expect(indexOf(f.root, count).equals(built.idx)).toBe(true)
  }
})

function indexOf(root: string, count: number): Buffer {
  return readFileSync(join(root, `${count}.idx`))
}

test('[S16] temp files have a name that git does not take for a pack, and never the same twice', () => {
  const names = (['pack', 'idx'] as const).map((part) => tempName(part, `pack-${'a'.repeat(40)}`))
  for (const name of names) expect(name).toMatch(/^tmp-(pack|idx)-a{40}-[0-9a-f]{8}$/)
  expect(tempName('pack', 'pack-a')).not.toBe(tempName('pack', 'pack-a'))
})
