import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { FileStat } from '../fs.ts'
import { absPathUnchecked, type ByteString, type RelPath, relPathUnchecked } from '../values.ts'
import {
  Attributes,
  findUserGit,
  listPacks,
  operationInProgress,
  readExcludes,
  readHead,
  readRef,
  readUserConfig,
  refsPointingInto,
  sameTime,
  type TrackedEntry,
  TrackedFiles,
  type UserGit,
} from './user-git.ts'

const soak = process.env.UNTURN_SOAK !== undefined
const world = realpathSync(mkdtempSync(join(tmpdir(), 'unturn-user-git-')))
afterAll(() => rmSync(world, { recursive: true, force: true }))

const hermetic = {
  PATH: process.env.PATH,
  HOME: join(world, 'home'),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
  GIT_ALLOW_PROTOCOL: 'file',
  LC_ALL: 'C.UTF-8',
}

let counter = 0

function freshFolder(): string {
  counter += 1
  const folder = join(world, `case ${counter}`)
  mkdirSync(folder)
  return folder
}

function git(folder: string, ...args: readonly string[]): string {
  return gitWith(folder, undefined, ...args)
}

function gitWith(folder: string, input: string | undefined, ...args: readonly string[]): ByteString {
  const options = {
    env: hermetic,
    maxBuffer: 1 << 28,
    stdio: ['pipe', 'pipe', 'ignore'] as ['pipe', 'pipe', 'ignore'],
  }
  const given = input === undefined ? {} : { input: Buffer.from(input, 'latin1') }
  return execFileSync('git', ['-C', folder, ...args], { ...options, ...given }).toString('latin1')
}

function repository(...files: readonly string[]): string {
  const folder = freshFolder()
  git(folder, 'init', '-q', '-b', 'main')
  if (files.length > 0) commit(folder, ...files)
  return folder
}

function commit(folder: string, ...files: readonly string[]): string {
  for (const file of files) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    appendFileSync(join(folder, file), `${file}\n`)
  }
  git(folder, 'add', '-A')
  git(folder, 'commit', '-q', '-m', 'a commit')
  return git(folder, 'rev-parse', 'HEAD').trim()
}

function found(folder: string): UserGit {
  const repo = findUserGit(absPathUnchecked(folder))
  if (repo === undefined) throw new Error(`no repository found in ${folder}`)
  return repo
}

function rel(path: ByteString): RelPath {
  return relPathUnchecked(path)
}

test('[S80] a repository is found at its own root only', () => {
  const folder = repository('sub/a')
  expect(found(folder)).toEqual({
    root: folder,
    gitDir: `${folder}/.git`,
    commonDir: `${folder}/.git`,
    objectFormat: 'sha1',
    readableRefs: true,
  })
  expect(findUserGit(absPathUnchecked(`${folder}/sub`))).toBe(undefined)
  expect(findUserGit(absPathUnchecked(`${folder}/nowhere`))).toBe(undefined)
})

test('[S80] [I2] a linked worktree has its own HEAD and index and shares objects and refs', () => {
  const folder = repository('a')
  const linked = join(freshFolder(), 'linked')
  git(folder, 'worktree', 'add', '-q', '-b', 'side', linked)
  const id = commit(linked, 'b')
  const repo = found(linked)
  expect(repo.commonDir).toBe(`${folder}/.git`)
  expect(repo.gitDir).toBe(`${folder}/.git/worktrees/linked`)
  expect(readHead(repo)).toEqual({ branch: 'refs/heads/side', commit: id })
  expect(readHead(found(folder)).branch).toBe('refs/heads/main')
  expect(TrackedFiles.read(repo)?.has(rel('b'))).toBe(true)
  expect(TrackedFiles.read(found(folder))?.has(rel('b'))).toBe(false)
})

test('[S81] a .git file is followed, relative or absolute, also where names are not UTF-8', () => {
  const folder = repository('a')
  const id = git(folder, 'rev-parse', 'HEAD').trim()
  renameSync(join(folder, '.git'), Buffer.from(join(folder, 'real\xff'), 'latin1'))
  for (const target of ['real\xff', `${folder}/real\xff`]) {
    writeFileSync(join(folder, '.git'), `gitdir: ${target}\n`, 'latin1')
    expect(found(folder).gitDir).toBe(`${folder}/real\xff`)
    expect(readHead(found(folder))).toEqual({ branch: 'refs/heads/main', commit: id })
    expect(TrackedFiles.read(found(folder))?.count).toBe(1)
  }
})

test('[S82] [I16] a .git that points nowhere or makes no sense is no repository', () => {
  const folder = freshFolder()
  const dotGit = join(folder, '.git')
  const asked = () => findUserGit(absPathUnchecked(folder))
  for (const text of [
    'gitdir: /no/such/place\n',
    'gitdir: .\n',
    'gitdir: ',
    'gibberish',
    '',
    `gitdir: ${'\n'.repeat(60_000)}`,
  ]) {
    writeFileSync(dotGit, text)
    expect(asked()).toBe(undefined)
  }
  rmSync(dotGit)
  symlinkSync('.git', dotGit)
  expect(asked()).toBe(undefined)
  rmSync(dotGit)
  execFileSync('mkfifo', [dotGit])
  expect(asked()).toBe(undefined)
  rmSync(dotGit)
  mkdirSync(dotGit)
  expect(asked()).toBe(undefined)
})

