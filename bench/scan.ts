/**
 * How long a scan takes, beside `git status` in the same tree. Run: npx node bench/scan.ts [files] [folders]
 * Prints medians in milliseconds.
 */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { absPathUnchecked, type BlobId, type RelPath } from '../packages/core/src/values.ts'
import { bytesOfPaths, captureRules, packTracked } from '../packages/core/src/workspace/capture-rules.ts'
import { readContents } from '../packages/core/src/workspace/content.ts'
import { Scanner } from '../packages/core/src/workspace/scan.ts'
import { StatCache } from '../packages/core/src/workspace/stat-cache.ts'

const files = Number(process.argv[2] ?? 100_000)
const folders = Number(process.argv[3] ?? 5000)
const runs = 5

const base = mkdtempSync(join(tmpdir(), 'unturn-bench-'))
const root = join(base, 'tree')
const env = { PATH: process.env.PATH, HOME: base, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
const git = (...args: readonly string[]) =>
  execFileSync('git', args, { cwd: root, env, maxBuffer: 1 << 30 }).toString('latin1')

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}

async function timed(name: string, work: (run: number) => unknown, times = runs): Promise<number> {
  const taken: number[] = []
  for (let run = 0; run < times; run++) {
    const start = performance.now()
    await work(run)
    taken.push(performance.now() - start)
  }
  const middle = median(taken)
  console.log(
    `${name.padEnd(58)} ${middle.toFixed(0).padStart(7)}   (${taken.map((ms) => ms.toFixed(0)).join(' ')})`,
  )
  return middle
}

function pathOf(file: number): string {
  const folder = file % folders
  return `d${folder % 50}/e${Math.floor(folder / 50) % 10}/f${folder}/file-${file}.ts`
}

function makeTree(): void {
  mkdirSync(root)
  for (let file = 0; file < files; file++) {
    const path = join(root, pathOf(file))
    if (file < folders) mkdirSync(join(path, '..'), { recursive: true })
    let text = `// ${file}\n`
    while (text.length < 2048)
      text += `export const value${text.length} = ${(file * 31 + text.length * 7) % 9973}\n`
    writeFileSync(path, text.slice(0, 2048))
  }
  writeFileSync(join(root, '.gitignore'), '*.log\nnode_modules/\n/dist\n*.tmp\n')
}

function touchTen(run: number): void {
  for (let i = 0; i < 10; i++)
    writeFileSync(join(root, pathOf((i * 7919 + run * 13) % files)), `${run} ${i}`.padEnd(2048))
}

try {
  makeTree()
  git('init', '-q')
  const status = async (name: string) => timed(name, () => git('status', '--porcelain'))
  const add = await timed('git add -A, first', () => git('add', '-A'), 1)
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'all')
  await new Promise((resolve) => setTimeout(resolve, 3000))
  git('status', '--porcelain')
  const reference = await status('git status')

  const tracked = packTracked(bytesOfPaths(git('ls-files', '-z').split('\0').filter(Boolean) as RelPath[]))
  await timed('packTracked', () =>
    packTracked(bytesOfPaths(git('ls-files', '-z').split('\0').filter(Boolean) as RelPath[])),
  )
  const place = absPathUnchecked(root)
  for (const [name, rules] of [
    ['no index', captureRules()],
    ['with index', captureRules({ tracked })],
  ] as const) {
    await timed(`cold scan, new scanner, ${name}`, async () => {
      await using cold = new Scanner(place)
      await cold.scan(StatCache.empty(), rules)
    })
    await using warmed = new Scanner(place)
    await timed(`cold scan, warm thread, ${name}`, async () => warmed.scan(StatCache.empty(), rules))
  }

  const rules = captureRules({ tracked })
  const cache = StatCache.empty()
  await using scanner = new Scanner(place)
  const first = await scanner.scan(cache, rules)
  const seen: { seen: (typeof first.changed)[number]; blob: BlobId }[] = []
  let bytes = 0
  const read = await timed(
    'read, hash and deflate all',
    async () => {
      const has = new Set<BlobId>()
      const contents = await readContents(scanner, first.changed, {
        has: (blob) => has.has(blob),
        addDeflated: (_, id, __, deflated) => {
          has.add(id)
          bytes += deflated.length
        },
      })
      for (const content of contents) if ('blob' in content) seen.push(content)
    },
    1,
  )
  await timed('settle all', () => scanner.settle(cache, seen, first.gone, first), 1)
  await timed('weave all', () => cache.compact(), 1)
  const file = absPathUnchecked(join(base, 'stat-cache'))
  await timed('write cache', () => cache.write(file))
  await timed('read cache', () => StatCache.read(file))
  console.log(
    `cache file ${(statSync(file).size / 1e6).toFixed(1)} MB, deflated ${(bytes / 1e6).toFixed(1)} MB`,
  )
  await timed('warm scan, nothing changed', async () => scanner.scan(cache, rules))
  const warm = await timed(
    'warm scan, 10 changed (with their writing)',
    async (run) => {
      touchTen(run)
      await scanner.scan(cache, rules)
    },
    9,
  )
  await timed('warm scan, 10 changed, read, settled', async (run) => {
    touchTen(run + 100)
    const scan = await scanner.scan(cache, rules)
    const contents = await readContents(scanner, scan.changed, {
      has: () => false,
      addDeflated: () => undefined,
    })
    scanner.settle(
      cache,
      contents.filter((content) => 'blob' in content),
      scan.gone,
      scan,
    )
  })
  await timed('warm scan after one file was added, read, settled', async (run) => {
    writeFileSync(join(root, `d1/new-${run}.ts`), 'new')
    const scan = await scanner.scan(cache, rules)
    const contents = await readContents(scanner, scan.changed, {
      has: () => false,
      addDeflated: () => undefined,
    })
    scanner.settle(
      cache,
      contents.filter((content) => 'blob' in content),
      scan.gone,
      scan,
    )
  })
  await timed('warm scan, new scanner (thread starts), cache read from disk', async () => {
    await using own = new Scanner(place)
    await own.scan(StatCache.read(file) ?? StatCache.empty(), rules)
  })
  await timed('full scan of a known tree (rules changed)', async (run) => {
    await scanner.scan(cache, captureRules({ tracked, maxUntrackedFileSize: 1e6 + run }))
  })
  const again = await status('git status again')
  const git2 = Math.min(reference, again)
  console.log(`warm / git status ${(warm / git2).toFixed(2)}, reading / git add ${(read / add).toFixed(2)}`)
} finally {
  rmSync(base, { recursive: true })
}
