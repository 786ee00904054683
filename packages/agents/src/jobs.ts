/**
 * Jobs that an agent's commands leave running. What such a job writes when the turn is over belongs to the turn, and nobody
 * announces it; but the user writes at the same time. So two things must be known: that a job of the turn was running when
 * the turn ended, and that its command says of the file that it writes it. Everything else is the user's.
 */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { resolve } from 'node:path'

export interface Process {
  readonly pid: number
  /** When it was started, in ticks since the system was: another process may get the same number. */
  readonly started: string
}

export interface Job {
  /** In the environment of the job, as `NAME=value`: what the agent gives to its commands. */
  readonly mark: string
  /** Where the mark says nothing about which conversation it is, the job must at least stand in here. */
  readonly inside?: string
}

/** Only Linux lets us look at the environment of a process without starting another one. */
const processes = '/proc'
const ticksPerSecond = 100

/** Processes with one of these marks that were started since then and still run; none of our own. */
export function findJobs(jobs: readonly Job[], sinceMs: number, nowMs: number): readonly Process[] {
  if (process.platform !== 'linux' || jobs.length === 0) return []
  const uptime = Number(readQuietly(`${processes}/uptime`).split(' ')[0])
  const sinceTicks = (uptime - (nowMs - sinceMs) / 1000) * ticksPerSecond
  return namesIn(processes)
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const started = startOf(Number(name))
      if (started === undefined || Number(started) < sinceTicks - ticksPerSecond / 10) return []
      return isOneOf(name, jobs) && !isOurs(name) ? [{ pid: Number(name), started }] : []
    })
}

export function isRunning({ pid, started }: Process): boolean {
  return startOf(pid) === started
}

function isOneOf(name: string, jobs: readonly Job[]): boolean {
  const environment = `\0${readQuietly(`${processes}/${name}/environ`)}`
  return jobs.some(({ mark, inside }) => {
    if (!environment.includes(`\0${mark}\0`)) return false
    const cwd = inside === undefined ? '' : linkQuietly(`${processes}/${name}/cwd`)
    return inside === undefined || cwd === inside || cwd.startsWith(`${inside}/`)
  })
}

// Hooks and the attendant are started by the agent as well, and have its marks.
function isOurs(name: string): boolean {
  const [, ...words] = readQuietly(`${processes}/${name}/cmdline`).split('\0')
  return words.includes('hook') || / hook [a-z-]+ /.test(words.join(' '))
}

/** The 22nd field; the second, the program's name, may hold anything. A process that has ended and waits to be buried: none. */
function startOf(pid: number): string | undefined {
  const stat = readQuietly(`${processes}/${pid}/stat`)
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : fields[19]
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return '' // it has ended, or is somebody else's
  }
}

function linkQuietly(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

// ---- what a command says that it writes --------------------------------------------------------------------------------

const redirected = /(?:&>>?|>>?\|?)\s*("[^"]*"|'[^']*'|[^\s;|&<>()]+)/g
const writing =
  /(?:^|[;&|(\n'"]|\b(?:do|then|else|exec|sudo)\b)\s*(?:tee|touch|cp|mv|rm|ln|chmod|truncate|sed\s+-i\S*)\s+([^;|&<>()\n]*)/g
const output = /(?:^|\s)(?:-o|--out|--outfile|--output)(?:=|\s+)("[^"]*"|'[^']*'|[^\s;|&<>()]+)/g
const most = 50

/**
 * The files that a command plainly says it writes: where it sends output to, and what it copies, moves, touches or removes.
 * A file that is only named, such as the script of a server, is left out: that is what the user goes on to edit.
 */
export function filesWrittenBy(command: string, cwd: string): readonly string[] {
  const words = [
    ...[...command.matchAll(redirected)].map((match) => match[1] ?? ''),
    ...[...command.matchAll(writing)].flatMap((match) => (match[1] ?? '').split(/\s+/)),
    ...[...command.matchAll(output)].map((match) => match[1] ?? ''),
  ]
  const names = words.map((word) => word.replace(/^["']|["']$/g, '')).filter(isName)
  return [...new Set(names)].slice(0, most).map((name) => resolve(cwd, name))
}

// Nothing that a shell would still have to work out.
function isName(word: string): boolean {
  return word !== '' && !word.startsWith('-') && !word.startsWith('/dev/') && !/[$*?`[\]{}~=]/.test(word)
}