test('[S83] [I16] a SHA-256 repository is recognised, and its index is not read', () => {
  const folder = freshFolder()
  git(folder, 'init', '-q', '--object-format=sha256')
  const id = commit(folder, 'a')
  const repo = found(folder)
  expect(repo.objectFormat).toBe('sha256')
  expect(readHead(repo).commit).toBe(id)
  expect(TrackedFiles.read(repo)).toBe(undefined)
  writeFileSync(join(folder, '.git/config'), '[extensions]\n\tobjectFormat = md5\n')
  expect(found(folder).objectFormat).toBe('unknown')
  writeFileSync(join(folder, '.git/config'), '[core\n')
  expect(found(folder).objectFormat).toBe('unknown')
})

test('[S84] [I2] HEAD: no commit yet, on a branch, detached, symbolic in turn, unreadable', () => {
  const folder = repository()
  expect(readHead(found(folder))).toEqual({ branch: 'refs/heads/main' })
  const id = commit(folder, 'a')
  expect(readHead(found(folder))).toEqual({ branch: 'refs/heads/main', commit: id })
  git(folder, 'symbolic-ref', 'refs/heads/alias', 'refs/heads/main')
  git(folder, 'symbolic-ref', 'HEAD', 'refs/heads/alias')
  expect(readHead(found(folder))).toEqual({ branch: 'refs/heads/alias', commit: id })
  git(folder, 'checkout', '-q', '--detach')
  expect(readHead(found(folder))).toEqual({ commit: id })

  writeFileSync(join(folder, '.git/refs/heads/x'), 'ref: refs/heads/y\n')
  writeFileSync(join(folder, '.git/refs/heads/y'), 'ref: refs/heads/x\n')
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/x\n')
  expect(readHead(found(folder))).toEqual({ branch: 'refs/heads/x' })
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/../../../../etc/passwd\n')
  expect(readHead(found(folder))).toEqual({})
  writeFileSync(join(folder, '.git/HEAD'), '')
  expect(readHead(found(folder))).toEqual({})
})

test('[S84] a HEAD that is a link, as very old gits made it', () => {
  const folder = repository('a')
  const id = git(folder, 'rev-parse', 'HEAD').trim()
  rmSync(join(folder, '.git/HEAD'))
  symlinkSync('refs/heads/main', join(folder, '.git/HEAD'))
  expect(readHead(found(folder))).toEqual({ branch: 'refs/heads/main', commit: id })
})

test('[S84] a repository with reftable says nothing about refs instead of something wrong', () => {
  const folder = repository('a')
  git(folder, 'config', 'extensions.refStorage', 'reftable')
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/.invalid\n')
  expect(readHead(found(folder))).toEqual({})
  expect(readRef(found(folder), 'refs/heads/main')).toBe(undefined)
  expect(refsPointingInto(found(folder), 'refs/').size).toBe(0)
})

