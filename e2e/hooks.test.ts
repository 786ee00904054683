import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { command, node, Project, type Ran } from './support.ts'

const quiet = { UNTURN_HOOK_BACKGROUND: '0' }

/** One hook of Claude Code, as Claude Code runs it. */
function hook(project: Project, event: string, fields: object = {}, env: Record<string, string> = {}): Ran {
  const payload = { session_id: 'chat', cwd: project.dir, hook_event_name: event, prompt_id: 'p1', ...fields }
  const input = JSON.stringify(payload)
  return project.unturn(['hook', 'claude-code', event], { input, env: { ...quiet, ...env } })
}

function call(tool_use_id: string, tool_name: string, tool_input: object): object {
  return { tool_use_id, tool_name, tool_input }
}

test('[U200] a turn told by hooks is recorded, undone, and the agent is told with its next prompt, once', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const silent = { code: 0, stdout: '', stderr: '' }
  expect(hook(project, 'SessionStart', { source: 'startup' })).toMatchObject(silent)
  expect(hook(project, 'UserPromptSubmit', { prompt: 'Shout' })).toMatchObject(silent)
  const write = call('c1', 'Write', { file_path: project.pathOf('a.txt'), content: 'ONE\n' })
  expect(hook(project, 'PreToolUse', write)).toMatchObject(silent)
  project.write({ 'a.txt': 'ONE\n' })
  expect(hook(project, 'PostToolUse', write)).toMatchObject(silent)
  const shell = call('c2', 'Bash', { command: 'echo new > new.txt' })
  expect(hook(project, 'PreToolUse', shell)).toMatchObject(silent)
  project.write({ 'new.txt': 'new\n' })
  expect(hook(project, 'PostToolUse', shell)).toMatchObject(silent)
  expect(hook(project, 'Stop')).toMatchObject(silent)

  expect(project.ask('log', '--all').turns).toMatchObject([
    { agent: 'claude-code', prompt: 'Shout', status: 'ok' },
  ])
  expect(project.ask('undo')).toMatchObject({
    prompt: 'Shout',
    files: [{ path: 'a.txt' }, { path: 'new.txt', action: 'delete' }],
    notUndone: { commands: ['echo new > new.txt'] },
  })
  expect(project.files()).toEqual({ 'a.txt': 'one\n' })
  const told = hook(project, 'UserPromptSubmit', { prompt: 'Again', prompt_id: 'p2' })
  expect(told.json.hookSpecificOutput).toMatchObject({
    hookEventName: 'UserPromptSubmit',
    additionalContext: expect.stringMatching(
      /took back 1 turn(.|\n)*- a\.txt: changed\n- new\.txt: is no longer there/,
    ),
  })
  expect(hook(project, 'UserPromptSubmit', { prompt: 'More', prompt_id: 'p3' })).toMatchObject(silent)
})

test('[U201] a hook ends with 0 and prints nothing, whatever it is given', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const silent = { code: 0, stdout: '', stderr: '' }
  for (const input of ['', 'no json', '[]', '{"session_id":7}', '{"session_id":"s"}', '\u0000'])
    expect(project.unturn(['hook', 'claude-code', 'PreToolUse'], { input, env: quiet })).toMatchObject(silent)
  for (const args of [
    ['hook'],
    ['hook', 'nobody', 'X'],
    ['hook', 'codex'],
    ['hook', 'a', 'b', 'c', '--what'],
  ])
    expect(project.unturn(args, { input: '{}', env: quiet })).toMatchObject(silent)
  expect(project.unturn(['hook', 'claude-code', 'Stop'], { env: quiet })).toMatchObject(silent)
  expect(project.unturn(['hook', 'cline', 'TaskStart'], { input: '{}', env: quiet })).toMatchObject({
    code: 0,
    stdout: '{"cancel":false}\n',
  })
  expect(project.unturn(['hook', '--help']).stdout).toContain('hook AGENT EVENT')
})

