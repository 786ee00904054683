/** Runs a command for a tool: the same code, and the same JSON, as when it is typed. */

import { errorJson } from '@unturn/core'
import { parseArgs } from '../args.ts'
import { Context, commonOptions } from '../command.ts'
import { loadCommand } from '../commands.ts'
import { failureOf } from '../run.ts'
import { Terminal } from '../terminal.ts'

export type Document = Readonly<Record<string, unknown>>

export interface Answer {
  readonly document: Document
  readonly isError: boolean
}

export interface Place {
  /** Absent: the nearest workspace around the current folder. */
  readonly folder?: string
  readonly version: string
}

/** Standard output belongs to the protocol: what a command says is kept here. */
class Kept extends Terminal {
  document: Document = {}
  readonly warnings: string[] = []

  constructor() {
    super({ quiet: true, env: { NO_COLOR: '1' } })
  }

  override json(document: unknown): void {
    this.document = document as Document
  }

  override warn(text: string): void {
    this.warnings.push(text)
  }

  override async flush(): Promise<void> {}
}

export async function runForTool(place: Place, name: string, argv: readonly string[]): Promise<Answer> {
  const terminal = new Kept()
  try {
    await runQuietly(place, name, argv, terminal)
    const { document, warnings } = terminal
    return { document: warnings.length === 0 ? document : { ...document, warnings }, isError: false }
  } catch (thrown) {
    return { document: errorJson(failureOf(thrown)) as unknown as Document, isError: true }
  }
}

async function runQuietly(
  { folder, version }: Place,
  name: string,
  argv: readonly string[],
  terminal: Kept,
): Promise<void> {
  const command = await loadCommand(name)
  const place = folder === undefined ? [] : ['-C', folder]
  const args = parseArgs([...place, '--json', ...argv], [...command.options, ...commonOptions])
  const context = new Context(args, terminal, version)
  try {
    await command.run(context)
  } finally {
    await context.close()
  }
}
