/** The name of a file in a diff; the same path may stand in it twice. */
export function itemId(path: string, at: number): string {
  return `${at}:${path}`
}
