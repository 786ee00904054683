/** Texts that several parts say alike. */

/** What went wrong, with what to do next where somebody knows. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // How `fetch` says that nobody is there, or that somebody went away in the middle of an answer.
  if (error instanceof TypeError && /fetch failed|terminated/.test(error.message))
    return 'The Unturn server does not answer, and is started again. What it was writing is then finished, or taken back as a whole.'
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : ''
  return hint === '' ? error.message : `${error.message} ${hint}`
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

const invisible = /[\p{Cc}\p{Cf}\u2028\u2029\u{e0000}-\u{e007f}]/gu

/** One line, where characters that hide or turn text around cannot do so. */
export function plainLine(text: string, most = 200): string {
  const line = text.replace(/\s+/g, ' ').trim().replace(invisible, '\ufffd')
  return line.length <= most ? line : `${line.slice(0, most - 1).trimEnd()}…`
}

/** For places that draw `$(name)` as an icon: in a prompt about a shell it is a command. */
export function withoutIcons(text: string): string {
  return text.replace(/\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/g, '\\$&')
}

export function promptLine(prompt: string | null | undefined, most = 80): string {
  const line = plainLine(prompt ?? '', most)
  return line === '' ? '(no prompt)' : line
}

export function timeAgo(iso: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1_000))
  if (seconds < 60) return 'just now'
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`
  return `${counted(Math.floor(seconds / 86_400), 'day')} ago`
}

/** For narrow columns: now, 5m, 2h, 3d. */
export function shortAge(iso: string, now: number): string {
  const minutes = Math.max(0, Math.floor((now - Date.parse(iso)) / 60_000))
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes}m`
  return minutes < 1_440 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 1_440)}d`
}
