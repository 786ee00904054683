/** What every part of the page needs: the workspace, its events, and where to hand a wish. */

import type { Status, Unturn, WorkspaceClient } from '@unturn/client'
import { createContext, useContext } from 'react'
import type { Early } from './early.ts'
import type { Live } from './live.ts'

export interface Studio {
  readonly unturn: Unturn
  readonly workspace: WorkspaceClient
  readonly live: Live
  readonly status: Status
  readonly early: Early
  /** The event from which on everything is heard. */
  readonly since: string
}

const context = createContext<Studio | undefined>(undefined)

export const StudioProvider = context.Provider

export function useStudio(): Studio {
  const studio = useContext(context)
  if (studio === undefined) throw new Error('this part of the page stands outside of a workspace')
  return studio
}