test('[U201] a hook whose input does not end, and one without a place to write, end all the same', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const child = spawn(node, [command, 'hook', 'claude-code', 'Stop'], {
    env: { ...project.env, ...quiet, UNTURN_HOOK_BUDGET_MS: '700' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0)
  writeFileSync(join(project.base, 'file'), '')
  const nowhere = { UNTURN_HOME: join(project.base, 'file') }
  expect(hook(project, 'UserPromptSubmit', { prompt: 'Go' }, nowhere)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: '',
  })
})

test('[U202] what does not fit into the time is kept, and the next command records it', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  hook(project, 'SessionStart', { source: 'startup' })
  const hasty = { UNTURN_HOOK_BUDGET_MS: '1' }
  expect(hook(project, 'UserPromptSubmit', { prompt: 'Quick' }, hasty)).toMatchObject({ code: 0, stdout: '' })
  const shell = call('c1', 'Bash', { command: 'x' })
  hook(project, 'PreToolUse', shell, hasty)
  project.write({ 'a.txt': 'two\n' })
  hook(project, 'PostToolUse', shell, hasty)
  hook(project, 'Stop', {}, hasty)
  expect(project.ask('doctor').waitingEvents).toBe(4)
  expect(project.ask('undo')).toMatchObject({ prompt: 'Quick', files: [{ path: 'a.txt' }] })
  expect(project.ask('doctor').waitingEvents).toBe(0)
  expect(project.files()).toEqual({ 'a.txt': 'one\n' })
})

test('[U202] a process that nobody waits for records it, without a further command', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  hook(project, 'SessionStart', { source: 'startup' })
  hook(
    project,
    'UserPromptSubmit',
    { prompt: 'Quick' },
    { UNTURN_HOOK_BUDGET_MS: '1', UNTURN_HOOK_BACKGROUND: '1' },
  )
  const until = Date.now() + 20_000
  while (project.ask('doctor').waitingEvents > 0 && Date.now() < until)
    await new Promise((next) => setTimeout(next, 100))
  expect(project.ask('doctor').waitingEvents).toBe(0)
})

// ---- the attendant -----------------------------------------------------------------------------------------------------

const attended = { UNTURN_HOOK_BACKGROUND: '1', UNTURN_HOOK_IDLE_MS: '1500' }

async function until(isSo: () => boolean): Promise<void> {
  const end = Date.now() + 20_000
  while (!isSo()) {
    if (Date.now() > end) throw new Error('it does not come about')
    await new Promise((next) => setTimeout(next, 20))
  }
}

function attendantOf(project: Project): number | undefined {
  const ps = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n')
  const line = ps.find((one) => one.includes(`${project.base}/dist/unturn.js hook --attend`))
  return line === undefined ? undefined : Number(line.trim().split(' ')[0])
}

const ways = {
  Node: (entry: string) => [node, entry] as const,
  'a shell': (entry: string) => ['/bin/bash', join(dirname(entry), 'unturn-hook.sh'), node, entry] as const,
}

test.each(Object.entries(ways))(
  '[U203] an attendant answers for the hooks, started by %s; killed, replaced by an upgrade or gone, nothing is lost',
  async (_, wayOf) => {
    using project = new Project({ 'a.txt': 'one\n' })
    const entry = join(project.base, 'dist', 'unturn.js')
    const [program, ...words] = wayOf(entry)
    cpSync(dirname(command), dirname(entry), { recursive: true })
    writeFileSync(join(project.base, 'package.json'), '{"type":"module"}')
    const tell = (event: string, fields: object = {}) => {
      const payload = {
        session_id: 'chat',
        cwd: project.dir,
        hook_event_name: event,
        prompt_id: 'p1',
        ...fields,
      }
      const ran = spawnSync(program, [...words, 'hook', 'claude-code', event], {
        env: { ...project.env, ...attended },
        input: JSON.stringify(payload),
        encoding: 'utf8',
      })
      expect([ran.status, ran.stderr]).toEqual([0, ''])
      return ran.stdout
    }
    const socket = join(project.base, 'store/agents/hook.sock')
    const step = (id: string, text: string) => {
      const write = call(id, 'Write', { file_path: project.pathOf('a.txt') })
      tell('PreToolUse', write)
      project.write({ 'a.txt': text })
      tell('PostToolUse', write)
    }
    tell('UserPromptSubmit', { prompt: 'Go' })
    await until(() => existsSync(socket))
    const first = attendantOf(project)
    expect(first).toBeGreaterThan(1)
    step('c1', 'two\n')
    process.kill(first ?? 0, 'SIGKILL')
    await until(() => attendantOf(project) === undefined)
    step('c2', 'three\n')
    await until(() => attendantOf(project) !== undefined)
    utimesSync(entry, new Date(), new Date())
    step('c3', 'four\n')
    tell('Stop')
    const [turn] = project.ask('log', '--all').turns
    expect(turn).toMatchObject({ prompt: 'Go', status: 'ok' })
    // One that was killed before it could end the step leaves it to be ended with the turn.
    const operations: readonly { kind: string; step?: string }[] = project.ask('log', '--ops').operations
    const steps = operations.filter(({ kind }) => kind === 'step').map(({ step }) => step)
    expect(new Set(steps).size).toBe(3)
    expect(project.ask('undo').files).toMatchObject([{ path: 'a.txt' }])
    expect(project.read('a.txt')).toBe('one\n')
    expect(tell('UserPromptSubmit', { prompt: 'Next', prompt_id: 'p2' })).toContain('took back 1 turn')
    expect(tell('UserPromptSubmit', { prompt: 'More', prompt_id: 'p3' })).toBe('')
    await until(() => attendantOf(project) === undefined)
    expect(existsSync(socket)).toBe(false)
  },
)

