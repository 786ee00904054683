/** `propose` and `proposals`: changes that are offered and not on disk. */

import { readFileSync } from 'node:fs'
import { type ProposalResult, resolveTurn, reviewJson, shown, visible } from '@unturn/core'
import { type Command, type Context, UsageError } from '../command.ts'
import { ago, counted } from '../words.ts'
import { typedPaths } from './recording.ts'
import { counts } from './review-text.ts'

export const proposeCommand: Command = {
  name: 'propose',
  group: 'Review',
  usage: 'propose --turn T --file P (--content-file F | --delete) [--group G] [--executable]',
  summary: 'offer a change without writing it: pending until it is accepted',
  options: [
    { name: 'turn', value: 'ID', help: 'the turn that offers it' },
    { name: 'file', value: 'PATH', help: 'the file that it is about' },
    { name: 'content-file', value: 'FILE', help: 'what the file is to be (- for standard input)' },
    { name: 'delete', help: 'the file is to be gone' },
    { name: 'group', value: 'NAME', help: 'accepted or rejected together with others of that name' },
    { name: 'executable', help: 'the file is to be executable' },
  ],
  run: async (context) => {
    const { args } = context
    const typedTurn = args.require('turn')
    const typedFile = args.require('file')
    const content = contentOf(context)
    const group = args.get('group')
    const workspace = await context.workspace()
    const [path] = typedPaths(context, workspace, [typedFile])
    if (path === undefined) throw new UsageError('--file is missing')
    const { proposal, op, session } = await workspace.propose({
      turn: resolveTurn(workspace.engine, context.session(workspace), typedTurn),
      path,
      content,
      ...(group === undefined ? {} : { group }),
      ...(args.has('executable') ? { executable: true } : {}),
    })
    if (context.wantsJson) context.terminal.json({ proposal, op, session })
    else
      context.terminal.line(
        `Proposed ${content === null ? 'to delete' : 'a change of'} ${shown(path)} as ${proposal}; nothing was written. See it with: unturn review --file ${visible(typedFile)}`,
      )
    return 0
  },
}

function contentOf({ args }: Context): Buffer | null {
  const file = args.get('content-file')
  if ((file === undefined) !== args.has('delete'))
    throw new UsageError('give --content-file with what the file is to be, or --delete')
  if (file === undefined) return null
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new UsageError(`the content file ${JSON.stringify(file)} cannot be read${why}`)
  }
}

export const proposalsCommand: Command = {
  name: 'proposals',
  group: 'Review',
  usage: 'proposals',
  summary: 'list what is proposed and neither accepted nor rejected',
  options: [],
  run: async (context) => {
    const workspace = await context.knownWorkspace()
    const session = workspace === undefined ? undefined : context.session(workspace)
    const review =
      workspace === undefined || session === undefined
        ? undefined
        : reviewJson(workspace.engine, await workspace.review(session))
    const proposals = review?.proposals ?? []
    if (context.wantsJson) context.terminal.json({ session: session ?? null, proposals })
    else tell(context, proposals)
    return 0
  },
}

const actions: Readonly<Record<ProposalResult['action'], string>> = {
  create: 'create',
  modify: 'change',
  delete: 'delete',
}

function tell({ terminal }: Context, proposals: readonly ProposalResult[]): void {
  if (proposals.length === 0) return terminal.line('Nothing is proposed.')
  for (const proposal of proposals) {
    const { id, action, path, group, agent, turn, at, contested } = proposal
    const by = [agent === null ? '' : visible(agent), turn, ago(Date.parse(at), Date.now())].filter(
      (word) => word !== '',
    )
    const marks = [
      group === undefined ? '' : `group ${visible(group)}`,
      contested ? terminal.style('yellow', 'contested') : '',
    ].filter((mark) => mark !== '')
    terminal.line(
      `${terminal.style('yellow', id)}  ${actions[action]} ${terminal.style('bold', visible(path))}  ${counts(proposal, terminal)}  ${terminal.style('dim', by.join(', '))}${marks.length === 0 ? '' : `  ${marks.join('  ')}`}`,
    )
  }
  const hunks = proposals.reduce((count, proposal) => count + proposal.hunks.length, 0)
  terminal.line(
    `${counted(proposals.length, 'proposal')} with ${counted(hunks, 'hunk')}, not on disk. See them with: unturn review`,
  )
}