test('[S85] refs are found loose and packed, the loose one counts, and git agrees', () => {
  const folder = repository('a')
  const branches = ['topic', 'feature/one', 'feature/two', 'h\xc3\xa9']
  for (const name of branches) gitWith(folder, `create refs/heads/${name} HEAD\n`, 'update-ref', '--stdin')
  git(folder, 'tag', '-a', '-m', 'note', 'v1')
  git(folder, 'update-ref', 'refs/remotes/origin/main', 'HEAD')
  git(folder, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main')
  git(folder, 'pack-refs', '--all')
  commit(folder, 'b')
  git(folder, 'update-ref', 'refs/heads/feature/one', 'HEAD')
  git(folder, 'update-ref', 'refs/heads/late', 'HEAD')
  writeFileSync(join(folder, '.git/refs/heads/stale.lock'), 'x')

  const repo = found(folder)
  for (const prefix of [
    'refs/',
    'refs/heads/',
    'refs/remotes/',
    'refs/tags/',
    'refs/heads/fe',
    'refs/heads/feature/one',
  ]) {
    const all = git(folder, 'for-each-ref', '--format=%(refname) %(objectname)').split('\n')
    const expected = all.filter((line) => line.startsWith(prefix)).sort()
    const ours = refsPointingInto(repo, prefix)
    expect([...ours].map(([name, id]) => `${name} ${id}`).sort()).toEqual(expected)
    for (const [name, id] of ours) expect(readRef(repo, name)).toBe(id)
  }
  expect(readRef(repo, 'HEAD')).toBe(git(folder, 'rev-parse', 'HEAD').trim())
  for (const name of [
    'refs/heads/none',
    'refs/../HEAD',
    '../HEAD',
    '/etc/passwd',
    'refs/heads',
    'config',
    '',
  ]) {
    expect(readRef(repo, name)).toBe(undefined)
  }
})

test('[S86] [I3] an operation in progress is named', () => {
  const folder = repository('a')
  writeFileSync(join(folder, 'a'), 'base\n')
  commit(folder, 'x')
  git(folder, 'checkout', '-q', '-b', 'side')
  writeFileSync(join(folder, 'a'), 'side\n')
  commit(folder, 'y')
  git(folder, 'checkout', '-q', 'main')
  writeFileSync(join(folder, 'a'), 'main\n')
  commit(folder, 'z')
  const during = (...args: readonly string[]) => {
    expect(() => git(folder, ...args)).toThrow()
    const operation = operationInProgress(found(folder))
    git(folder, args[0] ?? '', '--abort')
    return operation
  }
  expect(operationInProgress(found(folder))).toBe(undefined)
  expect(during('merge', 'side')).toBe('merge')
  expect(during('cherry-pick', 'side')).toBe('cherry-pick')
  expect(during('revert', 'side')).toBe('revert')
  expect(during('rebase', 'side')).toBe('rebase')
  expect(during('rebase', '--apply', 'side')).toBe('rebase')
  git(folder, 'bisect', 'start')
  expect(operationInProgress(found(folder))).toBe('bisect')
  git(folder, 'bisect', 'reset')
  expect(operationInProgress(found(folder))).toBe(undefined)
})

/** What git itself says about its index. */
function listedByGit(folder: string): readonly TrackedEntry[] {
  const output = git(folder, 'ls-files', '--stage', '-z', '--debug')
  const entry =
    /(\d+) ([0-9a-f]{40}) (\d)\t([^\0]+)\0 {2}ctime: (\d+):(\d+)\n {2}mtime: (\d+):(\d+)\n {2}dev: \d+\tino: (\d+)\n.*\n {2}size: (\d+)\tflags: ([0-9a-f]+)\n/g
  return [...output.matchAll(entry)].map((match) => {
    const [, mode = '', id = '', stage, path = '', cs, cn, ms, mn, ino, size, flagText = ''] = match
    const flags = Number.parseInt(flagText, 16)
    return {
      path: rel(path),
      id,
      mode: Number.parseInt(mode, 8),
      size: Number(size),
      mtimeMs: Number(ms) * 1000 + Number(mn) / 1e6,
      ctimeMs: Number(cs) * 1000 + Number(cn) / 1e6,
      ino: Number(ino),
      stage: Number(stage),
      assumeValid: (flags & 0x8000) !== 0,
      skipWorktree: (flags & (1 << 30)) !== 0,
      intentToAdd: (flags & (1 << 29)) !== 0,
    }
  })
}

function expectSameAsGit(folder: string, count: number): TrackedFiles {
  const ours = TrackedFiles.read(found(folder))
  if (ours === undefined) throw new Error('the index was not read')
  const theirs = listedByGit(folder)
  expect(theirs.length).toBe(count)
  expect(ours.count).toBe(count)
  expect([...ours.entries()]).toEqual(theirs)
  for (const entry of theirs) {
    expect(ours.has(entry.path)).toBe(entry.mode !== 0o160000)
    expect(ours.entry(entry.path)).toEqual(entry.stage === 0 ? entry : undefined)
  }
  return ours
}

function indexVersion(folder: string): number {
  return readFileSync(join(folder, '.git/index')).readUInt32BE(4)
}

/** Plain, executable, link, submodule, long and odd names, and one file in conflict. */
function variedRepository(): string {
  const folder = repository(
    'a',
    'a.b',
    'a/b'.replace('a', 'dir'),
    'dir.x',
    'dir0',
    'src/deep/er/file',
    'h\u00e9',
  )
  writeFileSync(Buffer.from(join(folder, 'not-utf8-\xff'), 'latin1'), 'x')
  writeFileSync(join(folder, 'run'), '#!')
  chmodSync(join(folder, 'run'), 0o755)
  symlinkSync('a', join(folder, 'link'))
  for (const name of ['n'.repeat(200), 'empty']) writeFileSync(join(folder, name), '')
  const long = Array.from({ length: 17 }, (_, i) => String(i).padStart(2, '0').repeat(120)).join('/')
  git(folder, 'add', '-A')
  const blob = git(folder, 'rev-parse', ':a').trim()
  const commitId = git(folder, 'rev-parse', 'HEAD').trim()
  const lines = [
    `100644 ${blob} 0\t${long}`,
    `100644 ${blob} 0\t${long}x`,
    `160000 ${commitId} 0\tmodules/only`,
    `100644 ${blob} 1\tconflict`,
    `100644 ${blob} 2\tconflict`,
    `100644 ${blob} 3\tconflict`,
  ]
  gitWith(folder, `${lines.join('\n')}\n`, 'update-index', '--index-info')
  return folder
}

test('[S87] an index of version 2, 3 and 4 is read as git reads it', () => {
  const folder = variedRepository()
  expectSameAsGit(folder, 18)
  expect(indexVersion(folder)).toBe(2)

  git(folder, 'update-index', '--skip-worktree', 'a')
  git(folder, 'update-index', '--assume-unchanged', 'a.b')
  writeFileSync(join(folder, 'soon'), 'x')
  git(folder, 'add', '--intent-to-add', 'soon')
  const third = expectSameAsGit(folder, 19)
  expect(indexVersion(folder)).toBe(3)
  expect(third.entry(rel('a'))?.skipWorktree).toBe(true)
  expect(third.entry(rel('a.b'))?.assumeValid).toBe(true)
  expect(third.entry(rel('soon'))?.intentToAdd).toBe(true)

  git(folder, 'update-index', '--index-version', '4')
  expectSameAsGit(folder, 19)
  expect(indexVersion(folder)).toBe(4)
})

test('[S88] has, hasBelow and entry answer for single paths; a submodule counts as nothing', () => {
  const files = TrackedFiles.read(found(variedRepository()))
  const has = (path: string) => files?.has(rel(path))
  const below = (path: string) => files?.hasBelow(rel(path))
  expect(['a', 'dir/b', 'conflict', 'not-utf8-\xff', 'h\xc3\xa9'].map(has)).toEqual([
    true,
    true,
    true,
    true,
    true,
  ])
  expect(['dir', 'di', 'dir/', 'dir/bb', 'modules/only', 'zz', 'A', ''].map(has)).toEqual(
    Array(8).fill(false),
  )
  expect(['dir', 'src', 'src/deep', 'src/deep/er'].map(below)).toEqual([true, true, true, true])
  expect(['a', 'di', 'modules', 'modules/only', 'src/deep/er/file', 'zz'].map(below)).toEqual(
    Array(6).fill(false),
  )
  expect(files?.entry(rel('conflict'))).toBe(undefined)
  expect(files?.entry(rel('modules/only'))?.mode).toBe(0o160000)
})

test('[S89] a damaged, shortened, split or foreign index is not read, and nothing throws', () => {
  const folder = variedRepository()
  const path = join(folder, '.git/index')
  for (const version of ['2', '4']) {
    git(folder, 'update-index', '--index-version', version)
    const whole = readFileSync(path)
    const repo = found(folder)
    for (let length = 0; length < whole.length; length += 37) {
      writeFileSync(path, whole.subarray(0, length))
      expect(TrackedFiles.read(repo)).toBe(undefined)
      writeFileSync(path, signed(whole.subarray(0, length)))
      expect(TrackedFiles.read(repo)).toBe(undefined)
    }
    writeFileSync(path, whole)
    expect(TrackedFiles.read(repo)?.count).toBe(18)
  }
  git(folder, 'update-index', '--split-index')
  expect(TrackedFiles.read(found(folder))).toBe(undefined)
  rmSync(path)
  expect(TrackedFiles.read(found(folder))).toBe(undefined)
  execFileSync('mkfifo', [path])
  expect(TrackedFiles.read(found(folder))).toBe(undefined)
})

test('[S89] any bytes changed in an index give another answer or none, never a throw or a hang', () => {
  const folder = variedRepository()
  const path = join(folder, '.git/index')
  const wholes = ['2', '4'].map((version) => {
    git(folder, 'update-index', '--index-version', version)
    return readFileSync(path)
  })
  const repo = found(folder)
  const change = fc.tuple(fc.nat(), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.boolean())
  fc.assert(
    fc.property(
      fc.constantFrom(...wholes),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      (whole, changes) => {
        const bytes = Buffer.from(whole)
        for (const [at, value, early] of changes) bytes[at % (early ? 1_000 : bytes.length)] = value
        writeFileSync(path, signed(bytes.subarray(0, -20)))
        const files = TrackedFiles.read(repo)
        for (const entry of files?.entries() ?? []) files?.has(entry.path)
      },
    ),
    { numRuns: soak ? 20_000 : 500 },
  )
})

/** With a checksum that fits, so that what comes after it is tested. */
function signed(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, createHash('sha1').update(bytes).digest()])
}

