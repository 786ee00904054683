import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { askCommand, findCommand } from './command.ts'
import { parseAddress } from './server-address.ts'

const only = (...there: readonly string[]) => ({
  isThere: async (path: string) => there.includes(path),
})

test('[X120] the command is looked for in absolute folders of the path, never beside the project', async () => {
  const place = { env: { PATH: '.:bin::/usr/bin:/opt/bin' }, platform: 'linux' as const }
  expect(
    await findCommand('unturn', { ...place, ...only('unturn', './unturn', 'bin/unturn', '/opt/bin/unturn') }),
  ).toBe('/opt/bin/unturn')
  await expect(findCommand('./unturn', { ...place, ...only('./unturn') })).rejects.toThrow('was not found')
  await expect(findCommand('unturn', { ...place, ...only('unturn', 'bin/unturn') })).rejects.toMatchObject({
    reason: 'not-found',
    hint: expect.stringContaining('npm install -g unturn'),
  })
  expect(await findCommand('/x/unturn', { ...place, ...only('/x/unturn') })).toBe('/x/unturn')
  const windows = { env: { Path: 'C:\\n;bin' }, platform: 'win32' as const }
  expect(await findCommand('unturn', { ...windows, ...only('C:\\n\\unturn.cmd') })).toBe('C:\\n\\unturn.cmd')
})

test('[X120] what the command says is the message, and what it did not say is not made up', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-command-'))
  const script = (text: string) => {
    const path = join(folder, 'unturn')
    writeFileSync(path, `#!/bin/sh\n${text}\n`)
    chmodSync(path, 0o755)
    return path
  }
  try {
    expect(await askCommand(script(`echo '{"a":1}'`), [])).toEqual({ a: 1 })
    const refused = script(`echo '{"error":{"message":"No.","hint":"Ask later."}}'; exit 1`)
    await expect(askCommand(refused, [])).rejects.toMatchObject({ message: 'No.', hint: 'Ask later.' })
    await expect(askCommand(script('echo broken >&2; exit 1'), ['serve'])).rejects.toThrow(
      '"unturn serve" failed: broken',
    )
    await expect(askCommand(script('exit 0'), ['serve'])).rejects.toThrow('it printed no answer')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('[X120] the server is one of this machine, or none', () => {
  expect(parseAddress({ url: 'http://127.0.0.1:4000/#token=ab-C_d&workspace=w1', workspace: 'w1' })).toEqual({
    url: 'http://127.0.0.1:4000',
    token: 'ab-C_d',
    workspace: 'w1',
  })
  for (const url of ['http://example.org:80/#token=x', 'http://127.0.0.1.example.org:1/#token=x', undefined])
    expect(() => parseAddress({ url })).toThrow('did not say where its server is')
})
