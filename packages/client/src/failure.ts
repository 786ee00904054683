/** A request that the server refused, or could not carry out. */

export interface FailureText {
  readonly code: string
  /** What happened, and what was kept. */
  readonly message: string
  /** What to do next. */
  readonly hint: string
  readonly data: unknown
}

export class UnturnRequestError extends Error {
  readonly status: number
  /** Stable; see the failures of the engine, and `unauthorized` or the like for requests that never got that far. */
  readonly code: string
  readonly hint: string
  readonly data: unknown

  constructor(status: number, { code, message, hint, data }: FailureText) {
    super(message)
    this.name = 'UnturnRequestError'
    this.status = status
    this.code = code
    this.hint = hint
    this.data = data
  }
}
