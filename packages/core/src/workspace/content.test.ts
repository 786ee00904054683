import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { objectId } from '../object-id.ts'
import { absPathUnchecked, type BlobId, type RelPath } from '../values.ts'
import { type Content, readContents } from './content.ts'
import { Scanner, type SeenFile } from './scan.ts'
import { StatCache } from './stat-cache.ts'

class Place implements AsyncDisposable {
  readonly base = mkdtempSync(join(tmpdir(), 'unturn-content-'))
  readonly root = join(this.base, 'w')
  readonly scanner: Scanner
  readonly stored = new Map<BlobId, Buffer>()

  constructor(readFiles = 400) {
    mkdirSync(this.root)
    this.scanner = new Scanner(absPathUnchecked(this.root), { readFiles })
  }

  look(...paths: readonly string[]): readonly SeenFile[] {
    const looked = this.scanner.look(StatCache.empty(), paths as readonly RelPath[])
    return looked.flatMap((one) => ('mtimeMs' in one ? [one] : []))
  }

  async read(files: readonly SeenFile[], onProgress?: (done: number, total: number) => void) {
    const sink = {
      has: (blob: BlobId) => this.stored.has(blob),
      addDeflated: (_: 'blob', id: BlobId, size: number, deflated: Buffer) => {
        expect(this.stored.has(id)).toBe(false)
        const bytes = inflateSync(deflated)
        expect(bytes.length).toBe(size)
        this.stored.set(id, bytes)
      },
    }
    return await readContents(this.scanner, files, sink, onProgress)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scanner[Symbol.asyncDispose]()
    rmSync(this.base, { recursive: true })
  }
}

const blobs = (contents: readonly Content[]) =>
  contents.map((content) => ('blob' in content ? content.blob : content.failed))

test('[W96] [P6] ids are those of git, and the stored bytes are those on disk', async () => {
  await using place = new Place()
  const contents = [
    '',
    'x',
    'a\r\nb\r',
    '\0\xff',
    'x'.repeat(2048),
    'y'.repeat(70_000),
    'z'.repeat(3_000_000),
  ]
  const names = contents.map((_, i) => `f${i}`)
  contents.forEach((text, i) => {
    writeFileSync(join(place.root, `f${i}`), text, 'latin1')
  })
  symlinkSync('f1', join(place.root, 'link'))
  const read = await place.read(place.look(...names, 'link'))
  const byGit = execFileSync('git', ['hash-object', '--no-filters', ...names], { cwd: place.root }).toString()
  const target = Buffer.from('f1')
  expect(blobs(read)).toEqual([...byGit.trim().split('\n'), objectId('blob', target)])
  for (const [id, bytes] of place.stored) expect(objectId('blob', bytes)).toBe(id)
})

test('[W96] content that the sink has already is not handed to it again', async () => {
  await using place = new Place()
  for (const name of ['a', 'b', 'c']) writeFileSync(join(place.root, name), 'same')
  await place.read(place.look('a', 'b'))
  expect(place.stored.size).toBe(1)
  expect(blobs(await place.read(place.look('c')))).toEqual([objectId('blob', Buffer.from('same'))])
})

test('[W97] a file that changed since the scan is read as it is now, with the stat it has now', async () => {
  await using place = new Place()
  writeFileSync(join(place.root, 'a'), 'old')
  writeFileSync(join(place.root, 'b'), 'file')
  const seen = place.look('a', 'b')
  writeFileSync(join(place.root, 'a'), 'longer than before')
  unlinkSync(join(place.root, 'b'))
  symlinkSync('target', join(place.root, 'b'))
  const [a, b] = await place.read(seen)
  expect(a).toMatchObject({ blob: objectId('blob', Buffer.from('longer than before')), size: 18 })
  expect(a?.seen.size).toBe(18)
  expect(b).toMatchObject({ blob: objectId('blob', Buffer.from('target')) })
  expect(b?.seen.kind).toBe('link')
})

test('[W97] [A14] a file that is being written is never stored under a wrong id', async () => {
  await using place = new Place(1)
  const file = join(place.root, 'busy')
  writeFileSync(file, 'start\n')
  const script = `i=0; while [ $i -lt 3000 ]; do echo $i >> busy; i=$((i+1)); done`
  const { spawn } = await import('node:child_process')
  let running = true
  spawn('sh', ['-c', script], { cwd: place.root }).on('exit', () => {
    running = false
  })
  while (running) await place.read(place.look('busy'))
  for (const [id, bytes] of place.stored) expect(objectId('blob', bytes)).toBe(id)
  expect(blobs(await place.read(place.look('busy')))).toEqual([objectId('blob', readFileSync(file))])
})

test('[W98] what vanished is gone, what became a fifo is special, and a folder swapped for a link is not entered', async () => {
  await using place = new Place()
  mkdirSync(join(place.root, 'd'))
  for (const name of ['gone', 'fifo', 'folder', 'd/inside']) writeFileSync(join(place.root, name), name)
  const seen = place.look('gone', 'fifo', 'folder', 'd/inside')
  for (const name of ['gone', 'fifo', 'folder']) unlinkSync(join(place.root, name))
  execFileSync('mkfifo', [join(place.root, 'fifo')])
  mkdirSync(join(place.root, 'folder'))
  renameSync(join(place.root, 'd'), join(place.base, 'd'))
  writeFileSync(join(place.base, 'd/inside'), 'secret from outside')
  symlinkSync('../d', join(place.root, 'd'))
  expect(blobs(await place.read(seen))).toEqual(['gone', 'special', 'gone', 'gone'])
})

test('[W98] a file that may not be read is unreadable', async () => {
  await using place = new Place()
  const file = join(place.root, 'secret')
  writeFileSync(file, 'secret')
  chmodSync(file, 0)
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    execFileSync('chmod', ['755', place.base])
    process.seteuid?.(65534)
  }
  try {
    expect(blobs(await place.read(place.look('secret')))).toEqual(['unreadable'])
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

test('[W99] many files are read by two threads, in the order asked for, with progress to the end', async () => {
  await using place = new Place(100)
  const names = Array.from({ length: 1500 }, (_, i) => `f${i}`)
  for (const name of names) writeFileSync(join(place.root, name), name.repeat(50))
  const told: number[] = []
  for (let round = 0; round < 2; round++) {
    const read = await place.read(place.look(...names), (done) => told.push(done))
    expect(blobs(read)).toEqual(names.map((name) => objectId('blob', Buffer.from(name.repeat(50)))))
  }
  expect(place.stored.size).toBe(1500)
  expect(told.at(-1)).toBe(1500)
})

test('[W99] a file beyond 64 MiB is read in parts', async () => {
  await using place = new Place()
  const file = join(place.root, 'large')
  writeFileSync(file, 'head')
  truncateSync(file, 65 * 1024 * 1024)
  appendFileSync(file, 'tail')
  const byGit = execFileSync('git', ['hash-object', '--no-filters', 'large'], { cwd: place.root })
    .toString()
    .trim()
  expect(blobs(await place.read(place.look('large')))).toEqual([byGit])
  expect(place.stored.get(byGit as BlobId)?.length).toBe(65 * 1024 * 1024 + 4)
})
