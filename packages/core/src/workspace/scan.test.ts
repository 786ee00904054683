import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFailure } from '../errors.ts'
import {
  absPathUnchecked,
  type BlobId,
  type ByteString,
  joinRel,
  nameOf,
  parentOf,
  type RelPath,
} from '../values.ts'
import { bytesOfPaths, type CaptureRules, captureRules, packTracked } from './capture-rules.ts'
import { readContents } from './content.ts'
import { IgnoreStack, matchesName, parseRules } from './ignore.ts'
import { type Scan, Scanner, type ThreadOptions } from './scan.ts'
import { StatCache } from './stat-cache.ts'

const rel = (path: string) => path as RelPath

/** A folder on the real disk, a scanner and a cache that is carried from look to look. */
class Place implements AsyncDisposable {
  readonly base = mkdtempSync(join(tmpdir(), 'unturn-scan-'))
  readonly root: string
  readonly scanner: Scanner
  cache = StatCache.empty()
  rules: CaptureRules = captureRules()

  constructor(thread: Partial<ThreadOptions> = {}) {
    this.root = join(this.base, 'w')
    mkdirSync(this.root)
    this.scanner = new Scanner(absPathUnchecked(this.root), thread)
  }

  bytes(path: string): Buffer {
    return Buffer.from(`${this.root}/${path}`, 'latin1')
  }

  write(path: string, content = path): void {
    mkdirSync(this.bytes(parentOf(path)), { recursive: true })
    writeFileSync(this.bytes(path), content, 'latin1')
  }

  writeAll(...paths: readonly string[]): void {
    for (const path of paths) this.write(path)
  }

  /** A look whose results are settled; so old that nothing is racy afterwards, unless told otherwise. */
  async look(named: readonly string[] = []): Promise<Scan> {
    const scan = await this.scanner.scan(this.cache, this.rules, { named: named.map(rel) })
    const contents = await readContents(this.scanner, scan.changed, emptySink)
    const read = contents.flatMap((content) => ('blob' in content ? [content] : []))
    const vanished = contents.flatMap((content) =>
      'failed' in content && content.failed === 'gone' ? [content.seen.path] : [],
    )
    this.scanner.settle(this.cache, read, [...scan.gone, ...vanished], scan)
    return scan
  }

  /** Waits until no time on disk is racy, and looks until the cache knows it. */
  async calm(): Promise<void> {
    await pause(25)
    await this.look()
  }

  /** Writes the cache down and reads it again, as the next process would. */
  restart(): void {
    const file = absPathUnchecked(join(this.base, 'stat-cache'))
    this.cache.write(file)
    const cache = StatCache.read(file)
    if (cache === undefined) throw new Error('the cache was not read')
    this.cache = cache
  }

  known(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.cache.entries()].map(([path, known]) => [path, known.blob]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scanner[Symbol.asyncDispose]()
    execFileSync('chmod', ['-R', 'u+rwx', this.base])
    rmSync(this.base, { recursive: true })
  }
}

const emptySink = { has: () => false, addDeflated: () => undefined }
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const paths = (files: readonly { readonly path: string }[]) => files.map((file) => file.path).sort()
const blobOf = (text: string) =>
  createHash('sha1').update(`blob ${text.length}\0`).update(text, 'latin1').digest('hex') as BlobId
const reasons = (scan: Scan) => Object.fromEntries(scan.skipped.map(({ path, reason }) => [path, reason]))

/** Permission bits mean nothing to root. */
async function asNobody<T>(place: Place, work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return await work()
  execFileSync('chown', ['-R', '65534:65534', place.base])
  process.setegid?.(65534)
  process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
    process.setegid?.(0)
  }
}

test('[W60] a first scan sees every file and link, and a second one nothing', async () => {
  await using place = new Place()
  place.writeAll('a.txt', 'b/c.txt', 'b/d/e.txt')
  symlinkSync('a.txt', join(place.root, 'link'))
  expect(paths((await place.look()).changed)).toEqual(['a.txt', 'b/c.txt', 'b/d/e.txt', 'link'])
  await place.calm()
  const scan = await place.look()
  expect(scan.changed).toEqual([])
  expect(scan.gone).toEqual([])
  expect(scan.folders).toBe('unchanged')
})

test('[W61] edits, new files and vanished files are seen, also in folders whose own stat did not change', async () => {
  await using place = new Place()
  place.writeAll('a.txt', 'b/c.txt', 'b/d/e.txt')
  await place.look()
  await place.calm()
  place.write('b/c.txt', 'edited in place')
  place.write('b/d/new.txt')
  unlinkSync(place.bytes('a.txt'))
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['b/c.txt', 'b/d/new.txt'])
  expect(scan.gone).toEqual(['a.txt'])
  expect(Object.keys(place.known()).sort()).toEqual(['b/c.txt', 'b/d/e.txt', 'b/d/new.txt'])
})

