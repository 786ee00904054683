/** Root may read everything, so tests about permissions prove nothing as root: they run as somebody else. */

import { chownSync } from 'node:fs'
import { Fixture, type FixtureOptions } from './workspace.ts'

const nobody = 65534

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** This process without root's rights, until it is disposed of. */
export function withoutRoot(): Disposable {
  if (!isRoot()) return { [Symbol.dispose]: () => {} }
  process.setegid?.(nobody)
  process.seteuid?.(nobody)
  return {
    [Symbol.dispose]: () => {
      process.seteuid?.(0)
      process.setegid?.(0)
    },
  }
}

/** A fixture, not opened yet, whose folders belong to the one without rights. Open it inside `withoutRoot`. */
export function unprivilegedFixture(options: FixtureOptions = {}): Fixture {
  const fixture = new Fixture(options)
  if (isRoot())
    for (const folder of [fixture.base, fixture.dir, fixture.env.HOME ?? fixture.base])
      chownSync(folder, nobody, nobody)
  return fixture
}
