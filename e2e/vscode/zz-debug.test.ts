import { afterAll, beforeAll, expect, test } from 'vitest'
import { Editor } from './editor.ts'

let editor: Editor
beforeAll(async () => {
  editor = await Editor.start({
    settings: { 'git.enabled': true, 'git.openRepositoryInParentFolders': 'always' },
  })
})
afterAll(async () => {
  await editor?.[Symbol.asyncDispose]()
})
test('[X210] debug', async () => {
  await using desk = await editor.open(
    { 'a.txt': '1\n2\n3\n4\n5\n6\n' },
    {
      prepare: async (agent, project) => {
        project.git('init', '-q')
        project.git('add', '.')
        project.git('commit', '-qm', 'x')
        await agent.userEdits({ 'a.txt': '1\n2\n3\nmine, before\n4\n5\n6\n' })
        await agent.turn('Do', { 'a.txt': '1\nTWO\n3\nmine, before\n4\n6\n' })
      },
    },
  )
  await desk.openFile('a.txt')
  await desk.page.waitForTimeout(9000)
  await desk.shot('git1')
  await desk.run('editor.action.dirtydiff.next')
  await desk.page.waitForTimeout(2500)
  await desk.run('workbench.view.scm')
  await desk.page.waitForTimeout(2500)
  await desk.shot('git2')
  expect(1).toBe(1)
})
