/**
 * The user's git configuration, read without starting git. Only what tells us about files is asked for
 * (excludes, attributes, case, object format); nothing in it makes us run anything (P10).
 */

import { bytesOfText } from '../errors.ts'
import { type AbsPath, absPathUnchecked, type ByteString, joinAbs, parentOf } from '../values.ts'
import { readUserFile } from './user-git-read.ts'

export type Env = Readonly<Record<string, string | undefined>>

export interface ConfigSetting {
  /** Section and name in lower case, a subsection as it was written: `remote.Origin.url`. */
  readonly key: ByteString
  /** A name without `=` counts as `true`. */
  readonly value: ByteString
}

export interface UserConfig {
  get(key: string): ByteString | undefined
}

/** What the user config needs to know about a repository. */
export interface ConfigPlace {
  readonly gitDir: AbsPath
  readonly commonDir: AbsPath
}

/**
 * System, user and repository configuration, the last one counts. Settings handed down by environment
 * (`GIT_CONFIG_COUNT`, `GIT_CONFIG_PARAMETERS`) are left out: they belong to whoever started us, a git hook
 * perhaps, not to the workspace.
 */
export function readUserConfig(git: ConfigPlace | undefined, env: Env): UserConfig {
  const settings = new Map<ByteString, ByteString>()
  const take = (path: AbsPath | undefined) => {
    if (path === undefined) return
    for (const { key, value } of readConfigFile(path, env)) settings.set(key, value)
  }
  take(systemConfig(env))
  for (const path of globalConfigs(env)) take(path)
  if (git !== undefined) {
    take(joinAbs(git.commonDir, 'config'))
    if (isTrue(settings.get('extensions.worktreeconfig'))) take(joinAbs(git.gitDir, 'config.worktree'))
  }
  return { get: (key) => settings.get(key) }
}

export function isTrue(value: ByteString | undefined): boolean {
  if (value === undefined) return false
  return /^(true|yes|on)$/i.test(value) || (/^[+-]?\d+$/.test(value) && Number(value) !== 0)
}

function systemConfig(env: Env): AbsPath | undefined {
  if (isTrue(env.GIT_CONFIG_NOSYSTEM)) return undefined
  return absPathUnchecked(bytesOfText(env.GIT_CONFIG_SYSTEM ?? '/etc/gitconfig'))
}

function globalConfigs(env: Env): readonly AbsPath[] {
  if (env.GIT_CONFIG_GLOBAL !== undefined) return [absPathUnchecked(bytesOfText(env.GIT_CONFIG_GLOBAL))]
  const home = homeOf(env)
  const paths = [xdgPath(env, 'config'), home === undefined ? undefined : joinAbs(home, '.gitconfig')]
  return paths.filter((path) => path !== undefined)
}

export function homeOf(env: Env): AbsPath | undefined {
  return env.HOME === undefined || env.HOME === '' ? undefined : absPathUnchecked(bytesOfText(env.HOME))
}

/** `$XDG_CONFIG_HOME/git/NAME`, or the same below `~/.config`. */
export function xdgPath(env: Env, name: string): AbsPath | undefined {
  const xdg = env.XDG_CONFIG_HOME
  if (xdg !== undefined && xdg !== '') return joinAbs(absPathUnchecked(bytesOfText(xdg)), `git/${name}`)
  const home = homeOf(env)
  return home === undefined ? undefined : joinAbs(home, `.config/git/${name}`)
}

/**
 * A path in the configuration. `base` is what a relative one starts from. `~name/` and `%(prefix)/` would need
 * the password file and git's own installation; they come back empty.
 */
export function expandPath(value: ByteString, base: AbsPath | undefined, env: Env): AbsPath | undefined {
  if (value === '') return undefined
  if (value === '~' || value.startsWith('~/')) {
    const home = homeOf(env)
    return home === undefined ? undefined : joinAbs(home, value.slice(2))
  }
  if (value.startsWith('~') || value.startsWith('%(prefix)/')) return undefined
  if (value.startsWith('/') || /^[A-Za-z]:[\\/]/.test(value)) return absPathUnchecked(value)
  return base === undefined ? undefined : joinAbs(base, value)
}

