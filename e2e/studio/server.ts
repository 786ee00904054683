/** The server as a process of its own, on a port and with a token that a test has chosen: so it can be killed, and come again. */

import { startServer } from '@unturn/server'
import { agentsSeen } from '../../packages/cli/src/agents-seen.ts'

const { STUDIO_PORT: port = '0', STUDIO_TOKEN: token = '', STUDIO_FOLDER: studio = '' } = process.env

const server = await startServer({
  version: '0.0.0-test',
  port: Number(port),
  token,
  studio,
  agents: agentsSeen,
})
process.stdout.write(`${server.port}\n`)
