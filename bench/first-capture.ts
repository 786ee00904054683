/** Started by the benchmark, in a fresh process: opens a workspace, captures it, and says how long that took. */

import { loadBuilt, openBuilt } from './unturn.ts'

const [root, store] = process.argv.slice(2)
if (root === undefined || store === undefined) throw new Error('usage: first-capture.ts ROOT STORE')
await loadBuilt()
const start = performance.now()
await using workspace = await openBuilt(root, process.env, store)
await workspace.capture()
process.stdout.write(`${performance.now() - start}\n`)