const MAX_INCLUDE_DEPTH = 10
const MAX_CONFIG_BYTES = 1024 * 1024

/**
 * One file with what it includes, in order. `includeIf` is not followed: its conditions (branch, remote, place
 * of the repository) decide about names and keys in practice, hardly ever about excludes.
 */
export function readConfigFile(path: AbsPath, env: Env, depth = 0): readonly ConfigSetting[] {
  const reading = readUserFile(path, MAX_CONFIG_BYTES)
  if (reading.kind !== 'bytes') return []
  return parseConfig(reading.bytes.toString('latin1')).settings.flatMap((setting) => {
    if (setting.key !== 'include.path') return [setting]
    const target = expandPath(setting.value, absPathUnchecked(parentOf(path)), env)
    if (target === undefined || depth >= MAX_INCLUDE_DEPTH) return [setting]
    return [setting, ...readConfigFile(target, env, depth + 1)]
  })
}

export interface ParsedConfig {
  readonly settings: readonly ConfigSetting[]
  /** The text is not what git would accept; `settings` holds what stood before that place. */
  readonly damaged: boolean
}

export function parseConfig(text: ByteString): ParsedConfig {
  const reader = new ConfigReader(text.replace(/^\xef\xbb\xbf/, '').replaceAll('\r\n', '\n'))
  const settings: ConfigSetting[] = []
  for (;;) {
    const next = reader.next()
    if (next === 'end' || next === 'damaged') return { settings, damaged: next === 'damaged' }
    settings.push(next)
  }
}

class ConfigReader {
  readonly #text: ByteString
  #at = 0
  /** With the dot; git takes names before the first section, too. */
  #section = ''

  constructor(text: ByteString) {
    this.#text = text
  }

  next(): ConfigSetting | 'end' | 'damaged' {
    for (;;) {
      this.#take(/[ \t\n\v\f\r]*(?:[#;][^\n]*)?/y)
      const byte = this.#text[this.#at]
      if (byte === undefined) return 'end'
      if (byte === '\n') continue
      if (byte !== '[') return this.#setting()
      if (!this.#header()) return 'damaged'
    }
  }

  #header(): boolean {
    const found = this.#take(/\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y)
    const section = found?.[1]?.toLowerCase()
    if (section === undefined) return false
    const subsection = found?.[2]?.replace(/\\(.)/gs, '$1')
    this.#section = subsection === undefined ? `${section}.` : `${section}.${subsection}.`
    return true
  }

  #setting(): ConfigSetting | 'damaged' {
    const found = this.#take(/([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|\n|$)/y)
    const name = found?.[1]
    if (name === undefined) return 'damaged'
    const key = this.#section + name.toLowerCase()
    if (found?.[2] !== '=') return { key, value: 'true' }
    const value = this.#value()
    return value === undefined ? 'damaged' : { key, value }
  }

  /** Up to the line's end; `undefined` for an unknown escape or a quote that stays open. */
  #value(): ByteString | undefined {
    this.#take(/[ \t\v\f\r]*/y)
    let value = ''
    let keep = 0 // spaces at the end go, those inside quotes stay
    let quoted = false
    for (;;) {
      const byte = this.#text[this.#at]
      this.#at += 1
      if (byte === undefined || byte === '\n') return quoted ? undefined : value.slice(0, keep)
      if (byte === '"') quoted = !quoted
      else if (byte === '\\') {
        const escaped = this.#text[this.#at]
        this.#at += 1
        const meant = escaped === undefined ? '' : escapes.get(escaped)
        if (meant === undefined) return undefined
        value += meant
      } else if (!quoted && (byte === '#' || byte === ';')) {
        this.#take(/[^\n]*/y)
        continue
      } else {
        if (!quoted && value === '' && isSpace(byte)) continue
        value += byte
        if (!quoted && isSpace(byte)) continue
      }
      keep = value.length
    }
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return undefined
    this.#at += found[0].length
    return found
  }
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['\n', ''], // the value goes on in the next line
  ['n', '\n'],
  ['t', '\t'],
  ['b', '\b'],
  ['"', '"'],
  ['\\', '\\'],
])

function isSpace(byte: string): boolean {
  return byte === ' ' || byte === '\t' || byte === '\r' || byte === '\v' || byte === '\f'
}