test('[S89] a path in a crafted index that leads out of the workspace is left out', () => {
  const folder = repository('aa/config', 'xx/passwd')
  const path = join(folder, '.git/index')
  const text = readFileSync(path).toString('latin1').replace('aa/config', '../config')
  writeFileSync(path, signed(Buffer.from(text.replace('../config', '..//onfig').slice(0, -20), 'latin1')))
  const files = TrackedFiles.read(found(folder))
  expect(files?.count).toBe(2)
  expect([...(files?.entries() ?? [])].map((entry) => entry.path)).toEqual(['xx/passwd'])
})

test('[S90] a file that nobody touched since git add is clean, one that somebody touched is not', () => {
  const folder = repository('same', 'edited', 'rewritten', 'empty', 'now-empty')
  for (const name of ['empty', 'now-empty']) writeFileSync(join(folder, name), '')
  symlinkSync('same', join(folder, 'link'))
  git(folder, 'add', 'empty', 'link')
  makeOlder(folder, 'same', 'edited', 'rewritten', 'empty')
  git(folder, 'update-index', '-q', '--refresh')
  const sameSize = readFileSync(join(folder, 'rewritten'), 'utf8').toUpperCase()
  const times = lstatSync(join(folder, 'rewritten'))
  writeFileSync(join(folder, 'rewritten'), sameSize)
  utimesSync(join(folder, 'rewritten'), times.atime, times.mtime) // mtime put back; ctime tells
  appendFileSync(join(folder, 'edited'), 'more')
  waitForTick(folder)

  const files = TrackedFiles.read(found(folder))
  const clean = (name: string) => {
    const entry = files?.entry(rel(name))
    return entry !== undefined && files?.isClean(entry, statOf(join(folder, name)))
  }
  expect(['same', 'empty'].map(clean)).toEqual([true, true])
  expect(['edited', 'rewritten', 'now-empty'].map(clean)).toEqual([false, false, false])
})

