/** `review`: what is pending, as a diff with ids, as JSON, or hunk by hunk. */

import {
  narrowedReview,
  nothingPending,
  type ReviewResult,
  resolveTurn,
  reviewJson,
  type SessionId,
  visible,
  type Workspace,
} from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { counted } from '../words.ts'
import { typedPaths } from './recording.ts'
import { fileText, ShortIds, statLines, summaryLine } from './review-text.ts'

export const reviewCommand: Command = {
  name: 'review',
  group: 'Review',
  usage: 'review [--file P]… [--turn T]… [--agent NAME]… [--stat | --interactive]',
  summary: 'what agents changed and nobody has accepted or rejected yet, hunk by hunk',
  details:
    'Each hunk has an id for "unturn accept" and "unturn reject". Your own edits are no hunks. What you commit in git\ncounts as accepted. --json also has what was rejected, with your comments, to hand to the agent.',
  options: [
    { name: 'file', value: 'PATH', repeats: true, help: 'only this file, or all below a folder' },
    { name: 'turn', value: 'ID', repeats: true, help: 'only what this turn changed' },
    { name: 'agent', value: 'NAME', repeats: true, help: 'only what this agent changed' },
    { name: 'stat', help: 'only count, by file' },
    { name: 'interactive', short: 'i', help: 'decide hunk by hunk with single keys (-i)' },
  ],
  run: async (context) => {
    const { args } = context
    if (args.has('interactive')) refuseWithoutTerminal(context)
    const workspace = await context.knownWorkspace()
    const session = workspace === undefined ? undefined : context.session(workspace)
    if (workspace === undefined || session === undefined) return tellNothing(context, undefined, undefined)
    if (args.has('interactive')) {
      const { interactiveReview } = await import('./review-interactive.ts')
      return interactiveReview(context, workspace, session, selectionOf(context, workspace, session))
    }
    const view = await workspace.review(session)
    const all = reviewJson(workspace.engine, view)
    const narrow = narrowedReview(workspace.engine, view, selectionOf(context, workspace, session))
    const review = reviewJson(workspace.engine, narrow)
    if (context.wantsJson) context.terminal.json(review)
    else if (review.pending === 0) return tellNothing(context, workspace, all)
    else tell(context, workspace, review, all)
    return 0
  },
}

function refuseWithoutTerminal({ args, wantsJson }: Context): void {
  if (wantsJson || args.has('stat'))
    throw new UsageError('--interactive is for people; leave out --json and --stat')
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true)
    throw new UsageError(
      '--interactive needs a terminal. Without one use "unturn review --json", then "unturn accept" or "unturn reject" with --hunk ID',
    )
}

function selectionOf(context: Context, workspace: Workspace, session: SessionId) {
  const { args } = context
  return {
    paths: typedPaths(context, workspace, args.all('file')),
    turns: args.all('turn').map((id) => resolveTurn(workspace.engine, session, id)),
    agents: args.all('agent'),
  }
}

function tell(
  { terminal, args }: Context,
  workspace: Workspace,
  review: ReviewResult,
  all: ReviewResult,
): void {
  const ids = new ShortIds(all)
  if (args.has('stat')) for (const line of statLines(review, terminal)) terminal.line(line)
  else for (const file of review.files) terminal.line(`${fileText(file, ids, terminal).join('\n')}\n`)
  const others = all.pending - review.pending
  const more = others === 0 ? '' : `; ${counted(others, 'other hunk')} pending`
  terminal.line(`${summaryLine(review, terminal)}${more}${inSession(workspace, review.session)}`)
  terminal.line(
    terminal.style(
      'dim',
      'Next: unturn accept or unturn reject, with --hunk ID, --file PATH, --turn ID or --all; one by one: unturn review -i',
    ),
  )
  tellRejected(terminal, all)
}

function inSession({ index }: Workspace, session: SessionId | null): string {
  return session === null || index.sessions().length < 2 ? '' : `, session ${visible(session)}`
}

function tellRejected(terminal: Context['terminal'], { rejected }: ReviewResult): void {
  const comments = rejected.filter(({ comment }) => comment !== undefined).length
  if (comments === 0) return
  const words = `${counted(comments, 'rejected hunk has', 'rejected hunks have')} a comment for the agent`
  terminal.line(terminal.style('dim', `${words}: unturn review --json`))
}

/** Nothing to see is no failure. Where there is something elsewhere, it is told. */
async function tellNothing(
  context: Context,
  workspace: Workspace | undefined,
  all: ReviewResult | undefined,
): Promise<number> {
  const { terminal } = context
  if (context.wantsJson) {
    terminal.json(nothingPending)
    return 0
  }
  if (all !== undefined && all.pending > 0)
    terminal.line(
      `No pending hunk matches; ${counted(all.pending, 'hunk is', 'hunks are')} pending: unturn review`,
    )
  else terminal.line('Nothing is pending: no agent has changed anything that is not accepted or rejected.')
  if (workspace !== undefined && all !== undefined) await tellOtherSessions(terminal, workspace, all.session)
  if (all !== undefined) tellRejected(terminal, all)
  return 0
}

async function tellOtherSessions(
  terminal: Context['terminal'],
  workspace: Workspace,
  session: SessionId | null,
): Promise<void> {
  for (const { id } of workspace.index.sessions()) {
    if (id === session) continue
    const pending = await workspace.countPending(id)
    if (pending > 0)
      terminal.line(
        `${counted(pending, 'hunk is', 'hunks are')} pending in session ${visible(id)}: unturn review --session ${visible(id)}`,
      )
  }
}
