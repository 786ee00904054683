import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { storeFixture, tempFolder, userGit } from '../testing/store-fixture.ts'
import { absPathUnchecked } from '../values.ts'
import { Git } from './git.ts'

/** Every file below a folder with its bytes, mode and time. */
function fingerprint(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const stat = lstatSync(join(folder, name))
      const hash = stat.isFile()
        ? createHash('sha1')
            .update(readFileSync(join(folder, name)))
            .digest('hex')
        : ''
      return `${name} ${stat.mode} ${stat.mtimeMs} ${hash}`
    })
}

function decoy(root: string): string {
  const folder = join(root, 'decoy')
  mkdirSync(folder)
  userGit(folder, 'init', '-q', '-b', 'main')
  writeFileSync(join(folder, 'a'), 'decoy')
  userGit(folder, 'add', 'a')
  userGit(folder, 'commit', '-q', '-m', 'decoy')
  return folder
}

/** A program that leaves a mark when it runs. */
function trap(file: string, mark: string): void {
  writeFileSync(file, `#!/bin/sh\ntouch '${mark}'\nexit 1\n`, { mode: 0o755 })
}

async function useEverything(git: Git): Promise<string> {
  const blob = (await git.run(['hash-object', '-w', '--stdin'], { input: 'ours' })).stdout.toString().trim()
  const tree = (await git.run(['mktree'], { input: `100644 blob ${blob}\ta\n` })).stdout.toString().trim()
  const commit = (await git.run(['commit-tree', '-m', 'x', tree])).stdout.toString().trim()
  await git.run(['update-ref', 'refs/unturn/x', commit])
  await git.run(['read-tree', tree])
  await git.run(['merge-tree', '--write-tree', commit, commit])
  await git.run(['diff-tree', '-r', '-p', '4b825dc642cb6eb9a060e54bf8d69288fbee4904', tree])
  return commit
}

test('[S40] [M6] git variables of the process do not reach git: that repository stays as it is', async () => {
  const root = tempFolder()
  const other = decoy(root)
  const dotGit = join(other, '.git')
  const mark = join(root, 'ran')
  trap(join(root, 'trap'), mark)
  await using f = storeFixture({
    ...process.env,
    GIT_DIR: dotGit,
    GIT_WORK_TREE: other,
    GIT_INDEX_FILE: join(dotGit, 'index'),
    GIT_OBJECT_DIRECTORY: join(dotGit, 'objects'),
    GIT_COMMON_DIR: dotGit,
    GIT_NAMESPACE: 'decoy',
    GIT_CONFIG_GLOBAL: join(root, 'config'),
    GIT_CONFIG_PARAMETERS: `'core.fsmonitor=${join(root, 'trap')}'`,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.hooksPath',
    GIT_CONFIG_VALUE_0: root,
    GIT_EXTERNAL_DIFF: join(root, 'trap'),
    GIT_EXEC_PATH: root,
    GIT_TRACE: join(root, 'trace'),
    HOME: root,
    XDG_CONFIG_HOME: root,
  })
  const before = fingerprint(dotGit)
  const commit = await useEverything(f.git)
  expect(fingerprint(dotGit)).toEqual(before)
  expect(existsSync(mark)).toBe(false)
  expect(existsSync(join(root, 'trace'))).toBe(false)
  expect(readFileSync(join(f.git.folder, 'refs/unturn/x'), 'utf8').trim()).toBe(commit)
  rmSync(root, { recursive: true })
})

