/** The name of a file in a diff; the same path may stand in it twice. */
export function itemId(path: string, at: number): string {
  return `${at}:${path}`
}

/** The name of a file that is shown as a whole, above the others. */
export function wholeId(path: string): string {
  return `whole:${path}`
}
