import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packExtension } from '../../scripts/vsix.ts'
import { node } from '../support.ts'
import { Agent, Editor, endServer, eventually } from './editor.ts'
import { findEditor } from './pinned.ts'
import { choose, offered, press, row, rowsOf, statusBar, toast } from './screen.ts'

let editor: Editor

beforeAll(async () => {
  editor = await Editor.start()
})

afterAll(async () => {
  await editor?.[Symbol.asyncDispose]()
})

const start = { 'notes.txt': 'one\ntwo\nthree\n' }

interface HoverText {
  readonly value: string
}

test('[X108] [X109] [X119] a hover tells which prompt wrote a line, and the history of the file lists every change', async () => {
  const prompt = 'Shout [here](command:workbench.action.quit)\nand nowhere else'
  await using desk = await editor.open(start, {
    prepare: async (agent) => {
      await agent.turn(prompt, { 'notes.txt': 'one\nTWO\nthree\n' })
      await agent.userEdits({ 'notes.txt': 'one\nTWO\nthree\nmine\n' })
    },
  })
  const { page } = desk
  await desk.run('unturn.turns.focus')
  await row(page, 'Shout').waitFor()
  await desk.openFile('notes.txt')
  await desk.host(async (api) => {
    await api.window.activeTextEditor?.edit((edit) => edit.insert(new api.Position(0, 0), 'typed\n'))
  })
  const hoverAt = (line: number) =>
    desk.host(async (api, at: number) => {
      const uri = api.window.activeTextEditor?.document.uri
      const hovers = await api.commands.executeCommand<{ readonly contents: readonly HoverText[] }[]>(
        'vscode.executeHoverProvider',
        uri,
        new api.Position(at, 1),
      )
      return hovers.flatMap(({ contents }) => contents.map(({ value }) => value)).join('\n')
    }, line)
  const said = await eventually(
    () => hoverAt(2),
    (text) => text !== '',
  )
  expect(said).toContain('claude')
  expect(said).toContain('Shout')
  expect(said).not.toContain('](command:workbench')
  expect(said).toMatch(/\[Show the turn\]\(command:unturn\.showTurn/)
  expect([await hoverAt(0), await hoverAt(1), await hoverAt(4)].join('')).not.toContain('claude')

  await page.getByText('TWO', { exact: true }).first().hover()
  await page.locator('.monaco-hover').getByText('Roll back only this turn').waitFor()
  await desk.shot('blame')

  await desk.run('unturn.fileHistory.focus')
  const entry = row(page, /Shout/)
  await entry.waitFor()
  await row(page, /^You/).waitFor()
  await desk.shot('file-history')
  await entry.click()
  await page.getByRole('tab', { name: /notes.txt \(before ↔ after this turn\)/ }).waitFor()
  await eventually(
    () => desk.host((api) => api.window.visibleTextEditors.map(({ document }) => document.getText())),
    (texts) => texts.includes('one\ntwo\nthree\n') && texts.includes('one\nTWO\nthree\n'),
  )
})

test('[X112] a server that was killed or ended is started again, and what happened meanwhile is shown', async () => {
  await using desk = await editor.open(start, {
    prepare: async (agent) => {
      await agent.turn('First', { 'a.txt': 'a\n' })
    },
  })
  const { page, project, agent } = desk
  await desk.run('unturn.turns.focus')
  await row(page, 'First').waitFor()
  const pidNow = () => {
    const path = join(editor.base, 'store/server/server.json')
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')).pid as number) : 0
  }
  await desk.run('unturn.reconnect') // who is connected stays so
  const killed = pidNow()
  endServer(editor.base)
  await agent.turn('While nobody listened', { 'b.txt': 'b\n' })
  await row(page, 'While nobody listened').waitFor()
  expect(pidNow()).not.toBe(killed)

  const ended = pidNow()
  process.kill(ended, 'SIGTERM')
  await eventually(pidNow, (pid) => pid !== ended)
  // Recorded by the command, as hooks do it.
  project.turn({ 'c.txt': 'c\n' }, { session: 'chat-1', prompt: 'And once more' })
  await row(page, 'And once more').waitFor()
  await desk.begin('unturn.undo')
  await offered(page, 'Undo the Last Turn')
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 1 turn, 1 file.').waitFor()
  expect(project.files()['c.txt']).toBeUndefined()
})

test('[X111] [X105] of two folders each has its sessions, and undo acts on the one whose editor is open', async () => {
  const [one, two] = [editor.project(start), editor.project(start)]
  const agents = [new Agent(one), new Agent(two)] as const
  await agents[0].turn('In the first', { 'notes.txt': 'first\n' })
  await agents[1].turn('In the second', { 'notes.txt': 'second\n' }, { agent: 'codex', session: 'other' })
  const workspaceFile = join(editor.base, 'both.code-workspace')
  writeFileSync(
    workspaceFile,
    JSON.stringify({
      folders: [
        { path: one.dir, name: 'one' },
        { path: two.dir, name: 'two' },
      ],
    }),
  )
  await using desk = await editor.openFolder(two, agents[1], { workspaceFile })
  const { page } = desk
  await desk.run('unturn.turns.focus')
  await row(page, 'In the first').waitFor()
  await row(page, 'In the second').waitFor()
  const rows = await rowsOf(page)
  expect(rows.filter((text) => /^(one|two)/.test(text))).toHaveLength(2)
  await desk.openFile('notes.txt')
  await eventually(
    () => statusBar(page).textContent(),
    (text) => text?.includes('In the second') === true,
  )
  await desk.shot('two-folders')
  await desk.begin('unturn.undo')
  await offered(page, 'Undo the Last Turn: In the second')
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 1 turn, 1 file.').waitFor()
  expect([one.read('notes.txt'), two.read('notes.txt')]).toEqual(['first\n', start['notes.txt']])
  await agents[0][Symbol.asyncDispose]()
  one[Symbol.dispose]()
})

test('[X118] [X103] who wants to be asked only when needed is not asked for a plain undo, and is for a merge', async () => {
  await using desk = await editor.open(start, {
    prepare: async (agent, project) => {
      mkdirSync(join(project.dir, '.vscode'))
      writeFileSync(join(project.dir, '.vscode/settings.json'), '{"unturn.preview":"whenNeeded"}')
      await agent.turn('Number one', { 'notes.txt': '1\ntwo\nthree\n' })
      await agent.turn('Plain', { 'plain.txt': 'p\n' })
    },
  })
  const { page, project, agent } = desk
  await desk.run('unturn.turns.focus')
  await row(page, 'Plain').waitFor()
  await desk.begin('unturn.undo')
  await toast(page, 'Undone: 1 turn, 1 file.').waitFor()
  await agent.userEdits({ 'notes.txt': '1\ntwo\nthree\nmine\n' })
  await desk.begin('unturn.undo')
  const list = await offered(page, 'Undo the Last Turn: Number one')
  expect(list.join('\n')).toContain('merged: later edits are kept')
  await choose(page, 'takes 1 turn out')
  await eventually(
    () => project.read('notes.txt'),
    (text) => text === 'one\ntwo\nthree\nmine\n',
  )
  await desk.run('notifications.clearAll')
  await desk.begin('unturn.redoAll')
  await toast(page, 'Redone: 2 turns, 2 files.').waitFor()
  expect(project.read('notes.txt')).toBe('1\ntwo\nthree\nmine\n')
})

test('[X122] [X121] a folder of a repository shows what was recorded for all of it, and the walkthrough leads on', async () => {
  await using desk = await editor.open(
    { 'packages/shop/notes.txt': 'one\n', 'README.md': '# All\n' },
    {
      below: 'packages/shop',
      prepare: async (agent) => {
        await agent.turn('Both', { 'packages/shop/notes.txt': 'ONE\n', 'README.md': '# Everything\n' })
      },
    },
  )
  const { page, project } = desk
  await desk.run('unturn.turns.focus')
  await row(page, 'Both').click()
  await row(page, /^notes.txt/).waitFor()
  await press(page, /^README.md/, 'Open the File')
  await eventually(
    () => desk.host((api) => api.window.activeTextEditor?.document.uri.fsPath ?? ''),
    (path) => path === project.pathOf('README.md'),
  )
  await desk.begin('unturn.undo')
  await offered(page, 'Undo the Last Turn: Both')
  await page.keyboard.press('Enter')
  await toast(page, 'Undone: 1 turn, 2 files.').waitFor()
  expect(project.files()).toEqual({ 'packages/shop/notes.txt': 'one\n', 'README.md': '# All\n' })

  await desk.run('unturn.openWalkthrough')
  await page.getByText('Undo for AI coding agents').first().waitFor()
  await page.getByText('Connect your agent').first().waitFor()
  await desk.shot('walkthrough')
})

test('[X123] the package installs into the editor', async () => {
  const folder = join(editor.base, 'package')
  const path = await packExtension(folder)
  const places = ['--user-data-dir', join(folder, 'data'), '--extensions-dir', join(folder, 'extensions')]
  const run = (...args: readonly string[]) =>
    spawnSync(
      process.env.UNTURN_EDITOR_NODE ?? node,
      [findEditor() ?? '', ...places, '--config', join(folder, 'c'), ...args],
      {
        env: { PATH: process.env.PATH, HOME: folder },
        encoding: 'utf8',
        timeout: 60_000,
      },
    )
  expect(run('--install-extension', path).stdout).toContain('was successfully installed')
  expect(run('--list-extensions', '--show-versions').stdout).toContain('unturn.unturn-vscode@0.1.0')
})
