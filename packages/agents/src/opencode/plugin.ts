/**
 * The plugin that we install into OpenCode: it hands on what it is told, and puts a notice beside a prompt. It is plain
 * JavaScript without dependencies, runs in OpenCode's own process, and must never throw there: a thrown error would cancel
 * the user's tool.
 */

import { mark } from '../settings/own-file.ts'

export function pluginSource(command: readonly string[]): string {
  return `// ${mark} Records what OpenCode does, so that it can be undone.
// Take it out with: unturn init opencode --remove
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir } from 'node:os'

const [program, ...args] = ${JSON.stringify(command)}
const patienceMs = 8000
const parents = new Map()
const reverts = new Map()
let hasStatus = false
let queue = Promise.resolve()
let count = 0

// One after the other, in the order of arrival: bus events are not waited for, and would overtake a tool call.
function tell(hook, payload) {
  const told = queue.then(() => asked(hook, payload)).catch(() => '')
  queue = told
  return told
}

async function asked(hook, payload) {
  return (await askAttendant(hook, payload).catch(() => undefined)) ?? (await run(hook, payload))
}

// While Unturn's attendant is there, nothing has to be started. Undefined: it is not, or has not taken the event.
function askAttendant(hook, payload) {
  const { UNTURN_HOME, UNTURN_HOOK_BACKGROUND, XDG_DATA_HOME, HOME } = process.env
  if (process.platform === 'win32' || UNTURN_HOOK_BACKGROUND === '0') return Promise.resolve(undefined)
  const home = HOME || homedir()
  const linux = XDG_DATA_HOME?.startsWith('/') ? XDG_DATA_HOME : home + '/.local/share'
  const data = process.platform === 'darwin' ? home + '/Library/Application Support' : linux
  const stamp = program + ' ' + args[0] + ' ' + Math.trunc(statSync(args[0]).mtimeMs)
  return new Promise((resolve) => {
    let received = ''
    let isSent = false
    const socket = connect((UNTURN_HOME || data + '/unturn') + '/agents/hook.sock')
    const done = (answer) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    const timer = setTimeout(() => done(isSent ? '' : undefined), patienceMs)
    socket.setEncoding('utf8')
    socket.on('connect', () => {
      socket.write(JSON.stringify({ stamp, agent: 'opencode', event: hook, payload, env: {} }) + '\\n')
      isSent = true
    })
    socket.on('data', (part) => (received += part))
    socket.on('error', () => done(undefined))
    socket.on('close', () => {
      try {
        done(JSON.parse(received).answer)
      } catch {
        done(undefined)
      }
    })
  })
}

function run(hook, payload) {
  return new Promise((resolve) => {
    let answer = ''
    const child = spawn(program, [...args, 'hook', 'opencode', hook], { stdio: ['pipe', 'pipe', 'ignore'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    const done = () => {
      clearTimeout(timer)
      resolve(answer)
    }
    child.on('error', done)
    child.on('close', done)
    child.stdout.on('data', (bytes) => (answer += bytes))
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(payload))
  })
}

function rootOf(session) {
  let root = session
  for (let depth = 0; depth < 50 && parents.has(root); depth += 1) root = parents.get(root)
  return root
}

// Of the arguments only what names files, is a command, or tells one edit from another.
function kept(given, isOver) {
  const found = {}
  const edits = isOver ? ['oldString', 'newString'] : []
  for (const key of ['filePath', 'file_path', 'patchText', 'patch', 'input', 'command', ...edits])
    if (typeof given?.[key] === 'string') found[key] = given[key]
  if (isOver && given?.replaceAll === true) found.replaceAll = true
  return found
}

function noticePart(text, sessionID, messageID) {
  count += 1
  const time = (BigInt(Date.now()) * 4096n + BigInt(count % 4096)).toString(16).slice(-12).padStart(12, '0')
  const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let tail = ''
  while (tail.length < 14) tail += letters[Math.floor(Math.random() * letters.length)]
  return { id: 'prt_' + time + tail, sessionID, messageID, type: 'text', text, synthetic: true }
}

export const Unturn = async ({ directory }) => {
  const payload = (hook, session, input, output) => ({
    hook,
    input,
    output,
    directory,
    pid: process.pid,
    rootSession: rootOf(session),
  })

  async function prompted(input, output) {
    const parts = output.parts.map(({ type, text, synthetic }) => ({ type, text, synthetic }))
    const said = { message: { id: output.message.id }, parts }
    const answer = await tell('chat.message', payload('chat.message', input.sessionID, { sessionID: input.sessionID }, said))
    if (answer === '') return
    const { notice } = JSON.parse(answer)
    if (typeof notice === 'string') output.parts.push(noticePart(notice, input.sessionID, output.message.id))
  }

  async function stepBegan({ tool, sessionID, callID }, output) {
    const input = { tool, sessionID, callID }
    await tell('tool.execute.before', payload('tool.execute.before', sessionID, input, { args: kept(output.args, false) }))
  }

  async function stepEnded({ tool, sessionID, callID, args: given }, output) {
    const input = { tool, sessionID, callID, args: kept(given, true) }
    const said = { metadata: { exit: output?.metadata?.exit } }
    await tell('tool.execute.after', payload('tool.execute.after', sessionID, input, said))
  }

  async function heard({ type, properties }) {
    const info = properties?.info
    const session = properties?.sessionID ?? info?.id
    if (typeof session !== 'string') return
    if (typeof info?.parentID === 'string' && type.startsWith('session.')) parents.set(session, info.parentID)
    if (type === 'session.status') hasStatus = true
    // A prompt after a revert drops what was reverted: the files stay as they are, and the revert is over.
    if (type === 'message.removed') reverts.set(session, 'null')
    if (!isNews(type, properties, session)) return
    const kept = { sessionID: session, status: properties.status, error: { name: properties.error?.name } }
    if (info !== undefined) kept.info = { id: info.id, parentID: info.parentID, revert: revertOf(info) }
    await tell('event', payload('event', session, { type, properties: kept }))
  }

  function isNews(type, properties, session) {
    switch (type) {
      case 'session.created':
      case 'session.deleted':
      case 'session.error':
        return true
      case 'session.status':
        return properties.status?.type === 'idle'
      case 'session.idle':
        return !hasStatus
      case 'session.updated': {
        const now = JSON.stringify(revertOf(properties.info) ?? null)
        const was = reverts.get(session) ?? 'null'
        reverts.set(session, now)
        return now !== was
      }
      default:
        return false
    }
  }

  function revertOf(info) {
    return info?.revert == null ? undefined : { messageID: info.revert.messageID, partID: info.revert.partID }
  }

  const quietly = (work) => async (...given) => {
    try {
      await work(...given)
    } catch {
      // whatever goes wrong here is not the user's trouble; "unturn doctor" tells of it
    }
  }

  return {
    'chat.message': quietly(prompted),
    'tool.execute.before': quietly(stepBegan),
    'tool.execute.after': quietly(stepEnded),
    event: quietly(({ event }) => heard(event)),
    // A command that goes on when its turn has ended is known by this.
    'shell.env': quietly(({ sessionID }, output) => {
      if (typeof sessionID === 'string') output.env.UNTURN_AGENT_SESSION = rootOf(sessionID)
    }),
    dispose: quietly(() => queue),
  }
}
`
}
