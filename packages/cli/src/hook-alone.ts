/** A hook without an attendant: it opens the store itself, and starts an attendant for the next one. */

import { spawn } from 'node:child_process'
import { attend, catchUp, deskFolder, findTeller, hear, readHttpPlace } from '@unturn/agents'
import { agentAbove, type Call, print, stampOf } from './hook.ts'
import { startGcIfDue } from './housekeeping.ts'
import { ServerHints } from './server-hints.ts'

export async function answerAlone(
  { agent, event, payload, env: told, untilMs }: Call,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const installedFor = findTeller(agent)
  // A name that only a newer Unturn knows.
  if (installedFor === undefined) return
  const answered = await hear(
    { installedFor, event, payload, env: told },
    {
      desk: deskFolder(env),
      env,
      budgetMs: untilMs - performance.now(),
      afterTurn: startGcIfDue,
      watch: new ServerHints(env).watch,
    },
  )
  await print(answered.answer)
  try {
    answered.told()
  } catch {
    // then the agent is told once more: better than never
  }
  if (answered.outcome === 'spooled') startInBackground('--catch-up', env)
  else if (answered.outcome === 'delivered') startInBackground('--attend', env)
}

// What did not fit into the time of a hook is done by a process that nobody waits for: the first look at a large project,
// for instance, would never fit.
function startInBackground(what: '--catch-up' | '--attend', env: NodeJS.ProcessEnv): void {
  const script = process.argv[1]
  if (script === undefined || env.UNTURN_HOOK_BACKGROUND === '0') return
  const child = spawn(process.execPath, [script, 'hook', what], {
    cwd: '/',
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => {}) // the next hook, or command, tries again
  child.unref()
}

export async function catchUpAlone(env: NodeJS.ProcessEnv): Promise<void> {
  await catchUp({ desk: deskFolder(env), env, patienceMs: 600_000 })
}

const idleMs = 2 * 60_000
/** Nobody starts it for a call over HTTP: it must still be there after a long thought. */
const idleWithHttpMs = 12 * 60 * 60_000

export async function attendAgents(env: NodeJS.ProcessEnv, stamp: string): Promise<void> {
  const wanted = Number(env.UNTURN_HOOK_IDLE_MS)
  const hints = new ServerHints(env)
  await attend({
    env,
    stamp,
    stampOf,
    agentAbove,
    idleMs: wanted > 0 ? wanted : readHttpPlace(deskFolder(env)) === undefined ? idleMs : idleWithHttpMs,
    watch: hints.watch,
    afterTurn: (workspace) => {
      startGcIfDue(workspace)
      hints.startServerIfSlow(workspace)
    },
  })
}