test('[S41] [M4] [P10] hooks, monitors, filters and diff programs in the config do not run', async () => {
  await using f = storeFixture()
  const mark = join(f.root, 'ran')
  const program = join(f.root, 'trap')
  trap(program, mark)
  mkdirSync(join(f.root, 'hooks'))
  for (const hook of ['reference-transaction', 'post-index-change', 'update'])
    trap(join(f.root, 'hooks', hook), mark)
  mkdirSync(join(f.git.folder, 'hooks'), { recursive: true })
  cpSync(join(f.root, 'hooks'), join(f.git.folder, 'hooks'), { recursive: true })
  const settings = [
    ['core.hooksPath', join(f.root, 'hooks')],
    ['core.fsmonitor', program],
    ['core.pager', program],
    ['core.attributesFile', join(f.root, 'attributes')],
    ['diff.external', program],
    ['diff.x.textconv', program],
    ['diff.x.command', program],
    ['merge.x.driver', `${program} %A`],
    ['filter.x.clean', program],
  ]
  for (const [name, value] of settings) userGit(f.git.folder, 'config', name ?? '', value ?? '')
  writeFileSync(join(f.root, 'attributes'), '* diff=x merge=x filter=x\n')
  await useEverything(f.git)
  expect(existsSync(mark)).toBe(false)
})

test('[S42] [M4] a git that lies in the current folder, or on a relative PATH, never runs', async () => {
  const root = tempFolder()
  const workspace = join(root, 'workspace')
  mkdirSync(join(workspace, 'bin'), { recursive: true })
  const mark = join(root, 'ran')
  trap(join(workspace, 'git'), mark)
  trap(join(workspace, 'bin', 'git'), mark)
  const script = `
    import { Git } from ${JSON.stringify(fileURLToPath(new URL('./git.ts', import.meta.url)))}
    const git = new Git({ folder: process.argv[1], env: process.env })
    console.log((await git.version()).length)`
  const path = `:.:bin:${relative(workspace, join(workspace, 'bin'))}:${process.env.PATH}`
  await using f = storeFixture()
  trap(join(f.git.folder, 'git'), mark)
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script, f.git.folder], {
    cwd: workspace,
    env: { ...process.env, PATH: path },
    encoding: 'utf8',
  })
  expect(out).toBe('2\n')
  expect(existsSync(mark)).toBe(false)
  rmSync(root, { recursive: true })
})

test('[S42] [M4] a git below the workspace never runs, not even when the PATH names it in full or through a link', async () => {
  await using f = storeFixture()
  const workspace = join(f.root, 'workspace')
  const bin = join(workspace, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(bin, join(f.root, 'link'))
  const mark = join(f.root, 'ran')
  trap(join(bin, 'git'), mark)
  const env = { PATH: `${bin}:${join(f.root, 'link')}:${process.env.PATH}` }
  await new Git({ folder: f.git.folder, env, avoid: absPathUnchecked(workspace) }).version()
  expect(existsSync(mark)).toBe(false)
})

test.each([{}, { PATH: '' }, { PATH: '.:bin' }, { PATH: '/nonexistent' }])(
  '[S43] without a git on the PATH the error says what to install: %j',
  async (env) => {
    await using f = storeFixture(env)
    await expect(f.git.run(['version'])).rejects.toMatchObject({
      code: 'git-missing',
      hint: expect.stringContaining('https://git-scm.com'),
    })
  },
)

test('[S43] a git that is too old is refused with its version', async () => {
  await using f = storeFixture()
  const bin = join(f.root, 'bin')
  mkdirSync(bin)
  const versionOf = (text: string) => {
    writeFileSync(join(bin, 'git'), `#!/bin/sh\necho 'git version ${text}'\n`)
    chmodSync(join(bin, 'git'), 0o755)
    return new Git({ folder: f.git.folder, env: { PATH: bin } }).version()
  }
  await expect(versionOf('2.37.7')).rejects.toMatchObject({
    code: 'git-missing',
    message: expect.stringContaining('2.37.7'),
  })
  await expect(versionOf('1.99.0')).rejects.toMatchObject({ code: 'git-missing' })
  await expect(versionOf('2.38.0')).resolves.toEqual([2, 38])
  await expect(versionOf('2.39.5 (Apple Git-154)')).resolves.toEqual([2, 39])
  await expect(versionOf('3.0.1.windows.1')).resolves.toEqual([3, 0])
})

test('[S44] a failure carries the command, the exit code and what git said; an expected exit code is an answer', async () => {
  await using f = storeFixture()
  await expect(f.git.run(['cat-file', '-p', 'nothing'])).rejects.toMatchObject({
    code: 'git-failed',
    data: { command: 'git cat-file', exitCode: 128, stderr: expect.stringContaining('nothing') },
  })
  const run = await f.git.run(['rev-parse', '--verify', '--quiet', 'nothing'], { okCodes: [0, 1] })
  expect(run.exitCode).toBe(1)
})

test('[S44] more input than git reads is no failure of its own', async () => {
  await using f = storeFixture()
  const run = await f.git.run(['version'], { input: Buffer.alloc(1_000_000) })
  expect(run.exitCode).toBe(0)
})

test('[S45] one git answers many questions, one after the other', async () => {
  await using f = storeFixture()
  const echo = f.git.coprocess(['diff-tree', '--stdin'])
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((text) => echo.exchange(`${text}\nend ${text}\n`, `end ${text}\n`)),
  )
  expect(answers.map(String)).toEqual(['a\n', 'b\n', 'c\n'])
})