test('[W62] [A8] 64 rewrites of equal size, one right after the other, are all seen', async () => {
  await using place = new Place()
  place.write('a.txt', '00')
  await place.look()
  for (let i = 10; i < 74; i++) {
    place.write('a.txt', String(i))
    await place.look()
    expect(place.cache.get(rel('a.txt'))?.blob).toBe(blobOf(String(i)))
  }
})

test('[W62] a file with a time in the future is read at every scan', async () => {
  await using place = new Place()
  place.write('a.txt')
  utimesSync(place.bytes('a.txt'), new Date(), new Date(Date.now() + 3_600_000))
  await place.look()
  await place.calm()
  expect(paths((await place.look()).changed)).toEqual(['a.txt'])
})

test('[W63] a link is captured as a link and never followed, not even one to a folder or to itself', async () => {
  await using place = new Place()
  place.write('real/inside.txt')
  symlinkSync('real', join(place.root, 'to-folder'))
  symlinkSync('loop', join(place.root, 'loop'))
  symlinkSync('nowhere', join(place.root, 'dangling'))
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['dangling', 'loop', 'real/inside.txt', 'to-folder'])
  expect(place.known()['to-folder']).toBe(blobOf('real'))
})

test('[W63] [G8] what lies behind a folder that became a link to its own old place is gone', async () => {
  await using place = new Place()
  place.writeAll('folder/sub/a.txt', 'folder/b.txt', 'other.txt')
  await place.look()
  await place.calm()
  renameSync(join(place.root, 'folder'), join(place.base, 'elsewhere'))
  symlinkSync(join(place.base, 'elsewhere'), join(place.root, 'folder'))
  const scan = await place.look()
  expect([...scan.gone].sort()).toEqual(['folder/b.txt', 'folder/sub/a.txt'])
  expect(paths(scan.changed)).toEqual(['folder'])
  expect([...place.cache.folders()]).toEqual([])
})

test('[W64] [G26] a fifo is skipped as special and never opened; a file that became one is gone', async () => {
  await using place = new Place()
  place.write('was-file')
  execFileSync('mkfifo', [join(place.root, 'fifo')])
  expect(reasons(await place.look())).toEqual({ fifo: 'special' })
  await place.calm()
  unlinkSync(place.bytes('was-file'))
  execFileSync('mkfifo', [join(place.root, 'was-file')])
  const scan = await place.look()
  expect(scan.gone).toEqual(['was-file'])
  expect(reasons(scan)).toEqual({ fifo: 'special', 'was-file': 'special' })
})

test('[W65] [G19] .git at the root is passed over; below it is skipped and its folder is plain', async () => {
  await using place = new Place()
  place.writeAll('.git/config', 'a.txt', 'sub/.git/config', 'sub/b.txt', 'mod/.git', 'mod/c.txt')
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['a.txt', 'mod/c.txt', 'sub/b.txt'])
  expect(reasons(scan)).toEqual({ 'mod/.git': 'nested-git', 'sub/.git': 'nested-git' })
})

test('[W66] [H3] what is known stays captured when a rule comes to cover it', async () => {
  await using place = new Place()
  place.writeAll('kept/a.txt', 'kept/b.log')
  await place.look()
  await place.calm()
  place.write('.gitignore', 'kept/\n*.log\n')
  place.write('kept/new.txt')
  place.write('kept/a.txt', 'edited')
  const scan = await place.look()
  expect(paths(scan.changed)).toContain('kept/a.txt')
  expect(scan.gone).toEqual([])
  expect(reasons(scan)).toEqual({ 'kept/new.txt': 'ignored' })
})

test('[W66] a covered folder is one skipped entry again once nothing known is left in it', async () => {
  await using place = new Place()
  place.writeAll('kept/a.txt', 'kept/deep/b.txt')
  await place.look()
  place.write('.gitignore', 'kept/\n')
  place.write('kept/new.txt')
  await place.look()
  unlinkSync(place.bytes('kept/deep/b.txt'))
  await place.look()
  expect(reasons(await place.look())).toEqual({ 'kept/deep': 'ignored', 'kept/new.txt': 'ignored' })
  unlinkSync(place.bytes('kept/a.txt'))
  await place.look()
  expect(reasons(await place.look())).toEqual({ kept: 'ignored' })
})

test('[W67] [H2] tracked files are captured whatever rules, heavy folders and size limit say', async () => {
  await using place = new Place()
  place.writeAll('dist/app.js', 'dist/extra.js', 'ig/nored.txt', 'ig/other.txt')
  place.write('big.bin', 'x'.repeat(101))
  place.write('.gitignore', 'ig\n')
  const tracked = packTracked(bytesOfPaths(['big.bin', 'dist/app.js', 'ig/nored.txt'].map(rel)))
  place.rules = captureRules({ tracked, maxUntrackedFileSize: 100 })
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['.gitignore', 'big.bin', 'dist/app.js', 'ig/nored.txt'])
  expect(reasons(scan)).toEqual({ 'dist/extra.js': 'ignored', 'ig/other.txt': 'ignored' })
})