test('[U204] a hook whose attendant does not answer ends with 0, prints nothing, and its event is recorded later', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  hook(project, 'SessionStart', { source: 'startup' })
  const desk = join(project.base, 'store/agents')
  mkdirSync(join(desk, 'calls'), { recursive: true })
  execFileSync('mkfifo', [join(desk, 'hook.in')])
  writeFileSync(join(desk, 'hook.pid'), `${process.pid}\n`) // alive, but nobody's attendant
  const payload = { session_id: 'chat', cwd: project.dir, prompt_id: 'p1', prompt: 'Go' }
  const [program, ...words] = ways['a shell'](command)
  const { status, stdout, stderr } = spawnSync(
    program,
    [...words, 'hook', 'claude-code', 'UserPromptSubmit'],
    {
      env: { ...project.env, UNTURN_HOOK_BACKGROUND: '1', UNTURN_HOOK_BUDGET_MS: '500' },
      input: JSON.stringify({ ...payload, hook_event_name: 'UserPromptSubmit' }),
      encoding: 'utf8',
    },
  )
  expect([status, stdout, stderr]).toEqual([0, '', ''])
  expect(project.ask('log', '--all').turns).toMatchObject([{ prompt: 'Go', status: 'open' }])
})

// ---- init --------------------------------------------------------------------------------------------------------------

const settings = `{
  // what I like
  "model": "big",
  "hooks": {
    "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }], // mine
  },
}
`

function inHome(project: Project, path: string): string {
  return join(project.base, 'home', path)
}

function writeHome(project: Project, path: string, text: string): void {
  mkdirSync(dirname(inHome(project, path)), { recursive: true })
  writeFileSync(inHome(project, path), text)
}

function homeText(project: Project, path: string): string {
  return readFileSync(inHome(project, path), 'utf8')
}

test('[U210] init shows the exact change and writes nothing until it is told to', () => {
  using project = new Project()
  writeHome(project, '.claude/settings.json', settings)
  const dry = project.unturn(['init', '--dry-run'])
  expect(dry.code).toBe(0)
  expect(dry.stdout).toContain(`+++ ${inHome(project, '.claude/settings.json')}`)
  expect(dry.stdout).toContain('hook claude-code PreToolUse')
  expect(dry.stdout.trimEnd().split('\n').at(-1)).toContain('dry run')
  const unasked = project.unturn(['init'])
  expect(unasked.code).toBe(1)
  expect(unasked.stdout.trimEnd().split('\n').at(-1)).toContain('--yes')
  expect(homeText(project, '.claude/settings.json')).toBe(settings)
})

