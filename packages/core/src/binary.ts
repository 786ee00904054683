/** A leaf, since history and review must agree about what is text. */

/** As git decides it: a NUL among the first 8,000 bytes. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8_000).includes(0)
}