test('[S45] a git that ended is an error for the question that was open, and the next one gets a new git', async () => {
  await using f = storeFixture()
  const checker = f.git.coprocess(['cat-file', '--batch-check=%(nonsense)'])
  await expect(checker.exchange('HEAD\n', 'never')).rejects.toMatchObject({ code: 'git-failed' })
  const echo = f.git.coprocess(['diff-tree', '--stdin'])
  await echo.exchange('end\n', 'end\n')
  echo.stop()
  expect(String(await echo.exchange('again\nend\n', 'end\n'))).toBe('again\n')
})

test('[S46] an idle git does not keep a program from ending', async () => {
  await using f = storeFixture()
  const script = `
    import { Git } from ${JSON.stringify(fileURLToPath(new URL('./git.ts', import.meta.url)))}
    const git = new Git({ folder: process.argv[1], env: process.env })
    const echo = git.coprocess(['diff-tree', '--stdin'])
    console.log(String(await echo.exchange('a\\nend\\n', 'end\\n')))
    console.log(String(await echo.exchange('b\\nend\\n', 'end\\n')))`
  const options = { encoding: 'utf8', timeout: 20_000 } as const
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', script, f.git.folder], options)).toBe(
    'a\n\nb\n\n',
  )
})

test('[S46] after the end, questions are refused instead of waiting for ever', async () => {
  await using f = storeFixture()
  const echo = f.git.coprocess(['diff-tree', '--stdin'])
  await echo.exchange('end\n', 'end\n')
  await f.git[Symbol.asyncDispose]()
  await expect(echo.exchange('end\n', 'end\n')).rejects.toMatchObject({ code: 'git-failed' })
})

test('[S47] object folders with a colon, a quote or bytes that are not UTF-8 can be read from', async () => {
  await using f = storeFixture()
  for (const name of ['a:b"c\\d', 'n\xc3\xa9', '\xff\xfe']) {
    const folder = Buffer.from(join(f.root, name), 'latin1')
    mkdirSync(folder)
    cpSync(f.git.folder, join(f.root, 'other'), { recursive: true })
    const blob = (
      await new Git({ folder: absPathUnchecked(join(f.root, 'other')), env: process.env }).run(
        ['hash-object', '-w', '--stdin'],
        { input: name },
      )
    ).stdout
      .toString()
      .trim()
    const place = `${blob.slice(0, 2)}`
    mkdirSync(Buffer.concat([folder, Buffer.from(`/${place}`)]))
    const bytes = readFileSync(join(f.root, 'other', 'objects', place, blob.slice(2)))
    writeFileSync(Buffer.concat([folder, Buffer.from(`/${place}/${blob.slice(2)}`)]), bytes)
    const run = await f.git.run(['cat-file', 'blob', blob], {
      alternates: [absPathUnchecked(folder.toString('latin1'))],
    })
    expect(run.stdout.toString('latin1')).toBe(name)
  }
})

test('[S47] a store folder whose name is not UTF-8 is refused with a word of what to do', () => {
  expect(() => new Git({ folder: absPathUnchecked('/tmp/\xff'), env: process.env })).toThrow(
    expect.objectContaining({ code: 'store-unsafe', hint: expect.stringContaining('UNTURN_HOME') }),
  )
})