test('[U210] [U211] init keeps comments, order and other hooks, can run twice, and --remove gives back every byte', () => {
  using project = new Project()
  writeHome(project, '.claude/settings.json', settings)
  writeHome(project, '.codex/config.toml', 'model = "x"\n')
  const first = project.unturn([
    'init',
    'claude',
    'codex',
    'gemini',
    'opencode',
    'cursor',
    'copilot',
    'cline',
    '--yes',
  ])
  expect(first.code).toBe(0)
  expect(first.stdout.trimEnd().split('\n').at(-1)).toMatch(/^Next: /)
  const written = homeText(project, '.claude/settings.json')
  expect(written).toContain('  // what I like\n  "model": "big",\n')
  expect(written).toContain('"command": "say done"')
  expect(written).toContain('// mine')
  const again = project.unturn(['init', 'claude', '--yes'])
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('in place already') })
  expect(homeText(project, '.claude/settings.json')).toBe(written)
  expect(statSync(inHome(project, '.cline/hooks/PreToolUse')).mode & 0o111).not.toBe(0)

  expect(project.unturn(['init', '--remove', '--yes']).code).toBe(0)
  expect(homeText(project, '.claude/settings.json')).toBe(settings)
  expect(homeText(project, '.codex/config.toml')).toBe('model = "x"\n')
  for (const gone of ['.codex/hooks.json', '.gemini', '.config', '.cursor', '.copilot', '.cline'])
    expect([gone, existsSync(inHome(project, gone))]).toEqual([gone, false])
})

test('[U211] --remove takes out what is ours also from a file that others have changed since', () => {
  using project = new Project()
  writeHome(project, '.claude/settings.json', settings)
  project.unturn(['init', 'claude', '--yes'])
  const changed = homeText(project, '.claude/settings.json').replace('"big"', '"small"')
  writeHome(project, '.claude/settings.json', changed)
  expect(project.unturn(['init', 'claude', '--remove', '--yes']).code).toBe(0)
  const left = homeText(project, '.claude/settings.json')
  expect(left).not.toContain('unturn')
  expect(left).toBe(settings.replace('"big"', '"small"'))
})

test('[U210] init renews hooks that name another Node, in their place', () => {
  using project = new Project()
  project.unturn(['init', 'codex', '--yes'])
  const written = homeText(project, '.codex/hooks.json')
  writeHome(project, '.codex/hooks.json', written.replaceAll(node, '/gone/bin/node'))
  expect(project.ask('doctor').agents[1].problems.join()).toContain('/gone/bin/node')
  expect(project.unturn(['init', 'codex', '--yes']).code).toBe(0)
  expect(homeText(project, '.codex/hooks.json')).toBe(written)
})

test('[U215] with --http, tool calls of Claude Code are told to the attendant over HTTP; without the secret nobody is heard', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  writeHome(project, '.claude/settings.json', settings)
  const init = (...args: string[]) => project.unturn(['init', 'claude-code', '--yes', ...args])
  expect(init().code).toBe(0)
  expect(init('--http').code).toBe(0)
  const { hooks } = JSON.parse(
    homeText(project, '.claude/settings.json').replace(/\/\/ .*|,(?=\s*[}\]])/g, ''),
  )
  const { url } = hooks.PreToolUse[0].hooks[0]
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/unturn-hook\/[0-9a-f]{48}\/claude-code\/PreToolUse$/)
  expect([hooks.PreToolUse.length, hooks.Stop.length]).toEqual([1, 2])
  expect(hooks.UserPromptSubmit[0].hooks[0].command).toContain('hook claude-code UserPromptSubmit')

  hook(project, 'UserPromptSubmit', { prompt: 'Go' }, { ...attended, UNTURN_HOOK_IDLE_MS: '8000' })
  const post = async (address: string, event: string, headers = {}) => {
    const fields = call('c1', 'Write', { file_path: project.pathOf('a.txt') })
    const body = JSON.stringify({
      session_id: 'chat',
      cwd: project.dir,
      hook_event_name: event,
      prompt_id: 'p1',
      ...fields,
    })
    const answer = await fetch(address, { method: 'POST', body, headers }).catch(() => undefined)
    return [answer?.status, await answer?.text()]
  }
  const end = Date.now() + 20_000
  while ((await post(url.replace(/[0-9a-f]{48}/, 'abc'), 'PreToolUse'))[0] !== 404)
    if (Date.now() > end) throw new Error('nobody listens')
  expect(await post(url, 'PreToolUse')).toEqual([200, ''])
  project.write({ 'a.txt': 'two\n' })
  expect(await post(url.replace('PreToolUse', 'PostToolUse'), 'PostToolUse')).toEqual([200, ''])
  expect(await post(url.replace('claude-code', 'nobody'), 'PreToolUse')).toEqual([404, ''])
  expect((await fetch(url).catch(() => undefined))?.status).toBe(404)
  hook(project, 'Stop', {}, attended)
  expect(project.ask('log', '--all', '--changes').changes).toMatchObject([
    { path: 'a.txt', certainty: 'exact' },
  ])

  expect(init('--remove').code).toBe(0)
  expect(homeText(project, '.claude/settings.json')).toBe(settings)
  process.kill(Number(readFileSync(join(project.base, 'store/agents/hook.pid'), 'utf8')), 'SIGTERM')
})