test('[S90] times of real files compare equal to the index, to the last bit', () => {
  const names = Array.from({ length: 200 }, (_, i) => `file${i}`)
  const folder = repository(...names)
  const raw = readFileSync(join(folder, '.git/index'))
  const files = TrackedFiles.read(found(folder))
  for (const name of names) {
    const stat = lstatSync(join(folder, name))
    const exact = lstatSync(join(folder, name), { bigint: true })
    const entry = files?.entry(rel(name))
    expect(entry?.mtimeMs).toBe(stat.mtimeMs)
    expect(entry?.ctimeMs).toBe(stat.ctimeMs)
    expect(entry?.ino).toBe(stat.ino % 2 ** 32)
    const [seconds, nanoseconds] = [
      Number(exact.mtimeNs / 1_000_000_000n),
      Number(exact.mtimeNs % 1_000_000_000n),
    ]
    expect(sameTime(seconds, nanoseconds, stat.mtimeMs)).toBe(true)
    expect(sameTime(seconds, (nanoseconds + 1_000) % 1_000_000_000, stat.mtimeMs)).toBe(false)
  }
  expect(raw.length).toBeGreaterThan(0)
})

test('[S90] an entry as young as the index itself is not clean', () => {
  const folder = repository('young')
  const index = join(folder, '.git/index')
  const stat = lstatSync(join(folder, 'young'))
  utimesSync(index, stat.atime, new Date(Math.floor(stat.mtimeMs) - 1))
  const files = TrackedFiles.read(found(folder))
  const entry = files?.entry(rel('young'))
  expect(entry !== undefined && files?.isClean(entry, statOf(join(folder, 'young')))).toBe(false)
})

function makeOlder(folder: string, ...names: readonly string[]): void {
  const then = new Date(Date.now() - 10_000)
  for (const name of names) utimesSync(join(folder, name), then, then)
}

/** Rewrites the index a moment later, so that its own time is after that of every file. */
function waitForTick(folder: string): void {
  const later = new Date(Date.now() + 1_000)
  utimesSync(join(folder, '.git/index'), later, later)
}

function statOf(path: string): FileStat {
  const stat = lstatSync(path)
  const { size, mtimeMs, ctimeMs, ino, dev, nlink, uid } = stat
  return {
    kind: stat.isSymbolicLink() ? 'link' : 'file',
    perm: stat.mode & 0o777,
    size,
    mtimeMs,
    ctimeMs,
    ino,
    dev,
    nlink,
    uid,
  }
}

test('[S91] an index of 100,000 entries is read at once', () => {
  const folder = repository()
  const blob = gitWith(folder, 'x', 'hash-object', '-w', '--stdin').trim()
  const lines = Array.from(
    { length: 100_000 },
    (_, i) => `100644 ${blob} 0\tsrc/part${i % 500}/deep/file${i}.ts\n`,
  )
  gitWith(folder, lines.join(''), 'update-index', '--index-info')
  for (const version of ['2', '4']) {
    git(folder, 'update-index', '--index-version', version)
    const repo = found(folder)
    const started = performance.now()
    const files = TrackedFiles.read(repo)
    const read = performance.now()
    let present = 0
    for (let i = 0; i < 100_000; i += 1)
      if (files?.has(rel(`src/part${i % 500}/deep/file${i}.ts`))) present += 1
    const asked = performance.now()
    let listed = 0
    for (const entry of files?.entries() ?? []) listed += entry.size === 0 ? 1 : 0
    const all = performance.now()
    const shown = [read - started, asked - read, all - asked].map((ms) => `${ms.toFixed(0)} ms`).join(', ')
    console.log(`index v${version} of 100,000: read, 100,000 times has, all entries: ${shown}`)
    expect([present, listed]).toEqual([100_000, 100_000])
  }
})

const plain = { HOME: hermetic.HOME, GIT_CONFIG_NOSYSTEM: '1' }

test('[S92] info/exclude and the excludes that the user configured are read', () => {
  const folder = repository('a')
  const home = freshFolder()
  const env = { HOME: home, GIT_CONFIG_NOSYSTEM: 'true' }
  writeFileSync(join(folder, '.git/info/exclude'), 'info\xff\n', 'latin1')
  expect(readExcludes(found(folder), env)).toEqual({ infoExclude: 'info\xff\n' })
  expect(readExcludes(undefined, env)).toEqual({})

  mkdirSync(join(home, '.config/git'), { recursive: true })
  writeFileSync(join(home, '.config/git/ignore'), 'default\n')
  expect(readExcludes(undefined, env)).toEqual({ globalExcludes: 'default\n' })
  const xdg = { ...env, XDG_CONFIG_HOME: join(home, 'xdg') }
  expect(readExcludes(undefined, xdg)).toEqual({})

  writeFileSync(join(home, '.gitconfig'), '[core]\n\texcludesFile = ~/my-ignore\n')
  writeFileSync(join(home, 'my-ignore'), 'mine\n')
  expect(readExcludes(undefined, env)).toEqual({ globalExcludes: 'mine\n' })
  writeFileSync(join(home, 'other'), '[core] excludesfile = "~/none"\n')
  expect(readExcludes(undefined, { ...env, GIT_CONFIG_GLOBAL: join(home, 'other') })).toEqual({})
  expect(readExcludes(undefined, { ...env, GIT_CONFIG_GLOBAL: '/dev/null' })).toEqual({
    globalExcludes: 'default\n',
  })

  git(folder, 'config', 'core.excludesFile', 'in-root')
  writeFileSync(join(folder, 'in-root'), 'relative\n')
  expect(readExcludes(found(folder), env).globalExcludes).toBe('relative\n')
})

