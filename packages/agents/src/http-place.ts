/**
 * Where the attendant listens for hooks over HTTP, for an agent that can do that: quicker than to start anything. The place
 * stands in the agent's settings, so it stays the same; a secret in it keeps others out, and it is good for nothing else.
 */

import { randomBytes, randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { privateFolder, readJson, replaceFile } from './desk.ts'
import type { AgentName } from './events.ts'
import { fieldsOf, text } from './payload.ts'

export interface HttpPlace {
  readonly port: number
  readonly token: string
}

export function readHttpPlace(desk: string): HttpPlace | undefined {
  const fields = fieldsOf(readJson(join(desk, 'http.json')))
  const token = text(fields, 'token')
  return token !== undefined && typeof fields.port === 'number' ? { port: fields.port, token } : undefined
}

export function keepHttpPlace(desk: string, place: HttpPlace | undefined): void {
  const path = join(privateFolder(desk), 'http.json')
  if (place === undefined) rmSync(path, { force: true })
  else replaceFile(path, `${JSON.stringify(place)}\n`)
}

/** Below the ports that systems give out by themselves: one of those may be in use when it is needed. */
export function newHttpPlace(): HttpPlace {
  return { port: randomInt(20_000, 32_000), token: randomBytes(24).toString('hex') }
}

export function hookUrl({ port, token }: HttpPlace, agent: AgentName, event: string): string {
  return `http://127.0.0.1:${port}/unturn-hook/${token}/${agent}/${event}`
}

export interface Addressed {
  readonly token: string
  readonly agent: string
  readonly event: string
}

export function partsOfPath(path: string): Addressed | undefined {
  const [, token, agent, event] =
    /^\/unturn-hook\/([0-9a-f]{1,200})\/([a-z-]{1,40})\/([A-Za-z]{1,60})$/.exec(path) ?? []
  return token === undefined || agent === undefined || event === undefined
    ? undefined
    : { token, agent, event }
}