test('[U212] settings that cannot be read, a plugin of somebody else’s, a second place: left alone, with the reason', () => {
  using project = new Project()
  writeHome(project, '.claude/settings.json', '{ "model": \n')
  writeHome(project, '.config/opencode/plugins/unturn.js', 'export const Mine = () => {}\n')
  const ran = project.unturn(['init', 'claude', 'opencode', '--yes'])
  expect(ran.code).toBe(1)
  expect(ran.stdout).toContain('cannot be read as settings (line 2')
  expect(ran.stdout).toContain('not from Unturn')
  expect(homeText(project, '.claude/settings.json')).toBe('{ "model": \n')
  expect(homeText(project, '.config/opencode/plugins/unturn.js')).toBe('export const Mine = () => {}\n')

  expect(project.unturn(['init', 'gemini', '--yes']).code).toBe(0)
  const second = project.unturn(['init', 'gemini', '--project', '--yes'])
  expect(second).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('unturn init gemini-cli --remove --user'),
  })
  expect(existsSync(project.pathOf('.gemini'))).toBe(false)
  expect(project.unturn(['init', 'nobody']).code).toBe(2)
  expect(project.unturn(['init', '--user', '--project']).code).toBe(2)
})

test('[U210] init for the project, told as JSON', () => {
  using project = new Project()
  const planned = project.unturn(['init', 'claude', '--project', '--json', '--dry-run'])
  expect(planned.json).toMatchObject({
    written: false,
    agents: [
      {
        agent: 'claude-code',
        scope: 'project',
        state: 'changed',
        files: [{ path: project.pathOf('.claude/settings.local.json'), action: 'create' }],
      },
    ],
  })
  expect(project.unturn(['init', 'claude', '--project', '--json', '--yes']).json.written).toBe(true)
  expect(existsSync(project.pathOf('.claude/settings.local.json'))).toBe(true)
})

test('[U213] the hooks that init writes work, run by a shell as the agents run them, and doctor has heard them', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.unturn(['init', 'claude', 'codex', '--yes'])
  const before = project.ask('doctor').agents
  expect(before[0]).toMatchObject({
    agent: 'claude-code',
    installed: 'user',
    trusted: 'not-needed',
    fired: {},
  })
  expect(before[1]).toMatchObject({ agent: 'codex', installed: 'user', trusted: 'no', fired: {} })
  const { hooks } = JSON.parse(homeText(project, '.claude/settings.json'))
  const run = (event: string, fields: object) =>
    execFileSync('sh', ['-c', hooks[event].at(-1).hooks[0].command], {
      cwd: project.dir,
      env: { ...project.env, ...quiet },
      input: JSON.stringify({
        session_id: 'chat',
        cwd: project.dir,
        hook_event_name: event,
        prompt_id: 'p',
        ...fields,
      }),
      encoding: 'utf8',
    })
  expect(run('UserPromptSubmit', { prompt: 'Go' })).toBe('')
  run('Stop', {})
  expect(project.ask('log', '--all').turns).toMatchObject([{ prompt: 'Go' }])
  expect(project.ask('doctor').agents[0].fired).toMatchObject({
    UserPromptSubmit: { outcome: 'delivered' },
    Stop: { outcome: 'delivered' },
  })
})

