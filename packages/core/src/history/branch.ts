/** The typed `--git`: the one case in which the user's repository is written, and only a branch, and only back (P5). */

import type { GitPosition } from '../log/record.ts'
import type { TurnRow } from '../log/rows.ts'
import { isContained, moveBranch } from '../store/user-commits.ts'
import { operationInProgress, readHead, readRef, refsPointingInto, type UserGit } from '../store/user-git.ts'
import { joinAbs } from '../values.ts'
import type { Engine } from './engine.ts'
import type { BranchOutcome } from './outcome.ts'
import type { TurnTree, Way } from './points.ts'

/** Moves the branch back over the commits that the undone turns made, or says why not. The files are undone either way. */
export async function moveUserBranch(engine: Engine, tree: TurnTree, way: Way): Promise<BranchOutcome> {
  const git = engine.user.find()
  if (git === undefined) return stays('this workspace has no git repository that Unturn can read')
  const turns = committingTurns(tree, way)
  const span = commitSpan(turns)
  if (span === undefined) return stays('the undone turns made no commits')
  const { from, to, branch } = span
  if (branch === undefined)
    return stays('the commits were made on a detached HEAD, so there is no branch to move')
  if (from === undefined)
    return stays('the undone turns made the first commit; there is nothing to move the branch back to')
  if (!areUnbroken(turns)) return stays('other commits, or another branch, came in between the turns')
  const refusal = await whyNot(engine, git, branch, to)
  if (refusal !== undefined) return stays(refusal)
  const moved = await moveBranch(engine.git, git.gitDir, branch, to, from)
  return moved === 'moved' ? { moved: true, branch, from: to, to: from } : stays(movedOn(branch))
}

interface Span {
  /** Where the branch stood before the oldest undone turn. */
  readonly from: string | undefined
  /** Where the newest undone turn left it. */
  readonly to: string
  readonly branch: string | undefined
}

/** Newest first. */
function committingTurns(tree: TurnTree, way: Way): readonly TurnRow[] {
  return way.out.flatMap((leg) => tree.turns.get(leg.turn) ?? []).filter((turn) => turn.commits.length > 0)
}

// Each turn on the branch it found, each where the one before it ended: else the branch would be moved back over
// commits of somebody else, or a branch that was only checked out would lose its own.
function areUnbroken(turns: readonly TurnRow[]): boolean {
  return turns.every(({ gitBefore, gitAfter }, at) => {
    const older = turns[at + 1]?.gitAfter
    return gitBefore?.branch === gitAfter?.branch && (older === undefined || older.head === gitBefore?.head)
  })
}

function commitSpan(turns: readonly TurnRow[]): Span | undefined {
  const newest = turns[0]
  const oldest = turns.at(-1)
  const after: GitPosition | undefined = newest?.gitAfter
  if (newest === undefined || oldest === undefined || after?.head === undefined) return undefined
  return { from: oldest.gitBefore?.head, to: after.head, branch: after.branch }
}

async function whyNot(
  engine: Engine,
  git: UserGit,
  branch: string,
  tip: string,
): Promise<string | undefined> {
  const busy = operationInProgress(git)
  if (busy !== undefined) return `a ${busy} is in progress`
  if (readHead(git).branch !== branch) return `the branch ${branch} is not checked out any more`
  if (readRef(git, branch) !== tip) return movedOn(branch)
  const remotes = [...refsPointingInto(git, 'refs/remotes/').values()]
  const pushed = await isContained(engine.git, joinAbs(git.commonDir, 'objects'), tip, remotes)
  return pushed ? 'the commits have been pushed' : undefined
}

function movedOn(branch: string): string {
  return `the branch ${branch} has moved on since`
}

function stays(reason: string): BranchOutcome {
  return { moved: false, reason }
}
