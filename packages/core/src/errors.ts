/** One error class, its codes, and how names are shown to people. */

import type { ByteString } from './values.ts'

/** Every way to fail, and what a program gets to know about it. Codes are API and never renamed. */
export interface Failures {
  'bad-path': { readonly path: string; readonly flaw: string }
  'bad-usage': { readonly [key: string]: unknown }
  'not-a-workspace': { readonly folder: string }
  'workspace-refused': { readonly folder: string; readonly reason: string }
  'workspace-unreadable': { readonly folder: string; readonly reason: string }
  'unknown-id': { readonly id: string }
  'ambiguous-id': { readonly id: string; readonly candidates: readonly string[] }
  'store-unsafe': { readonly folder: string; readonly reason: string }
  'store-unwritable': { readonly folder: string; readonly reason: string }
  'store-newer': { readonly found: number; readonly known: number }
  'store-busy': { readonly waitedMs: number }
  'store-damaged': { readonly what: string; readonly id?: string }
  'snapshot-damaged': { readonly path: string; readonly object: string }
  'record-unreadable': { readonly operation: string; readonly reason: string }
  'disk-failed': { readonly path: string; readonly reason: string }
  'disk-full': { readonly neededBytes: number; readonly freeBytes: number }
  'apply-failed': { readonly path: string; readonly reason: string; readonly state: 'old' | 'pending' }
  'journal-damaged': { readonly reason: string }
  'git-missing': { readonly reason: string }
  'git-failed': { readonly command: string; readonly exitCode: number | null; readonly stderr: string }
  conflicts: { readonly conflicts: readonly unknown[]; readonly [key: string]: unknown }
  'nothing-to-undo': { readonly session?: string }
  'nothing-to-redo': { readonly session?: string }
  'nothing-to-roll-back': { readonly [key: string]: unknown }
  'nothing-to-review': { readonly session?: string }
  'hunk-gone': { readonly hunks: readonly string[] }
  'plan-stale': { readonly [key: string]: unknown }
  'turn-running': { readonly turn: string; readonly reason: string }
  internal: { readonly [key: string]: unknown }
}

export type FailureCode = keyof Failures

export interface FailureText {
  /** What happened, and what was kept. */
  readonly message: string
  /** What to do next. */
  readonly hint: string
  readonly cause?: unknown
}

export class UnturnError<Code extends FailureCode = FailureCode> extends Error {
  readonly code: Code
  readonly data: Failures[Code]
  readonly hint: string

  constructor(code: Code, data: Failures[Code], text: FailureText) {
    super(text.message, text.cause === undefined ? undefined : { cause: text.cause })
    this.name = 'UnturnError'
    this.code = code
    this.data = data
    this.hint = text.hint
  }
}

export function isFailure<Code extends FailureCode>(error: unknown, code: Code): error is UnturnError<Code> {
  return error instanceof UnturnError && error.code === code
}

/** A file name for a person to read: UTF-8 decoded, control and bidi characters made visible. */
export function shown(path: ByteString): string {
  return visible(textOfBytes(path))
}

/** Makes control characters visible, so that a name or a prompt cannot write to the terminal. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\udc80-\udcff]/g,
    escapeOf,
  )
}

function escapeOf(char: string): string {
  const code = char.charCodeAt(0)
  if (char === '\n') return '\\n'
  if (char === '\r') return '\\r'
  if (char === '\t') return '\\t'
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`
}

/**
 * Bytes as text for JSON. What is not UTF-8 becomes a lone surrogate, U+DC80 to U+DCFF for one byte each,
 * which JSON writes as `\udc80`: every name is valid JSON, and comes back byte for byte.
 */
export function textOfBytes(bytes: ByteString): string {
  if (!/[\x80-\xff]/.test(bytes)) return bytes
  const text = decodeUtf8(bytes)
  if (text !== undefined) return text
  let out = ''
  for (let i = 0; i < bytes.length; ) {
    const length = sequenceLength(bytes.charCodeAt(i))
    const part = length === 0 ? undefined : decodeUtf8(bytes.slice(i, i + length))
    if (part === undefined) {
      const byte = bytes.charCodeAt(i)
      out += byte < 0x80 ? bytes[i] : String.fromCharCode(0xdc00 + byte)
      i += 1
    } else {
      out += part
      i += length
    }
  }
  return out
}

/** The inverse of `textOfBytes`. */
export function bytesOfText(text: string): ByteString {
  if (!/[^\x00-\x7f]/.test(text)) return text
  let out = ''
  for (const char of text) {
    const code = char.charCodeAt(0)
    if (char.length === 1 && code >= 0xdc80 && code <= 0xdcff) out += String.fromCharCode(code - 0xdc00)
    else out += Buffer.from(char, 'utf8').toString('latin1')
  }
  return out
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: ByteString): string | undefined {
  try {
    return strictUtf8.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return undefined // not UTF-8: that is the answer, not a failure
  }
}

function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1
  if (lead >= 0xc2 && lead < 0xe0) return 2
  if (lead >= 0xe0 && lead < 0xf0) return 3
  if (lead >= 0xf0 && lead < 0xf5) return 4
  return 0
}
