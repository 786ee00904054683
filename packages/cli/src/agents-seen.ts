/** The agents of this machine, in the words of the server: it knows none of them itself. */

import { checkAgents, countWaiting, deskFolder } from '@unturn/agents'
import type { AgentList } from '@unturn/server'
import { machineFor } from './machine.ts'

export function agentsSeen(folder: string): AgentList {
  const desk = deskFolder(process.env)
  const agents = checkAgents(machineFor(folder), desk).map(
    ({ agent, title, found, installed, trusted, fired, problems }) => {
      const heardMs = Math.max(...fired.map(({ startedMs }) => startedMs))
      const lastHeard = Number.isFinite(heardMs) ? new Date(heardMs).toISOString() : null
      return { agent, title, found, installed, trusted, lastHeard, problems: [...problems] }
    },
  )
  return { agents, waitingEvents: countWaiting(desk) }
}