test('[W68] [H7] an untracked heavy folder is one skipped entry and is not walked', async () => {
  await using place = new Place()
  place.writeAll('node_modules/a/b.js', 'src/node_modules/c.js', 'src/d.js')
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['src/d.js'])
  expect(reasons(scan)).toEqual({ node_modules: 'ignored', 'src/node_modules': 'ignored' })
  expect(scan.folders).toEqual(new Map([['src', 0o755]]))
})

test('[W69] [H6] a file that a protect glob names is captured although a rule covers it', async () => {
  await using place = new Place()
  place.writeAll('.env.local', 'a/.env')
  place.write('.gitignore', '.env*\n')
  expect(paths((await place.look()).changed)).toEqual(['.env.local', '.gitignore', 'a/.env'])
})

test('[W70] [H5] a named path is captured although ignored or too large, and stays so', async () => {
  await using place = new Place()
  place.writeAll('node_modules/a/b.js', 'node_modules/c.js', 'x.log')
  place.write('big.bin', 'x'.repeat(101))
  place.write('.gitignore', '*.log\n')
  place.rules = captureRules({ maxUntrackedFileSize: 100 })
  await place.look()
  await place.calm()
  const scan = await place.look(['node_modules/a/b.js', 'x.log', 'big.bin', 'not/there'])
  expect(paths(scan.changed)).toEqual(['big.bin', 'node_modules/a/b.js', 'x.log'])
  expect(reasons(scan)).toEqual({ 'node_modules/c.js': 'ignored' })
  place.restart()
  await place.calm()
  expect(reasons(await place.look())).toEqual({ 'node_modules/c.js': 'ignored' })
  expect(Object.keys(place.known())).toContain('node_modules/a/b.js')
})

test('[W71] [H1] nested ignore files, info/exclude and global excludes decide as in git, the deeper one last', async () => {
  await using place = new Place()
  place.writeAll('a.log', 'keep.log', 'sub/b.log', 'sub/c.tmp', 'sub/deep/d.log', 'x.glob', 'y.info')
  place.write('.gitignore', '*.log\n!keep.log\n!y.info\n')
  place.write('sub/.gitignore', '!b.log\n*.tmp\n')
  place.rules = captureRules({ globalExcludes: '*.glob\n', infoExclude: '!x.glob\ny.info\n' })
  const scan = await place.look()
  expect(reasons(scan)).toEqual({ 'a.log': 'ignored', 'sub/c.tmp': 'ignored', 'sub/deep/d.log': 'ignored' })
})

test('[W72] an ignore file that is a link is not read', async () => {
  await using place = new Place()
  place.writeAll('a.log', 'sub/b.log')
  writeFileSync(join(place.base, 'rules'), '*.log\n')
  symlinkSync('../rules', join(place.root, '.gitignore'))
  expect(paths((await place.look()).changed)).toEqual(['.gitignore', 'a.log', 'sub/b.log'])
})

test('[W100] what apply stages inside the workspace, on another volume, is never looked at', async () => {
  await using place = new Place()
  place.writeAll(
    'a.txt',
    '.unturn-0123456789abcdef/0',
    'sub/.unturn-0123456789abcdef/1',
    '.unturn-mine/b.txt',
  )
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['.unturn-mine/b.txt', 'a.txt'])
  expect(scan.skipped).toEqual([])
})

test('[W73] an edit of an ignore file is felt in folders that did not change, at once', async () => {
  await using place = new Place()
  place.writeAll('a/x.log', 'b/y.txt')
  place.write('.gitignore', '*.log\n')
  await place.look()
  await place.calm()
  expect(reasons(await place.look())).toEqual({ 'a/x.log': 'ignored' })
  place.write('.gitignore', '*.txt\n')
  place.write('a/z.txt')
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['.gitignore', 'a/x.log'])
  expect(reasons(scan)).toEqual({ 'a/z.txt': 'ignored' })
  await place.calm()
  unlinkSync(place.bytes('.gitignore'))
  expect(paths((await place.look()).changed)).toEqual(['a/z.txt'])
})

test('[W73] other rules from outside are felt in folders that did not change, at once', async () => {
  await using place = new Place()
  place.writeAll('a/x.log', 'dist/y.txt')
  place.rules = captureRules({ infoExclude: '*.log\n' })
  await place.look()
  await place.calm()
  place.rules = captureRules({
    infoExclude: '*.txt\n',
    tracked: packTracked(bytesOfPaths([rel('dist/y.txt')])),
  })
  expect(paths((await place.look()).changed)).toEqual(['a/x.log', 'dist/y.txt'])
})