test('[S92] a linked worktree has the info/exclude of its repository', () => {
  const folder = repository('a')
  const linked = join(freshFolder(), 'linked')
  git(folder, 'worktree', 'add', '-q', linked)
  writeFileSync(join(folder, '.git/info/exclude'), 'shared\n')
  expect(readExcludes(found(linked), plain)).toEqual({ infoExclude: 'shared\n' })
})

test('[S92] excludes that are a pipe, a device or a folder do not stop us', () => {
  const folder = repository('a')
  const pipe = join(freshFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const place of [pipe, '/dev/zero', folder]) {
    git(folder, 'config', 'core.excludesFile', place)
    expect(readExcludes(found(folder), plain).globalExcludes).toBe(undefined)
  }
  rmSync(join(folder, '.git/config'))
  execFileSync('mkfifo', [join(folder, '.git/config')])
  expect(found(folder).objectFormat).toBe('unknown')
  expect(readUserConfig(found(folder), plain).get('core.bare')).toBe(undefined)
})

test('[S93] the configuration is that of system, user and repository, and the last one counts', () => {
  const folder = repository()
  const home = freshFolder()
  mkdirSync(join(home, '.config/git'), { recursive: true })
  const env = { HOME: home, GIT_CONFIG_SYSTEM: join(home, 'system') }
  writeFileSync(join(home, 'system'), '[t]\none=system\ntwo=system\nthree=system\nfour=system\nfive=system\n')
  writeFileSync(join(home, '.config/git/config'), '[t]\ntwo=xdg\nthree=xdg\nfour=xdg\nfive=xdg\n')
  writeFileSync(join(home, '.gitconfig'), '[t]\nthree=home\nfour=home\nfive=home\n')
  appendFileSync(join(folder, '.git/config'), '[t]\nfour=repo\nfive=repo\n[extensions]\nworktreeConfig\n')
  writeFileSync(join(folder, '.git/config.worktree'), '[t]\nfive=worktree\n')
  const values = (given: Record<string, string>) => {
    const config = readUserConfig(found(folder), given)
    return ['one', 'two', 'three', 'four', 'five'].map((name) => config.get(`t.${name}`))
  }
  expect(values(env)).toEqual(['system', 'xdg', 'home', 'repo', 'worktree'])
  expect(values({ ...env, GIT_CONFIG_NOSYSTEM: '1' })[0]).toBe(undefined)
  expect(values({ ...env, GIT_CONFIG_GLOBAL: '' })).toEqual([
    'system',
    'system',
    'system',
    'repo',
    'worktree',
  ])
  expect(values({ GIT_CONFIG_NOSYSTEM: '1' })).toEqual([undefined, undefined, undefined, 'repo', 'worktree'])
})

test('[S94] included files count where they are included, and a circle of them ends', () => {
  const folder = repository()
  const home = freshFolder()
  const env = { HOME: home, GIT_CONFIG_NOSYSTEM: '1' }
  writeFileSync(
    join(home, '.gitconfig'),
    '[t]\na=1\nb=1\n[include]\npath=sub/more\npath = ~/missing\n[t]\nb=3\n[includeIf "gitdir:/"]\npath=never\n',
  )
  mkdirSync(join(home, 'sub'))
  writeFileSync(join(home, 'sub/more'), '[t]\na=2\nb=2\nc=2\n[include]\npath=more\npath=/dev/zero\n')
  writeFileSync(join(home, 'never'), '[t]\na=4\n')
  const config = readUserConfig(found(folder), env)
  expect(['t.a', 't.b', 't.c'].map((key) => config.get(key))).toEqual(['2', '3', '2'])
})

test('[S95] a configuration file means to us what it means to git', () => {
  const path = join(freshFolder(), 'config')
  const env = { HOME: hermetic.HOME, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: path }
  let accepted = 0
  fc.assert(
    fc.property(someConfig, (text) => {
      writeFileSync(path, text, 'latin1')
      const theirs = configOfGit(path)
      if (theirs === undefined) return
      accepted += 1
      const config = readUserConfig(undefined, env)
      expect(new Map([...theirs.keys()].map((key) => [key, config.get(key)]))).toEqual(theirs)
    }),
    { numRuns: soak ? 10_000 : 300, interruptAfterTimeLimit: soak ? 300_000 : 8_000 },
  )
  expect(accepted).toBeGreaterThan(50)
}, 400_000)

/** `undefined` where git refuses the file. */
function configOfGit(path: string): ReadonlyMap<ByteString, ByteString> | undefined {
  try {
    const output = gitWith(world, undefined, 'config', '--file', path, '--list', '-z')
    const settings = output.split('\0').filter((setting) => setting !== '')
    return new Map(
      settings.map((setting) => {
        const line = setting.indexOf('\n')
        return line < 0 ? [setting, 'true'] : [setting.slice(0, line), setting.slice(line + 1)]
      }),
    )
  } catch {
    return undefined // git ended with an error: it does not accept the file
  }
}

