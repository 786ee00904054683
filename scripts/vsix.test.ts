import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strFromU8, unzipSync } from 'fflate'
import { expect, test } from 'vitest'
import { buildExtension } from './build-vscode.ts'
import { packExtension } from './vsix.ts'

test('[X114] the package is small, whole, and made of nothing but what it needs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-vsix-'))
  try {
    const bytes = readFileSync(await packExtension(folder))
    const files = unzipSync(bytes)
    expect(bytes.length).toBeLessThan(200_000)
    const text = (name: string) => strFromU8(files[name] ?? new Uint8Array())
    const manifest = JSON.parse(text('extension/package.json'))
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining(['[Content_Types].xml', 'extension.vsixmanifest', 'extension/LICENSE.txt']),
    )
    expect(text('extension/readme.md')).toContain('# Unturn for VS Code')
    expect(files[`extension/${manifest.icon}`]?.slice(1, 4)).toEqual(new Uint8Array([80, 78, 71]))
    expect(manifest).not.toHaveProperty('enabledApiProposals')
    expect(manifest).not.toHaveProperty('dependencies')
    expect(manifest).not.toHaveProperty('devDependencies')
    for (const step of manifest.contributes.walkthroughs[0].steps)
      expect(files).toHaveProperty([`extension/${step.media.markdown}`])
    expect(Object.keys(files).filter((name) => name.endsWith('.node'))).toEqual([])

    const bundle = text('extension/dist/extension.cjs')
    const required = [...bundle.matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => name ?? '')
    expect(required.filter((name) => name !== 'vscode' && !name.startsWith('node:'))).toEqual([])
    const addresses = [...bundle.matchAll(/https?:\/\/[\w.\\-]+/g)].map(([address]) =>
      address.replaceAll('\\', ''),
    )
    expect(addresses.filter((address) => !/^https?:\/\/127\.0\.0\.1/.test(address))).toEqual([])
    expect(await again(folder)).toEqual(bytes)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

async function again(folder: string): Promise<Buffer> {
  return readFileSync(await packExtension(join(folder, 'again')))
}

test('[X114] every command of the manifest is one of the bundle, and every menu and key names one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'unturn-vsix-'))
  try {
    const bundle = readFileSync(await buildExtension(join(folder, 'extension.cjs')), 'utf8')
    const path = new URL('../packages/vscode/package.json', import.meta.url)
    const { contributes } = JSON.parse(readFileSync(path, 'utf8')) as { readonly contributes: Contributes }
    const known = contributes.commands.map(({ command }) => command)
    expect(known.filter((command) => !bundle.includes(`"${command}"`))).toEqual([])
    const named = [...Object.values(contributes.menus).flat(), ...(contributes.keybindings ?? [])]
    const names = named.flatMap(({ command }) => command ?? [])
    expect(names.filter((command) => !known.includes(command))).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

interface Named {
  /** A menu may name a menu instead. */
  readonly command?: string
}

interface Contributes {
  readonly commands: readonly { readonly command: string }[]
  readonly menus: Readonly<Record<string, readonly Named[]>>
  readonly keybindings?: readonly Named[]
}