test('[W74] [G10] a file of exactly the limit is captured; one byte more is too large, and says its size', async () => {
  await using place = new Place()
  place.rules = captureRules({ maxUntrackedFileSize: 1000 })
  place.write('fits', 'x'.repeat(1000))
  place.write('over', 'x'.repeat(1001))
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['fits'])
  expect(scan.skipped).toEqual([{ path: 'over', reason: 'too-large', size: 1001 }])
  await place.calm()
  truncateSync(place.bytes('over'), 1000)
  expect(paths((await place.look()).changed)).toEqual(['over'])
})

test('[W74] [G11] a captured file that grows past the limit stays captured', async () => {
  await using place = new Place()
  place.rules = captureRules({ maxUntrackedFileSize: 10 })
  place.write('a', 'small')
  await place.look()
  place.write('a', 'x'.repeat(100))
  expect(paths((await place.look()).changed)).toEqual(['a'])
  expect(place.known().a).toBe(blobOf('x'.repeat(100)))
})

test('[W75] [N5] what lies in an unreadable folder is not gone, and the folder is listed', async () => {
  await using place = new Place()
  place.writeAll('locked/a.txt', 'locked/deep/b.txt', 'open.txt')
  await asNobody(place, async () => {
    await place.look()
    await place.calm()
    for (const mode of [0o000, 0o100, 0o400]) {
      chmodSync(join(place.root, 'locked'), mode)
      for (let i = 0; i < 3; i++) {
        const scan = await place.look()
        expect(scan.gone).toEqual([])
        expect(Object.values(reasons(scan))).toContain('unreadable')
        if (mode !== 0o400) expect(reasons(scan)).toEqual({ locked: 'unreadable' })
        else expect(reasons(scan)).toEqual({ 'locked/a.txt': 'unreadable', 'locked/deep': 'unreadable' })
        if (i === 1) place.restart()
      }
      expect(Object.keys(place.known()).sort()).toEqual(['locked/a.txt', 'locked/deep/b.txt', 'open.txt'])
    }
    chmodSync(join(place.root, 'locked'), 0o755)
    const scan = await place.look()
    expect(scan.gone).toEqual([])
    expect(scan.skipped).toEqual([])
  })
})

test('[W75] a new file that could not be read comes up again at the next scan', async () => {
  await using place = new Place()
  place.writeAll('a.txt', 'secret')
  chmodSync(place.bytes('secret'), 0)
  await asNobody(place, async () => {
    await place.look()
    await place.calm()
    expect(paths((await place.look()).changed)).toEqual(['secret'])
    place.restart()
    chmodSync(place.bytes('secret'), 0o600)
    expect(paths((await place.look()).changed)).toEqual(['secret'])
    expect(place.known().secret).toBe(blobOf('secret'))
  })
})

test('[W76] a root that vanished or may not be listed is a failure, never an empty workspace', async () => {
  await using place = new Place()
  place.write('a.txt')
  const failure = async (cache: StatCache) =>
    await place.scanner.scan(cache, place.rules).then(
      () => 'none',
      (error: unknown) => (isFailure(error, 'workspace-unreadable') ? error.data.reason : error),
    )
  await asNobody(place, async () => {
    await place.look()
    chmodSync(place.root, 0)
    expect(await failure(place.cache)).toBe('it may not be read')
    expect(await failure(StatCache.empty())).toBe('it may not be read')
    chmodSync(place.root, 0o755)
    renameSync(place.root, `${place.root}-away`)
    expect(await failure(place.cache)).toBe('it is not there')
    expect(await failure(StatCache.empty())).toBe('it is not there')
    renameSync(`${place.root}-away`, place.root)
  })
  expect(Object.keys(place.known())).toEqual(['a.txt'])
})

test('[W77] [G15] [G17] names of any bytes are seen and told apart', async () => {
  await using place = new Place()
  const names = [
    'sp ace',
    'tab\t',
    'new\nline',
    '"',
    '\\',
    '-x',
    ':y',
    '#z',
    '\xff\xfe',
    'caf\xc3\xa9',
    'cafe\xcc\x81',
  ]
  const all = [...names, ...names.map((name) => `d\xe9/${name}/${name}`)].sort()
  place.writeAll(...all)
  expect(paths((await place.look()).changed)).toEqual(all)
  await place.calm()
  place.restart()
  expect((await place.look()).changed).toEqual([])
  place.write('d\xe9/\xff\xfe/\xff\xfe', 'edited')
  expect(paths((await place.look()).changed)).toEqual(['d\xe9/\xff\xfe/\xff\xfe'])
})

