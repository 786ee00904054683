/** The user's own commits: reading them without their config, and the one branch that a typed `--git` moves. */

import { isFailure } from '../errors.ts'
import type { AbsPath, RelPath } from '../values.ts'
import type { Git } from './git.ts'

export interface UserCommit {
  readonly id: string
  /** The first line of the message, as git decodes it. */
  readonly subject: string
}

/**
 * The commits that are reachable from `to` and from none of `from`, newest first. Read through our repository
 * with the user's objects beside it, so that no config of theirs is looked at (P10). `undefined` where we
 * cannot know: a commit is missing, or git failed.
 */
export async function listCommits(
  git: Git,
  userObjects: AbsPath,
  from: readonly string[],
  to: string,
  limit: number,
): Promise<readonly UserCommit[] | undefined> {
  if (![to, ...from].every(isId)) return undefined
  const range = [to, ...from.map((id) => `^${id}`)]
  const args = ['rev-list', '--format=%s', '--encoding=UTF-8', `--max-count=${limit}`, ...range, '--']
  const text = await answerOf(git, args, userObjects)
  return text === undefined ? undefined : parseCommits(text)
}

// Two lines for each commit: `commit <id>`, then the subject, which has no line break in it.
function parseCommits(text: string): readonly UserCommit[] {
  const lines = text.split('\n')
  const commits: UserCommit[] = []
  for (let i = 0; i + 1 < lines.length; i += 2) {
    commits.push({ id: lines[i]?.slice('commit '.length) ?? '', subject: lines[i + 1] ?? '' })
  }
  return commits
}

/** Whether one of `refs` (ids, say of remote branches) has the commit in its history: then it was pushed. */
export async function isContained(
  git: Git,
  userObjects: AbsPath,
  commit: string,
  refs: readonly string[],
): Promise<boolean> {
  // A ref whose commit is missing, as in a partial clone, must not fail the question about the others.
  const known = await existing(git, userObjects, [commit, ...refs])
  const tips = refs.filter((id) => known.has(id))
  if (!known.has(commit) || tips.length === 0) return false
  // What is left of one commit when everything the refs can reach is taken away: nothing, if they reach it.
  const input = [commit, ...tips.map((id) => `^${id}`), ''].join('\n')
  const text = await answerOf(git, ['rev-list', '--max-count=1', '--stdin'], userObjects, input)
  return text !== undefined && text.trim() === ''
}

/** What a commit has at some paths; paths that it lacks are missing. `undefined` where we cannot know. */
export async function readCommitted(
  git: Git,
  userObjects: AbsPath,
  commit: string,
  paths: readonly RelPath[],
): Promise<ReadonlyMap<RelPath, CommittedFile> | undefined> {
  if (!isId(commit)) return undefined
  const found = new Map<RelPath, CommittedFile>()
  try {
    const options = { alternates: [userObjects] }
    const wanted = new Set<string>(paths)
    // Names cannot be asked for: an argument of a program cannot hold every byte that a name can.
    const list = await git.run(['ls-tree', '-r', '-z', commit], options)
    for (const line of list.stdout.toString('latin1').split('\0')) {
      const tab = line.indexOf('\t')
      if (tab < 0 || !wanted.has(line.slice(tab + 1))) continue
      const [mode = '', kind = '', id = ''] = line.slice(0, tab).split(' ')
      if (kind !== 'blob') continue
      const { stdout } = await git.run(['cat-file', 'blob', id], options)
      found.set(line.slice(tab + 1) as RelPath, { mode, bytes: stdout })
    }
    return found
  } catch (error) {
    if (isFailure(error, 'git-failed')) return undefined
    throw error
  }
}

export interface CommittedFile {
  readonly mode: string
  readonly bytes: Buffer
}

async function existing(
  git: Git,
  userObjects: AbsPath,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const input = `${ids.filter(isId).join('\n')}\n`
  const text = await answerOf(git, ['cat-file', '--batch-check'], userObjects, input)
  const found = [...(text ?? '').matchAll(/^([0-9a-f]{40}) commit /gm)]
  return new Set(found.map((match) => match[1] ?? ''))
}

async function answerOf(
  git: Git,
  args: readonly string[],
  userObjects: AbsPath,
  input?: string,
): Promise<string | undefined> {
  try {
    const run = await git.run(args, { alternates: [userObjects], ...(input === undefined ? {} : { input }) })
    return run.stdout.toString('utf8')
  } catch (error) {
    if (isFailure(error, 'git-failed')) return undefined // told as unknown, never as "there are none"
    throw error
  }
}

/**
 * Moves a branch of the user's back, if it still points where we think: the only write to their repository
 * (P5), and only when they typed `--git`. `'moved-on'` where somebody has moved it since; it stays then.
 */
export async function moveBranch(
  git: Git,
  userGitDir: AbsPath,
  ref: string,
  from: string,
  to: string,
): Promise<'moved' | 'moved-on'> {
  const now = await git.run(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], {
    gitDir: userGitDir,
    okCodes: [0, 1],
  })
  if (now.stdout.toString('latin1').trim() !== from) return 'moved-on'
  try {
    await git.run(['update-ref', '-m', 'unturn: undo --git', ref, to, from], { gitDir: userGitDir })
    return 'moved'
  } catch (error) {
    // Somebody was faster: git compares once more under its own lock, and says what it expected.
    if (isFailure(error, 'git-failed') && /but expected/.test(error.data.stderr)) return 'moved-on'
    throw error
  }
}

function isId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text)
}
