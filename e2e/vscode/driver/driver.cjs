// Runs functions that a test hands over, inside the extension host: what they see is the real API of a real editor.
// Only for whoever knows the secret of the test's environment.

const { createServer } = require('node:http')
const { mkdirSync, renameSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const vscode = require('vscode')

const { UNTURN_TEST_DRIVER: folder = '', UNTURN_TEST_SECRET: secret = '' } = process.env

exports.activate = (context) => {
  if (folder === '' || secret === '') return
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== secret) return response.writeHead(403).end()
    let text = ''
    for await (const chunk of request) text += chunk
    response.end(JSON.stringify(await answerTo(JSON.parse(text))))
  })
  server.listen(0, '127.0.0.1', () => {
    const roots = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath)
    mkdirSync(folder, { recursive: true })
    const name = join(folder, `${process.pid}`)
    writeFileSync(`${name}.part`, JSON.stringify({ port: server.address().port, roots }))
    renameSync(`${name}.part`, `${name}.json`)
  })
  context.subscriptions.push({ dispose: () => server.close() })
}

async function answerTo({ source, args }) {
  try {
    const value = await new Function(`return (${source})`)()(vscode, args)
    return { value: value ?? null }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