test('[W78] folders are told with their permission bits, also empty ones, when one came, went or changed', async () => {
  await using place = new Place()
  place.writeAll('a/b/c.txt')
  mkdirSync(join(place.root, 'empty'))
  chmodSync(join(place.root, 'empty'), 0o700)
  expect((await place.look()).folders).toEqual(
    new Map([
      ['a', 0o755],
      ['a/b', 0o755],
      ['empty', 0o700],
    ]),
  )
  await place.calm()
  expect((await place.look()).folders).toBe('unchanged')
  chmodSync(join(place.root, 'a'), 0o750)
  rmSync(join(place.root, 'empty'), { recursive: true })
  expect((await place.look()).folders).toEqual(
    new Map([
      ['a', 0o750],
      ['a/b', 0o755],
    ]),
  )
  expect(new Map(place.cache.folders())).toEqual(
    new Map([
      ['a', 0o750],
      ['a/b', 0o755],
    ]),
  )
})

test('[W79] the list of what was skipped is complete also where no folder was listed, with signatures', async () => {
  await using place = new Place()
  place.writeAll('x.log', 'sub/y.log', 'node_modules/a.js', 'sub/.git/config')
  place.write('.gitignore', '*.log\n')
  const first = await place.look()
  await place.calm()
  place.restart()
  const second = await place.look()
  expect(second.skipped).toEqual(first.skipped)
  expect(paths(second.skipped)).toEqual(['node_modules', 'sub/.git', 'sub/y.log', 'x.log'])
  expect(second.skippedStats).toEqual(first.skippedStats)
  appendFileSync(place.bytes('x.log'), 'more')
  const third = await place.look()
  expect(third.skippedStats.get(rel('x.log'))).not.toBe(second.skippedStats.get(rel('x.log')))
  expect(third.skippedStats.get(rel('sub/y.log'))).toBe(second.skippedStats.get(rel('sub/y.log')))
})

test('[W80] our own store inside the workspace is never looked at', async () => {
  await using place = new Place()
  place.writeAll('a.txt', '.unturn/store/objects', '.unturn/other')
  place.rules = captureRules({ apart: [absPathUnchecked(join(place.root, '.unturn/store'))] })
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['.unturn/other', 'a.txt'])
  expect(scan.skipped).toEqual([])
})

test('[W81] a look at single paths tells files, links, folders and what is gone, and follows no link', async () => {
  await using place = new Place()
  place.writeAll('a.txt', 'folder/b.txt')
  symlinkSync('folder', join(place.root, 'link'))
  execFileSync('mkfifo', [join(place.root, 'fifo')])
  const asked = ['a.txt', 'folder', 'link', 'link/b.txt', 'not/there', 'a.txt/below', 'fifo', 'x/.git/config']
  const looked = place.scanner.look(place.cache, asked.map(rel))
  expect(looked.map((one) => ('skipped' in one ? one.skipped : one.kind))).toEqual([
    'file',
    'folder',
    'link',
    'gone',
    'gone',
    'gone',
    'special',
    'nested-git',
  ])
})

test('[W81] what a look found and settled is known to the next scan', async () => {
  await using place = new Place()
  place.writeAll('a.txt')
  await place.look()
  await place.calm()
  place.writeAll('node_modules/p/x.js', 'node_modules/p/y.js', 'new/z.txt')
  const looked = place.scanner.look(place.cache, [rel('node_modules/p/x.js'), rel('new/z.txt')])
  const seen = looked.flatMap((one) => ('mtimeMs' in one ? [one] : []))
  const contents = await readContents(place.scanner, seen, emptySink)
  place.scanner.settle(
    place.cache,
    contents.flatMap((content) => ('blob' in content ? [content] : [])),
    [],
  )
  expect(place.known()['node_modules/p/x.js']).toBe(blobOf('node_modules/p/x.js'))
  const scan = await place.look()
  expect(reasons(scan)).toEqual({ 'node_modules/p/y.js': 'ignored' })
  expect(scan.gone).toEqual([])
  expect([...place.cache.folders()].map(([path]) => path)).toEqual(['new', 'node_modules', 'node_modules/p'])
})

test('[W82] a distrusted path is read at the next scan, and is gone if it is not there', async () => {
  await using place = new Place()
  place.writeAll('a.txt', 'b.txt')
  await place.look()
  await place.calm()
  place.cache.distrust(rel('a.txt'))
  place.cache.distrust(rel('never/there.txt'), blobOf('x'), 'file', 0o600)
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(['a.txt'])
  expect(scan.gone).toEqual(['never/there.txt'])
})

test('[W83] [A14] files that come and go while the scan runs do not make it fail', async () => {
  await using place = new Place()
  for (let i = 0; i < 300; i++) place.write(`d${i % 10}/f${i}`)
  const script =
    'i=0; while [ $i -lt 400 ]; do rm -rf d$((i % 10)); mkdir -p d$((i % 10))/n; echo $i > d$((i % 10))/n/f$i; i=$((i+1)); done'
  const churn = import('node:child_process').then(
    ({ spawn }) =>
      new Promise((resolve) => spawn('sh', ['-c', script], { cwd: place.root }).on('exit', resolve)),
  )
  let running = true
  churn.then(() => {
    running = false
  })
  while (running) {
    await place.look()
    await pause(0)
  }
  await place.look()
  expect(Object.keys(place.known()).sort()).toEqual([...walkNaively(place.root, '')].sort())
})