const someValue = fc
  .array(
    fc.constantFrom(
      'a',
      'B',
      ' ',
      '  ',
      '"',
      '"x y"',
      '" ; "',
      '\\n',
      '\\t',
      '\\"',
      '\\\\',
      '\\\n',
      '\\\n  ',
      '#c',
      ';',
      '=',
      '\xc3\xa9',
      '[',
      ']',
      "'",
      '~/',
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''))

const someConfigLine = fc.oneof(
  fc.constantFrom(
    '[core]',
    '[Core]',
    '[a "B c"]',
    '[a "x\\"y\\\\z"]',
    '[a.B]',
    '[core] ; note',
    '[ core]',
    '[a ""]',
    '[x"y"]',
  ),
  fc.constantFrom(
    '',
    '# note',
    '; note',
    '  ',
    '\t# x',
    'bare',
    'bare ; no',
    'k1',
    '1k = x',
    '[core] k = same line',
  ),
  fc
    .tuple(
      fc.constantFrom('k', 'K', 'long-key', '\tindented'),
      fc.constantFrom('=', ' = ', ' =', '\t=\t'),
      someValue,
    )
    .map((parts) => parts.join('')),
)

const someConfig = fc
  .tuple(
    fc.constantFrom('[s]\n', '[s]\n', '\xef\xbb\xbf[s]\n', ''),
    fc.array(someConfigLine, { maxLength: 5 }),
    fc.constantFrom('\n', '\r\n'),
    fc.constantFrom('\n', ''),
  )
  .map(([start, lines, end, last]) => start + lines.join(end) + last)

test('[S96] packs of the repository and of those it borrows from are listed, those with an index only', () => {
  const origin = repository('a', 'b')
  git(origin, 'repack', '-adq')
  const middle = freshFolder()
  git(middle, 'clone', '-q', '--shared', origin, 'c')
  const last = freshFolder()
  git(last, 'clone', '-q', '--shared', join(middle, 'c'), 'c')
  commit(join(last, 'c'), 'own')
  git(join(last, 'c'), 'repack', '-adlq')
  const packs = listPacks(found(join(last, 'c')))
  expect(packs.map(({ pack }) => pack.replace(/pack-[0-9a-f]+\.pack$/, '*'))).toEqual([
    `${last}/c/.git/objects/pack/*`,
    `${origin}/.git/objects/pack/*`,
  ])
  for (const { pack, idx } of packs) expect([existsSync(pack), existsSync(idx)]).toEqual([true, true])

  appendFileSync(
    join(origin, '.git/objects/info/alternates'),
    `# note\n${last}/c/.git/objects\n/no/such/place\n`,
  )
  writeFileSync(join(origin, '.git/objects/pack/pack-1234.pack'), '')
  expect(listPacks(found(join(last, 'c')))).toEqual(packs)
})

function attributes(folder: string, env: Record<string, string>, ...files: readonly string[]): Attributes {
  return Attributes.read(findUserGit(absPathUnchecked(folder)), absPathUnchecked(folder), env, files.map(rel))
}

const attributesEnv = { HOME: hermetic.HOME, GIT_CONFIG_NOSYSTEM: '1', GIT_ATTR_NOSYSTEM: '1' }

function converting(read: Attributes, ...paths: readonly string[]): readonly string[] {
  return paths.filter((path) => read.mayConvert(rel(path)))
}

test('[S97] [I6] [I7] paths that git may convert are known by filter, ident and encoding', () => {
  const folder = repository('a')
  writeFileSync(
    join(folder, '.gitattributes'),
    [
      '# *.no filter=x',
      '*.lfs filter=lfs diff=lfs -text',
      '/id.c ident',
      'utf16/* working-tree-encoding=UTF-16LE',
      '"with space.*" filter=a',
      '"\\303\\251" filter=a',
      '* text=auto eol=crlf linguist-generated',
      '*.off -filter !ident -working-tree-encoding',
      '*.bin binary',
      'folder/ filter=x',
      '!neg filter=x',
      '\t*.indented   filter=y\r',
    ].join('\n'),
  )
  const read = attributes(folder, attributesEnv, '.gitattributes')
  const yes = ['x.lfs', 'd/y.lfs', 'id.c', 'utf16/a', 'with space.txt', '\xc3\xa9', 'q.indented']
  const no = [
    'a',
    'x.no',
    'd/id.c',
    'utf16/d/a',
    'with',
    'b.off',
    'c.bin',
    'folder/x',
    'neg',
    '!neg',
    'main.ts',
  ]
  expect(converting(read, ...yes, ...no)).toEqual(yes)
})

