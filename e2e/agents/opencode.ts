import type { ChildProcess } from 'node:child_process'
import type { Driver, Ended } from './driver.ts'
import { endTree, type Place } from './place.ts'

/** One server for each place: several turns, sessions side by side, and its own revert, as its own screen does it. */
interface Served {
  readonly child: ChildProcess
  readonly url: Promise<string>
}

const servers = new WeakMap<Place, Served>()

function serverOf(place: Place): Served {
  const known = servers.get(place)
  if (known !== undefined && known.child.exitCode === null && known.child.signalCode === null) return known
  const child = place.spawnAgent(['serve', '--port', '0', '--hostname', '127.0.0.1'])
  const served = { child, url: addressOf(child) }
  servers.set(place, served)
  return served
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const timer = setTimeout(() => {
      endTree(child)
      reject(new Error(`OpenCode did not say where it listens: ${said}`))
    }, 60_000)
    const hear = (text: string) => {
      said += text
      const found = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    }
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', hear)
    child.on('exit', () => {
      clearTimeout(timer)
      reject(new Error(`OpenCode has ended: ${said}`))
    })
  })
}

/** One call of its server. */
export function askOpencode(place: Place, path: string, body?: object): Promise<unknown> {
  return ask(place, serverOf(place), path, body)
}

async function ask(place: Place, served: Served, path: string, body?: object): Promise<unknown> {
  const url = await served.url
  const response = await fetch(`${url}${path}?directory=${encodeURIComponent(place.dir)}`, {
    method: body === undefined ? 'GET' : 'POST',
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(300_000),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`OpenCode answered ${response.status} to ${path}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

async function converse(place: Place, text: string, session: string | undefined): Promise<Ended> {
  const served = serverOf(place)
  const { child } = served
  try {
    const id = session ?? ((await ask(place, served, '/session', { title: 'a test' })) as { id: string }).id
    const answer = await ask(place, served, `/session/${id}/message`, { parts: [{ type: 'text', text }] })
    return { code: 0, output: JSON.stringify(answer) }
  } catch (error) {
    // It was ended in the middle, as the test wanted: the next prompt is for a server that lives.
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((ended) => child.once('exit', ended).once('error', ended))
    return { code: 1, output: String(error) }
  }
}

export interface OpencodeOptions {
  /** It keeps snapshots of its own for its own revert, and is quicker without. */
  readonly snapshots: boolean
  /** It keeps an index of all files of its own, and is quicker without. */
  readonly indexes: boolean
}

export function opencodeWith(options: OpencodeOptions): Driver {
  return { ...opencode, env: (place) => environment(place, options) }
}

export const opencode: Driver = {
  agent: 'opencode',
  prepare: () => {},
  env: (place) => environment(place, { snapshots: false, indexes: false }),
  start: (place, { text, session }) => {
    const { child } = serverOf(place)
    if (child.pid === undefined) throw new Error('OpenCode did not start')
    return { pid: child.pid, ended: converse(place, text, session) }
  },
  callOf: (action, place) => {
    switch (action.do) {
      case 'write':
        return { tool: 'write', input: { filePath: place.absolute(action.path), content: action.text } }
      case 'read':
        return { tool: 'read', input: { filePath: place.absolute(action.path) } }
      case 'edit':
        return {
          tool: 'edit',
          input: { filePath: place.absolute(action.path), oldString: action.old, newString: action.new },
        }
      case 'shell':
        return { tool: 'bash', input: { command: action.command, description: 'a command' } }
      case 'background':
        return {
          tool: 'bash',
          input: { command: `(${action.command}) > /dev/null 2>&1 &`, description: 'goes on' },
        }
      case 'delegate':
        return {
          tool: 'task',
          input: {
            description: 'a part',
            prompt: `Do your part. scene:${action.scene}`,
            subagent_type: 'general',
          },
        }
      case 'report':
      case 'user':
        return undefined
    }
  },
}

function environment(place: Place, options: OpencodeOptions): Readonly<Record<string, string>> {
  return {
    XDG_DATA_HOME: `${place.home}/data`,
    XDG_CACHE_HOME: `${place.home}/cache`,
    XDG_STATE_HOME: `${place.home}/state`,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config(place, options)),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_SHARE: '1',
    OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_CLAUDE_CODE: '1',
    // It would fetch its plugin package at the start, and wait for it.
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
    ...(options.indexes ? {} : { OPENCODE_DISABLE_FFF: '1' }),
  }
}

function config({ model }: Place, { snapshots }: OpencodeOptions): object {
  return {
    autoupdate: false,
    snapshot: snapshots,
    share: 'disabled',
    lsp: false,
    formatter: false,
    model: 'scripted/one',
    small_model: 'scripted/one',
    enabled_providers: ['scripted'],
    permission: { edit: 'allow', bash: 'allow', webfetch: 'deny', external_directory: 'allow' },
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Scripted',
        options: { baseURL: `${model.url}/v1`, apiKey: 'placeholder' },
        models: { one: { name: 'One', tool_call: true, limit: { context: 100_000, output: 8_000 } } },
      },
    },
  }
}