function* walkNaively(root: string, folder: string): Iterable<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = joinRel(folder, entry.name)
    if (entry.isDirectory()) yield* walkNaively(root, path)
    else yield path
  }
}

/** What a scan has to say, found out in the plainest way, from the disk and what was known before. */
interface Expected {
  readonly files: Readonly<Record<string, string>>
  readonly skipped: Readonly<Record<string, string>>
  readonly folders: Readonly<Record<string, number>>
}

function expectedState(root: string, rules: CaptureRules, known: ReadonlySet<string>): Expected {
  const files: Record<string, string> = {}
  const skipped: Record<string, string> = {}
  const folders: Record<string, number> = {}
  const outer = [rules.globalExcludes ?? '', rules.infoExclude ?? ''].map((text) => parseRules(text, ''))
  const hasBelow = (folder: string) =>
    [...known].some((path) => path.startsWith(`${folder}/`)) || rules.tracked?.hasBelow(rel(folder)) === true
  const walk = (folder: ByteString, above: IgnoreStack, blocked: boolean) => {
    const place = Buffer.from(`${root}/${folder}`, 'latin1')
    let stack = above
    const own = Buffer.from(`${root}/${joinRel(folder, '.gitignore')}`, 'latin1')
    if (!blocked && existsSync(own) && lstatSync(own).isFile())
      stack = above.push(parseRules(readFileSync(own, 'latin1'), folder))
    for (const name of readdirSync(place, 'latin1')) {
      const path = joinRel(folder, name)
      const bytes = Buffer.from(`${root}/${path}`, 'latin1')
      const stat = lstatSync(bytes)
      if (name === '.git') {
        if (folder !== '') skipped[path] = 'nested-git'
      } else if (stat.isDirectory()) {
        const covered =
          blocked || rules.heavyFolders.includes(name) || stack.verdict(path, true) === 'ignored'
        if (covered && !hasBelow(path)) skipped[path] = 'ignored'
        else {
          folders[path] = stat.mode & 0o777
          walk(path, stack, covered)
        }
      } else {
        const wanted = known.has(path) || rules.tracked?.has(path) === true
        const covered = blocked || stack.verdict(path, false) === 'ignored'
        const content = stat.isSymbolicLink() ? readlinkSync(bytes, 'latin1') : readFileSync(bytes, 'latin1')
        const isProtected = rules.protect.some((glob) => matchesName(glob, nameOf(path)))
        if (!wanted && covered && !isProtected) skipped[path] = 'ignored'
        else if (!wanted && stat.isFile() && stat.size > rules.maxUntrackedFileSize)
          skipped[path] = 'too-large'
        else {
          const kind = stat.isSymbolicLink() ? 'link' : (stat.mode & 0o777).toString(8)
          files[path] = `${kind} ${blobOf(content)}`
        }
      }
    }
  }
  walk('', IgnoreStack.of(outer, { ignoreCase: rules.ignoreCase }), false)
  return { files, skipped, folders }
}

function stateOf(place: Place, scan: Scan): Expected {
  const files: Record<string, string> = {}
  for (const [path, known] of place.cache.entries())
    files[path] = `${known.kind === 'link' ? 'link' : known.perm.toString(8)} ${known.blob}`
  return { files, skipped: reasons(scan), folders: Object.fromEntries(place.cache.folders()) }
}

const folderNames = ['a', 'a-b', 'b', 'dist', 'ig']
const fileNames = ['x', 'y.log', '.env', '.gitignore', 'caf\xe9', 'z']
const folderPath = fc.array(fc.constantFrom(...folderNames), { maxLength: 3 }).map((names) => names.join('/'))
const anyPath = fc
  .tuple(folderPath, fc.constantFrom(...fileNames, ...folderNames))
  .map(([folder, name]) => joinRel(folder, name))
const content = fc.constantFrom('1', '2', 'x'.repeat(30))
const ruleText = fc
  .array(fc.constantFrom('ig', '*.log', '!y.log', '/a', 'b/', 'z', '!z', 'a/**/x', '.env'), { maxLength: 3 })
  .map((lines) => `${lines.join('\n')}\n`)
