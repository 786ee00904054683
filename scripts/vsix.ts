/**
 * `npm run vsix`: the extension as one file that every VS Code can install. A `.vsix` is a zip with the extension's files
 * and two small descriptions; written with fflate, since the usual tool brings native code and asks a server.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { strToU8, type Zippable, zipSync } from 'fflate'
import { buildExtension } from './build-vscode.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'packages/vscode')

interface Manifest {
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly version: string
  readonly publisher: string
  readonly categories: readonly string[]
  readonly keywords: readonly string[]
  readonly engines: { readonly vscode: string }
  readonly extensionKind: readonly string[]
  readonly icon: string
}

/** Gives the path of the file. */
export async function packExtension(folder = join(source, 'dist')): Promise<string> {
  mkdirSync(folder, { recursive: true })
  await buildExtension(join(folder, 'extension.cjs'))
  const whole = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Manifest &
    Record<string, unknown>
  // What the editor does not read: what it was built with.
  const { devDependencies: _, private: __, ...manifest } = whole
  const files: Zippable = {
    '[Content_Types].xml': strToU8(contentTypes),
    'extension.vsixmanifest': strToU8(vsixManifest(manifest)),
    'extension/package.json': strToU8(`${JSON.stringify(manifest)}\n`),
    'extension/readme.md': readFileSync(join(source, 'README.md')),
    'extension/LICENSE.txt': readFileSync(join(root, 'LICENSE')),
    'extension/dist/extension.cjs': readFileSync(join(folder, 'extension.cjs')),
    ...below('media'),
    ...below('walkthrough'),
  }
  const path = join(folder, `${manifest.name}-${manifest.version}.vsix`)
  // The same files make the same bytes: a zip would otherwise tell when it was made.
  writeFileSync(path, zipSync(files, { level: 9, mtime: new Date(1980, 0, 1) }))
  return path
}

function below(folder: string): Zippable {
  const names = readdirSync(join(source, folder)).sort()
  return Object.fromEntries(
    names.map((name) => [`extension/${folder}/${name}`, readFileSync(join(source, folder, name))]),
  )
}

const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json"/><Default Extension=".vsixmanifest" ContentType="text/xml"/><Default Extension=".md" ContentType="text/markdown"/><Default Extension=".txt" ContentType="text/plain"/><Default Extension=".cjs" ContentType="application/javascript"/><Default Extension=".png" ContentType="image/png"/><Default Extension=".svg" ContentType="image/svg+xml"/></Types>
`

function vsixManifest(manifest: Manifest): string {
  const property = (id: string, value: string) =>
    `<Property Id="Microsoft.VisualStudio.${id}" Value="${xml(value)}"/>`
  const asset = (type: string, path: string) =>
    `<Asset Type="Microsoft.VisualStudio.${type}" Path="${path}" Addressable="true"/>`
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${manifest.name}" Version="${manifest.version}" Publisher="${manifest.publisher}"/>
    <DisplayName>${xml(manifest.displayName)}</DisplayName>
    <Description xml:space="preserve">${xml(manifest.description)}</Description>
    <Tags>${xml(manifest.keywords.join(','))}</Tags>
    <Categories>${xml(manifest.categories.join(','))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/${manifest.icon}</Icon>
    <Properties>
      ${property('Code.Engine', manifest.engines.vscode)}
      ${property('Code.ExtensionKind', manifest.extensionKind.join(','))}
      ${property('Code.ExtensionDependencies', '')}
      ${property('Code.ExtensionPack', '')}
      ${property('Services.GitHubFlavoredMarkdown', 'true')}
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    ${asset('Code.Manifest', 'extension/package.json')}
    ${asset('Services.Content.Details', 'extension/readme.md')}
    ${asset('Services.Content.License', 'extension/LICENSE.txt')}
    ${asset('Services.Icons.Default', `extension/${manifest.icon}`)}
  </Assets>
</PackageManifest>
`
}

function xml(text: string): string {
  return text.replace(
    /[&<>"]/g,
    (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? char,
  )
}

if (import.meta.main) {
  const path = await packExtension()
  console.log(`${path} (${Math.ceil(readFileSync(path).length / 1_000)} KB)`)
}