test('[S97] attributes of a nested file hold below its folder; info and the user have their own', () => {
  const folder = repository('a')
  const home = freshFolder()
  mkdirSync(join(home, '.config/git'), { recursive: true })
  writeFileSync(join(home, '.config/git/attributes'), '*.user filter=u\n')
  writeFileSync(join(folder, '.git/info/attributes'), '*.info ident\n')
  mkdirSync(join(folder, 'sub'))
  writeFileSync(join(folder, 'sub/.gitattributes'), '*.x filter=x\n/top filter=x\n')
  const read = attributes(folder, { ...attributesEnv, HOME: home }, 'sub/.gitattributes')
  const paths = ['a.user', 'b.info', 'c.x', 'sub/c.x', 'sub/d/c.x', 'top', 'sub/top', 'sub/d/top', 'subc.x']
  expect(converting(read, ...paths)).toEqual(['a.user', 'b.info', 'sub/c.x', 'sub/d/c.x', 'sub/top'])

  writeFileSync(join(home, 'attrs'), '*.mine filter=m\n')
  git(folder, 'config', 'core.attributesFile', '~/attrs')
  git(folder, 'config', 'core.ignoreCase', 'true')
  const other = attributes(folder, { ...attributesEnv, HOME: home })
  expect(converting(other, 'a.user', 'a.MINE')).toEqual(['a.MINE'])
})

test('[S98] macros are followed, and what cannot be read or is too long counts as converting', () => {
  const folder = repository('a')
  const file = join(folder, '.gitattributes')
  writeFileSync(
    file,
    '[attr]outer inner\n[attr]inner filter=x\n[attr] harmless -text\n*.o outer\n*.h harmless\n*.n -outer\n',
  )
  expect(converting(attributes(folder, attributesEnv, '.gitattributes'), 'a.o', 'a.h', 'a.n')).toEqual([
    'a.o',
  ])

  const missing = attributes(folder, attributesEnv, 'gone/.gitattributes')
  expect(converting(missing, 'a', 'gone/b', 'gone/deep/c', 'gone2/d')).toEqual(['gone/b', 'gone/deep/c'])

  writeFileSync(file, `${'x'.repeat(3_000)} text\n`)
  expect(converting(attributes(folder, attributesEnv, '.gitattributes'), 'any')).toEqual(['any'])
  const chain = Array.from({ length: 20_000 }, (_, i) => `[attr]m${i} m${i + 1}`).join('\n')
  writeFileSync(file, `${chain}\n[attr]m20000 ident\n*.c m0\n`)
  expect(converting(attributes(folder, attributesEnv, '.gitattributes'), 'a.c', 'b')).toEqual(['a.c'])
})

test('[S97] wherever git sees filter, ident or an encoding, so do we', () => {
  const folder = repository('a')
  const paths = ['a', 'ab', 'a.b', 'd/a', 'd/ab', 'd/e/a', 'd e', 'b', 'A', 'd/[a]']
  const pattern = fc
    .array(
      fc.constantFrom(
        'a',
        'b',
        'd',
        'e',
        '.',
        '*',
        '**',
        '/',
        '?',
        '[ab]',
        '[!a]',
        '\\',
        '[',
        '/**/',
        '**/',
        '!',
      ),
      {
        minLength: 1,
        maxLength: 5,
      },
    )
    .map((parts) => parts.join(''))
  const state = fc.constantFrom(
    'filter=x',
    'ident',
    'working-tree-encoding=utf-16',
    '-filter',
    'text',
    'm',
    '-m',
    '!ident',
  )
  const line = fc
    .tuple(fc.constantFrom('', '', '"', '[attr]m '), pattern, fc.array(state, { maxLength: 2 }))
    .map(([start, body, states]) => `${start}${body}${start === '"' ? '"' : ''} ${states.join(' ')}\n`)
  const file = fc.array(line, { maxLength: 4 }).map((lines) => lines.join(''))
  mkdirSync(join(folder, 'd'))
  fc.assert(
    fc.property(file, file, (outer, nested) => {
      writeFileSync(join(folder, '.gitattributes'), outer)
      writeFileSync(join(folder, 'd/.gitattributes'), nested)
      const read = attributes(folder, attributesEnv, '.gitattributes', 'd/.gitattributes')
      const ours = new Set(converting(read, ...paths))
      expect(convertedByGit(folder, paths).filter((path) => !ours.has(path))).toEqual([])
    }),
    { numRuns: soak ? 5_000 : 150, interruptAfterTimeLimit: soak ? 200_000 : 4_000 },
  )
}, 300_000)

function convertedByGit(folder: string, paths: readonly string[]): readonly string[] {
  const input = paths.map((path) => `${path}\0`).join('')
  const names = ['filter', 'ident', 'working-tree-encoding']
  const fields = gitWith(folder, input, 'check-attr', '-z', '--stdin', ...names).split('\0')
  const converted = new Set<string>()
  for (let i = 0; i + 2 < fields.length; i += 3) {
    const [path = '', , value = ''] = fields.slice(i, i + 3)
    if (value !== 'unspecified' && value !== 'unset') converted.add(path)
  }
  return [...converted]
}

test('[S99] [P5] [I15] reading leaves every file of the repository as it was', () => {
  const folder = variedRepository()
  const before = stateOf(join(folder, '.git'))
  const repo = found(folder)
  readHead(repo)
  refsPointingInto(repo, 'refs/')
  operationInProgress(repo)
  readExcludes(repo, attributesEnv)
  listPacks(repo)
  TrackedFiles.read(repo)
  attributes(folder, attributesEnv)
  expect(stateOf(join(folder, '.git'))).toBe(before)
})

function stateOf(folder: string): string {
  const listed = execFileSync('find', [folder, '-printf', '%P %m %s %T@ %C@ %i\n'])
  return listed.toString().split('\n').sort().join('\n')
}
