/** Where the server is, as the command line tells. It starts one where none runs. */

import { askCommand, CommandError, findCommand, type RunOptions } from './command.ts'

export interface ServerAddress {
  readonly url: string
  readonly token: string
  /** The workspace that the folder belongs to; null: nothing has been recorded there. */
  readonly workspace: string | null
}

export async function findServer(
  command: string,
  folder: string,
  options: RunOptions = {},
): Promise<ServerAddress> {
  const path = await findCommand(command)
  return parseAddress(await askCommand(path, ['-C', folder, 'studio', '--no-open', '--json'], options))
}

export function parseAddress(answer: unknown): ServerAddress {
  const { url, workspace = null } = (answer ?? {}) as {
    readonly url?: unknown
    readonly workspace?: string | null
  }
  const [, origin, token] = /^(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]+)/.exec(String(url)) ?? []
  if (origin === undefined || token === undefined)
    throw new CommandError(
      'failed',
      'The unturn command did not say where its server is. Nothing was changed.',
      'It may be of another version than this extension: npm install -g unturn',
    )
  return { url: origin, token, workspace }
}
