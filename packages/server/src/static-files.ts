/** The files of the page. Only names that were found in its folder are served: there is no path to climb out with. */

import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
}

export class StaticFiles {
  readonly #folder: string
  #names: ReadonlyMap<string, string>

  private constructor(folder: string, names: ReadonlyMap<string, string>) {
    this.#folder = folder
    this.#names = names
  }

  /** Undefined where the page was not built. */
  static open(folder: string): StaticFiles | undefined {
    const names = namesBelow(folder)
    return names.has('/index.html') ? new StaticFiles(folder, names) : undefined
  }

  async find(path: string): Promise<Response | undefined> {
    const wanted = path === '/' ? '/index.html' : path
    // Built again while the server runs, the page has other names.
    if (wanted === '/index.html') this.#names = namesBelow(this.#folder)
    const file = this.#names.get(wanted)
    const type = types[extname(wanted)]
    if (file === undefined || type === undefined) return undefined
    const bytes = await readFile(file).catch(() => undefined)
    if (bytes === undefined) return undefined
    // A name with a hash in it never means other bytes.
    const isHashed = /^\/assets\/.*[-.][A-Za-z0-9_-]{8,}\.\w+$/.test(wanted)
    return new Response(new Uint8Array(bytes), {
      headers: {
        'content-type': type,
        'cache-control': isHashed ? 'private, max-age=31536000, immutable' : 'no-store',
      },
    })
  }
}

function namesBelow(folder: string, at = '', found = new Map<string, string>()): ReadonlyMap<string, string> {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) namesBelow(path, `${at}/${entry.name}`, found)
      else if (entry.isFile()) found.set(`${at}/${entry.name}`, path)
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  return found
}
