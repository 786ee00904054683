/**
 * Makes visible what would not be seen, or would make something else be seen: control characters, characters without
 * width, and those that turn the direction of the text around them.
 */

const c0 = /[\0-\x08\x0b-\x1f]/g
const others = /[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff]/gu

export function visible(text: string): string {
  return text
    .replace(c0, named)
    .replace(others, named)
}

function named(char: string): string {
  return `\u27e6U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}\u27e7`
}

/** Of a patch: the ends of lines stay as they are, unless some lines that came or went have another end than the rest. */
export function visiblePatch(patch: string): string {
  const isMixed = /^[-+].*\r$/m.test(patch) && /^[-+](?!\+\+ |-- ).*[^\r]$/m.test(patch)
  return patch
    .split('\n')
    .map((line) => {
      const [text, end] = line.endsWith('\r') ? [line.slice(0, -1), isMixed ? named('\r') : '\r'] : [line, '']
      return visible(text) + end
    })
    .join('\n')
}
