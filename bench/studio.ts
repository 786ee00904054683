/** The page over a history of 10,000 turns: how soon it is there, and how soon it shows what has just happened. */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { findBrowser, launch } from '../e2e/studio/browser.ts'
import type { Operation, RelPath } from '../packages/core/src/index.ts'
import { IndexDb } from '../packages/core/src/log/index-db.ts'
import type { AbsPath } from '../packages/core/src/values.ts'
import { absolute, type Row } from './report.ts'
import { median } from './timing.ts'
import type { Tree } from './tree.ts'
import { loadBuilt } from './unturn.ts'

const turns = 10_000
const command = fileURLToPath(new URL('../packages/cli/dist/unturn.js', import.meta.url))
const mostPaintMs = 1_500
const mostLiveMs = 200
const restMs = 1_000

export async function studio(tree: Tree, runs: number): Promise<readonly Row[]> {
  const executable = findBrowser()
  if (executable === undefined) {
    process.stderr.write('       the page was not measured: no Chromium, Chrome or Edge is installed here\n')
    return []
  }
  const { openWorkspace, workspaceId } = await loadBuilt()
  const env = { ...tree.ground.env, UNTURN_HOME: tree.ground.place('store') }
  const open = () => openWorkspace(tree.root, { env, explicit: true })
  const folder = await prepare(await open())
  fill(folder)
  await using workspace = await open()
  using server = await serve(env)
  const browser = await launch(executable)
  try {
    const url = `${server.url}&workspace=${workspaceId(workspace.root, env)}`
    const paints: number[] = []
    for (let run = 0; run <= runs; run += 1) {
      const ms = await firstPaint(browser, url)
      if (run > 0) paints.push(ms) // the first one also opens the store
    }
    const { page, close } = await watching(browser, url)
    const session = workspace.session('long', { agent: 'bench' })
    const lives: number[] = []
    for (let run = 0; run <= runs * 2; run += 1) {
      const prompt = `Something new, number ${run} of the run`
      const seen = whenSeen(page, prompt)
      const began = Date.now()
      const turn = await session.begin({ prompt })
      if (run > 0) lives.push((await seen).at - began)
      await seen
      await turn.end()
      await pause(restMs) // an agent thinks, too: what the last turn left to do is not part of this one
    }
    await close()
    return [
      row(`first paint of ${turns} turns`, paints, mostPaintMs),
      row('a turn begins, until it is on the screen', lives, mostLiveMs),
    ]
  } finally {
    await browser.close()
  }
}

function row(work: string, all: readonly number[], most: number): Row {
  return absolute(
    { work: `studio: ${work}`, files: turns, unit: 'ms', ours: median(all), all: { Unturn: all } },
    most,
  )
}

type Built = Awaited<ReturnType<typeof loadBuilt>>
type Opened = Awaited<ReturnType<Built['openWorkspace']>>

/** One real turn; the others are made after its image. */
async function prepare(workspace: Opened): Promise<string> {
  await using opened = workspace
  await opened.capture()
  const turn = await opened.session('long', { agent: 'bench' }).begin({ prompt: 'The first of many' })
  await turn.step({ tool: 'edit', paths: [] }, () => {})
  await turn.end()
  return opened.engine.folders.folder
}

/**
 * To record ten thousand turns takes minutes, and nothing of that is measured here: they are put into the index, which is
 * what the page is made from.
 */
function fill(folder: string): void {
  using index = IndexDb.open(join(folder, 'index.db') as AbsPath)
  const [end, step, begin] = index.countedOperations({ limit: 3 }).map(({ operation }) => operation)
  const ref = [...index.refs().keys()].find((name) => name.endsWith('long'))
  if (end === undefined || step === undefined || begin === undefined || ref === undefined)
    throw new Error('the first turn was not recorded as expected')
  let parent = 'turn' in begin.record ? begin.record.turn : null
  index.atomically(() => {
    for (let at = 0; at < turns; at += 1) {
      const turn = `t${String(at).padStart(9, '0')}`
      const like = (operation: Operation, part: number, more: object): Operation => {
        const record = { ...operation.record, ...more, turn, id: `o${at}p${part}`, seq: 100 + at * 3 + part }
        return { ...operation, record } as Operation
      }
      index.project(
        like(begin, 0, { parent: { turn: parent }, prompt: `Turn ${at}: change a few lines, and say why` }),
        ref,
      )
      const changing = like(step, 1, { step: `s${at}` })
      index.project(changing, ref)
      const path = `src/file-${at % 500}.ts` as RelPath
      index.describe(changing, [{ path, kind: 'modify', additions: 3, deletions: 1, binary: false }])
      index.project(like(end, 2, {}), ref)
      parent = turn as typeof parent
    }
  })
}

async function serve(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Disposable & { readonly url: string }> {
  const child = spawn(process.execPath, [command, 'serve', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (data: Buffer) => resolve((JSON.parse(data.toString()) as { url: string }).url))
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  })
  return { url, [Symbol.dispose]: () => child.kill('SIGTERM') }
}

/** Runs in the page before anything of it. `seen` tells when something is on the screen: behind the frame that has it. */
const watcher = `
  window.seen = (isThere) => new Promise((resolve) => {
    const look = (_, observer) => {
      if (!isThere()) return
      observer?.disconnect()
      requestAnimationFrame(() => setTimeout(() => resolve({ ms: performance.now(), at: Date.now() })))
      return true
    }
    if (!look()) new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true })
  })
  window.firstTurn = window.seen(() => document.querySelector('[role=treeitem].is-turn') !== null)`

interface Seen {
  /** Since the page was asked for. */
  readonly ms: number
  readonly at: number
}

async function watching(
  browser: Browser,
  url: string,
): Promise<{ readonly page: Page; readonly paint: Seen; readonly close: () => Promise<void> }> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 820 } })
  const page = await context.newPage()
  await page.addInitScript(watcher)
  await page.goto(url)
  const paint = await page.evaluate<Seen>('window.firstTurn')
  return { page, paint, close: () => context.close() }
}

async function firstPaint(browser: Browser, url: string): Promise<number> {
  const { paint, close } = await watching(browser, url)
  await close()
  return paint.ms
}

function whenSeen(page: Page, text: string): Promise<Seen> {
  const isThere = `() => document.querySelector('[role=tree]').textContent.includes(${JSON.stringify(text)})`
  return page.evaluate<Seen>(`window.seen(${isThere})`)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
