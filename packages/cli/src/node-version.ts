/** The oldest Node that has what we stand on. An older one would fail later, in the middle of something. */

export function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < 22 || (major === 22 && minor < 13)
}