const move = fc.oneof(
  fc.record({ do: fc.constant('write'), path: anyPath, content }),
  fc.record({ do: fc.constant('write'), path: anyPath, content }),
  fc.record({
    do: fc.constant('rules'),
    path: folderPath.map((folder) => joinRel(folder, '.gitignore')),
    content: ruleText,
  }),
  fc.record({ do: fc.constant('delete'), path: fc.oneof(anyPath, folderPath) }),
  fc.record({ do: fc.constant('rename'), path: fc.oneof(anyPath, folderPath), to: anyPath }),
  fc.record({
    do: fc.constant('chmod'),
    path: fc.oneof(anyPath, folderPath),
    perm: fc.constantFrom(0o700, 0o755, 0o644, 0o711),
  }),
  fc.record({ do: fc.constant('folder'), path: anyPath }),
  fc.record({ do: fc.constant('link'), path: anyPath, content: fc.constantFrom('a', '../b', 'nowhere') }),
  fc.record({ do: fc.constant('swap-for-link'), path: folderPath }),
  fc.record({ do: fc.constant('restart') }),
  fc.record({ do: fc.constant('track'), paths: fc.array(anyPath, { maxLength: 3 }) }),
)
type Move = typeof move extends fc.Arbitrary<infer M> ? M : never

