/** A turn: one prompt, and all that the agent does about it, step by step. */

import { skippedJson } from '../json.ts'
import type { TurnStatus } from '../log/record.ts'
import { optional } from '../log/record.ts'
import type { Proposed } from '../review/proposals.ts'
import type { SessionId, StepId, TurnId } from '../values.ts'
import { type Change, changeOf, relPathOf, type SkippedResult } from './words.ts'
import type { WorkspacePort } from './workspace-port.ts'

export interface StepOptions {
  readonly tool: string
  /**
   * What the tool is going to touch, relative to the workspace or absolute. Named paths are captured exactly, at a cost
   * that does not grow with the workspace. None: anything may change while the step runs, as with a shell command.
   */
  readonly paths?: readonly string[]
  /** The agent's own id of the call: the same one again is the same step. */
  readonly part?: string
  readonly command?: string
  /** The subagent at work. */
  readonly agentId?: string
}

export interface StepResult<Value> {
  readonly step: StepId
  /** What the callback returned. */
  readonly value: Value
  readonly changes: readonly Change[]
}

export interface ProposeOptions {
  /** Relative to the workspace, or absolute. */
  readonly path: string
  /** What the file is to be; null: gone. */
  readonly content: string | Uint8Array | null
  readonly executable?: boolean
  /** Proposals with the same name can be accepted or rejected as one. */
  readonly group?: string
}

export interface TurnResult {
  readonly changes: readonly Change[]
  readonly skipped: readonly SkippedResult[]
}

export class Turn implements AsyncDisposable {
  readonly id: TurnId
  readonly session: SessionId
  readonly workspace: WorkspacePort
  readonly #unfinished = new Set<() => Promise<unknown>>()
  #ended = false

  constructor(workspace: WorkspacePort, session: SessionId, id: TurnId) {
    this.workspace = workspace
    this.session = session
    this.id = id
  }

  /**
   * Runs a tool call as a step. The step ends when the callback does, also when it throws; then its error is passed on,
   * and what it had changed by then is recorded all the same.
   */
  async step<Value>(
    options: StepOptions,
    work: (step: StepId) => Value | Promise<Value>,
  ): Promise<StepResult<Value>> {
    const { workspace } = this
    const { tool, paths = [], part, command, agentId } = options
    const { step } = await workspace.beginStep({
      turn: this.id,
      tool,
      paths: paths.map((path) => relPathOf(workspace.root, path)),
      ...optional('part', part),
      ...optional('command', command),
      ...optional('agentId', agentId),
    })
    const value = await this.#endingAfter(step, () => work(step))
    const changes = await workspace.endStep(step)
    return { step, value, changes: changes.map(changeOf) }
  }

  /** Offers a change without writing it: it is pending until somebody accepts it. */
  propose({ path, content, ...how }: ProposeOptions): Promise<Proposed> {
    return this.workspace.propose({
      turn: this.id,
      path: relPathOf(this.workspace.root, path),
      content: content === null ? null : Buffer.from(content),
      ...how,
    })
  }

  async #endingAfter<Value>(step: StepId, work: () => Value | Promise<Value>): Promise<Value> {
    try {
      return await work()
    } catch (error) {
      try {
        await this.workspace.endStep(step)
      } catch (another) {
        throw new AggregateError([error, another], 'The step failed, and its end could not be recorded.')
      }
      throw error
    }
  }

  /** Ends the turn. What background recorders still have to say is waited for. */
  async end(status: TurnStatus = 'ok'): Promise<TurnResult> {
    this.#ended = true
    for (const finish of this.#unfinished) await finish()
    const { changes, skipped } = await this.workspace.endTurn(this.id, status)
    return { changes: changes.map(changeOf), skipped: skipped.map(skippedJson) }
  }

  /** For what records in the background: it is waited for before the turn ends. */
  finishFirst(finish: () => Promise<unknown>): void {
    this.#unfinished.add(finish)
  }

  /** `await using turn = …`: a turn that was left without `end` is interrupted. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) await this.end('interrupted')
  }
}
