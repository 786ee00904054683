/** `@unturn/server`: the engine over HTTP, with live events, for one user on one machine. */

export {
  AlreadyRunning,
  pageUrlOf,
  type RunningServer,
  type ServerOptions,
  startServer,
} from './main.ts'
export { openApi } from './openapi.ts'
export type { AgentList } from './schemas.ts'
