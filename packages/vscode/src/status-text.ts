/** The words of the status bar. */

import type { Session } from '@unturn/client'
import type { RootState } from './root.ts'
import { counted, promptLine, withoutIcons } from './words.ts'

export interface StatusFacts {
  readonly state: RootState
  readonly trouble: string | undefined
  readonly session: Pick<Session, 'agent' | 'reverted' | 'running' | 'turns' | 'head'> | undefined
  /** The prompt of the head turn. */
  readonly head: string | undefined
  readonly pending: number
}

export interface StatusText {
  readonly text: string
  readonly tooltip: string
  readonly isBad: boolean
}

export function statusText(facts: StatusFacts): StatusText {
  switch (facts.state) {
    case 'connecting':
      return { text: '$(loading~spin) Unturn', tooltip: 'Unturn: connecting …', isBad: false }
    case 'offline':
      return {
        text: '$(debug-disconnect) Unturn',
        tooltip: facts.trouble ?? 'The Unturn server does not answer.',
        isBad: true,
      }
    case 'empty':
      return {
        text: '$(discard) Unturn',
        tooltip: 'Nothing has been recorded in this folder yet.',
        isBad: false,
      }
    case 'connected':
      return connectedText(facts)
  }
}

function connectedText({ session, head, pending }: StatusFacts): StatusText {
  if (session === undefined)
    return { text: '$(discard) Unturn', tooltip: 'No agent has worked here yet.', isBad: false }
  const undone = session.reverted.length
  const isRunning = session.running.length > 0
  const where = session.head === null ? 'before the first turn' : withoutIcons(promptLine(head, 28))
  const text = [
    where,
    ...(undone === 0 ? [] : [`${undone} undone`]),
    ...(pending === 0 ? [] : [`${pending} to review`]),
  ].join(' · ')
  const tooltip = [
    session.head === null
      ? 'Your files stand before the first turn.'
      : `Your files stand after: ${promptLine(head, 200)}`,
    ...(undone === 0 ? [] : [`${counted(undone, 'turn is', 'turns are')} undone, and can be redone.`]),
    ...(pending === 0 ? [] : [`${counted(pending, 'hunk waits', 'hunks wait')} for review.`]),
    ...(isRunning ? [`${session.agent} is at work.`] : []),
  ].join('\n')
  return { text: `$(${isRunning ? 'sync~spin' : 'discard'}) ${text}`, tooltip, isBad: false }
}