test('[U213] doctor tells what last went wrong, until it works again', () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const cwd = inHome(project, '')
  hook(project, 'UserPromptSubmit', { prompt: 'In my home', cwd })
  expect(project.ask('doctor').agents[0].lastFailure).toMatchObject({ code: 'workspace-refused' })
  expect(project.unturn(['doctor']).stdout).toContain('The hook for UserPromptSubmit failed')
  hook(project, 'UserPromptSubmit', { prompt: 'Go' })
  expect(project.unturn(['doctor']).stdout).not.toContain('failed')
})

test('[U214] OpenCode’s plugin, as init writes it, records a turn and puts the notice beside the next prompt', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  project.unturn(['init', 'opencode', '--yes'])
  const plugin = inHome(project, '.config/opencode/plugins/unturn.js')
  const script = `
    const { Unturn } = await import(${JSON.stringify(plugin)})
    const { writeFileSync } = await import('node:fs')
    const { execFileSync } = await import('node:child_process')
    const hooks = await Unturn({ directory: process.cwd() })
    const prompt = async (id, text) => {
      const output = { message: { id }, parts: [{ id: 'prt_1', type: 'text', text }] }
      await hooks['chat.message']({ sessionID: 'ses_1' }, output)
      return output.parts
    }
    await prompt('msg_1', 'Go')
    const input = { tool: 'write', sessionID: 'ses_1', callID: 'c1' }
    const args = { filePath: process.cwd() + '/a.txt', content: 'two' }
    await hooks['tool.execute.before'](input, { args })
    writeFileSync('a.txt', 'two\\n')
    await hooks['tool.execute.after']({ ...input, args }, { metadata: {} })
    await hooks.event({ event: { type: 'session.status', properties: { sessionID: 'ses_1', status: { type: 'idle' } } } })
    await hooks.dispose()
    execFileSync(process.execPath, [${JSON.stringify(command)}, 'undo'])
    console.log(JSON.stringify(await prompt('msg_2', 'Next')))
  `
  const out = execFileSync(node, ['--input-type=module', '-e', script], {
    cwd: project.dir,
    env: { ...project.env, ...quiet },
    encoding: 'utf8',
  })
  const [typed, notice] = JSON.parse(out)
  expect(typed.text).toBe('Next')
  expect(notice).toMatchObject({
    id: expect.stringMatching(/^prt_[0-9a-f]{12}[0-9A-Za-z]{14}$/),
    sessionID: 'ses_1',
    messageID: 'msg_2',
    type: 'text',
    synthetic: true,
    text: expect.stringContaining('- a.txt: changed'),
  })
  expect(project.files()).toEqual({ 'a.txt': 'one\n' })
})

test('[U231] watch records a burst of changes as a turn, passes over what is ignored, and ends with Ctrl-C', async () => {
  using project = new Project({ 'a.txt': 'one\n' })
  const { child, ended } = project.start(['watch', '--pause', '0.3', '--json'])
  const lines: string[] = []
  child.stdout?.on('data', (text: string) => lines.push(...text.trim().split('\n')))
  const watching = new Promise<void>((resolve) => child.stderr?.on('data', () => resolve()))
  await watching
  project.write({ 'a.txt': 'two\n', 'b.txt': 'new\n' })
  const until = Date.now() + 20_000
  while (lines.length === 0 && Date.now() < until) await new Promise((next) => setTimeout(next, 50))
  project.write({ 'node_modules/x.js': '1' })
  await new Promise((next) => setTimeout(next, 800))
  project.write({ 'c.txt': 'last\n' })
  await new Promise((next) => setTimeout(next, 100))
  child.kill('SIGINT')
  expect((await ended).code).toBe(0)
  expect(lines.map((line) => JSON.parse(line).changes.map(({ path }: { path: string }) => path))).toEqual([
    ['a.txt', 'b.txt'],
    ['c.txt'],
  ])
  expect(project.ask('undo').reverted).toHaveLength(1)
  project.ask('undo')
  expect(Object.keys(project.files()).sort()).toEqual(['a.txt', 'node_modules/x.js'])
  expect(project.read('a.txt')).toBe('one\n')
})