/** Does what it can; what the tree does not allow is no move. */
function make(place: Place, step: Move): void {
  if (step.do === 'restart') return place.restart()
  if ('paths' in step) {
    const tracked = packTracked(bytesOfPaths([...new Set(step.paths)].sort()))
    place.rules = { ...place.rules, tracked }
    return
  }
  if (!('path' in step) || step.path === '') return
  const target = place.bytes(step.path)
  try {
    if ('to' in step) renameSync(target, place.bytes(step.to))
    else if ('perm' in step) chmodSync(target, step.perm)
    else if (step.do === 'delete') rmSync(target, { recursive: true })
    else if (step.do === 'folder') {
      rmSync(target, { recursive: true, force: true })
      mkdirSync(target, { recursive: true })
    } else if (step.do === 'swap-for-link') {
      const away = join(place.base, `away-${Math.random()}`)
      renameSync(target, away)
      symlinkSync(away, target)
    } else if ('content' in step) {
      if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true) return
      if (step.do === 'link') symlinkSync(step.content, target)
      else place.write(step.path, step.content)
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

async function runMoves(
  groups: readonly (readonly Move[])[],
  thread: Partial<ThreadOptions> = {},
  judgesAll = false,
): Promise<void> {
  await using place = new Place(thread)
  place.rules = captureRules({ maxUntrackedFileSize: 20 })
  for (const [round, moves] of groups.entries()) {
    for (const step of moves) make(place, step)
    // Rules that nobody has judged by yet, though they mean the same.
    if (judgesAll) place.rules = { ...place.rules, protect: ['.env*', `no-such-name-${round}`] }
    const known = new Set(Object.keys(place.known()))
    const expected = expectedState(place.root, place.rules, known)
    const scan = await place.look()
    expect(stateOf(place, scan)).toEqual(expected)
    if (scan.folders !== 'unchanged') expect(Object.fromEntries(scan.folders)).toEqual(expected.folders)
  }
}

const soak = process.env.UNTURN_SOAK !== undefined
const groupsOfMoves = fc.array(fc.array(move, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 })
const alwaysShared = { comparedFiles: 0, waitingFolders: 1, readFiles: 1 }

test('[W84] after any moves a scan with the cache says what a plain walk says', async () => {
  await fc.assert(
    fc.asyncProperty(groupsOfMoves, async (moves) => await runMoves(moves)),
    { numRuns: soak ? 5000 : 100 },
  )
})

test('[W84] [W85] the same holds when two threads share every part of it', async () => {
  await fc.assert(
    fc.asyncProperty(groupsOfMoves, async (moves) => {
      const ready = moves.length > 0 ? [[], ...moves] : moves
      await runMoves(ready, alwaysShared)
    }),
    { numRuns: soak ? 500 : 15 },
  )
})

test('[W73] [W84] the same holds for scans that judge all names again, in one thread and in two', async () => {
  const alone = { ...alwaysShared, file: new URL('file:///not/there.js') }
  await fc.assert(
    fc.asyncProperty(groupsOfMoves, async (moves) => await runMoves(moves, alone, true)),
    { numRuns: soak ? 3000 : 100 },
  )
  await fc.assert(
    fc.asyncProperty(groupsOfMoves, async (moves) => await runMoves([[], ...moves], alwaysShared, true)),
    { numRuns: soak ? 500 : 15 },
  )
})

test('[W63] in a scan that judges all names, what was a folder and is a file, a link or gone is seen as that', async () => {
  for (const thread of [{}, alwaysShared, { ...alwaysShared, file: new URL('file:///not/there.js') }]) {
    await using place = new Place(thread)
    place.writeAll('a/file/x', 'a/link/x', 'a/gone/x', 'a/ignored/x', 'a/still/x', 'a/b/deep/x')
    await place.look()
    await place.calm()
    for (const name of ['file', 'link', 'gone']) rmSync(join(place.root, 'a', name), { recursive: true })
    place.write('a/file', 'now a file')
    symlinkSync('still', join(place.root, 'a/link'))
    place.rules = { ...place.rules, infoExclude: 'ignored\nlink\n' }
    const scan = await place.look()
    expect([...scan.gone].sort()).toEqual(['a/file/x', 'a/gone/x', 'a/link/x'])
    expect(paths(scan.changed)).toEqual(['a/file'])
    expect(reasons(scan)).toEqual({ 'a/link': 'ignored' })
    expect(Object.keys(place.known()).sort()).toEqual(['a/b/deep/x', 'a/file', 'a/ignored/x', 'a/still/x'])
  }
})

function writeMany(place: Place, count: number): void {
  for (let i = 0; i < count; i++) place.write(`d${i % 7}/e${i % 13}/f${i}`)
}

test('[W85] two threads see together what one sees, on a first scan, a second one and after edits', async () => {
  await using place = new Place(alwaysShared)
  writeMany(place, 600)
  await place.scanner.secondThread()?.give({ kind: 'read', share: emptyShare(place) }) // the thread is up
  expect((await place.look()).changed).toHaveLength(600)
  await place.calm()
  expect((await place.look()).changed).toEqual([])
  for (let i = 0; i < 600; i += 10) place.write(`d${i % 7}/e${i % 13}/f${i}`, `edited ${i}`)
  place.write('d1/new')
  rmSync(join(place.root, 'd2'), { recursive: true })
  const lone = new Scanner(absPathUnchecked(place.root))
  const expected = await lone.scan(place.cache, place.rules)
  const scan = await place.look()
  expect(paths(scan.changed)).toEqual(paths(expected.changed))
  expect([...scan.gone].sort()).toEqual([...expected.gone].sort())
  expect(scan.folders).toEqual(expected.folders)
  for (const [path, known] of place.cache.entries())
    expect(known.blob).toBe(blobOf(readFileSync(place.bytes(path), 'latin1')))
})

function emptyShare(place: Place) {
  const control = new Int32Array(new SharedArrayBuffer(16))
  return { root: absPathUnchecked(place.root), control, paths: '', numbers: new Float64Array(0) }
}

test('[W86] where no second thread can be had, one does it all', async () => {
  await using place = new Place({ ...alwaysShared, file: new URL('file:///not/there.js') })
  writeMany(place, 100)
  for (let i = 0; i < 3; i++) await place.look()
  expect(Object.keys(place.known())).toHaveLength(100)
})

test('[W86] a second thread that dies in the middle of its share costs time and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-dying-'))
  const file = join(folder, 'dying.mjs')
  writeFileSync(
    file,
    `import { parentPort } from 'node:worker_threads'
     parentPort.on('message', ({ task }) => {
       const control = task.kind === 'read' ? task.share.control : task.ground.control
       Atomics.add(control, 1, 1)
       Atomics.add(control, 0, 40)
       process.exit(1)
     })`,
  )
  await using place = new Place({ ...alwaysShared, file: new URL(`file://${file}`) })
  writeMany(place, 300)
  place.scanner.secondThread()
  await pause(300) // up and waiting, so that it does take a share
  expect((await place.look()).changed).toHaveLength(300)
  expect(Object.keys(place.known())).toHaveLength(300)

  await using reader = new Place({ readFiles: 1, file: new URL(`file://${file}`) })
  writeMany(reader, 300)
  reader.scanner.secondThread()
  await pause(300)
  await reader.look()
  expect(Object.keys(reader.known())).toHaveLength(300)
  rmSync(folder, { recursive: true })
})

test('[W87] the second thread does not keep a process alive', () => {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-'))
  // A file of its own: what is handed over with -e, the thread takes for its own flags, and does not start.
  const script = join(folder, 'script.mjs')
  writeFileSync(
    script,
    `const { Scanner } = await import(${JSON.stringify(new URL('./scan.ts', import.meta.url).href)})
     const thread = new Scanner('/').secondThread()
     if (process.argv[2] === 'given work')
       await thread.give({ kind: 'none' }).catch(({ message }) => console.log(message))`,
  )
  const run = (how: string) =>
    execFileSync(process.execPath, [script, how], { timeout: 20_000, encoding: 'utf8' })
  expect(run('left alone')).toBe('')
  expect(run('given work')).toMatch(/unreachable/) // it was there, and answered
  rmSync(folder, { recursive: true })
})

test('[W88] progress is told while a scan runs', async () => {
  await using place = new Place()
  writeMany(place, 3000)
  const told: number[] = []
  await place.scanner.scan(place.cache, place.rules, { onProgress: (seen) => told.push(seen) })
  expect(told.length).toBeGreaterThan(0)
  expect(told).toEqual([...told].sort((a, b) => a - b))
})
