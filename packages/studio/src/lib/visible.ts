/**
 * Makes visible what would not be seen, or would make something else be seen: control characters, characters without
 * width, and those that turn the direction of the text around them.
 */

const c0 = /[\0-\x08\x0b-\x1f]/g
const others =
  /[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff]/gu

export function visible(text: string): string {
  return text.replace(c0, named).replace(others, named)
}

function named(char: string): string {
  return `\u27e6U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}\u27e7`
}

/** Of a patch: the ends of lines stay as they are, unless lines of a file that came or went have different ones. */
export function visiblePatch(patch: string): string {
  return patch
    .split(/^(?=diff --git )/m)
    .map(visibleFile)
    .join('')
}

function visibleFile(file: string): string {
  const start = Math.max(0, file.search(/^@@ /m))
  const lines = file.slice(start).split('\n')
  const changed = lines.filter((line) => /^[-+]/.test(line))
  const isMixed = new Set(changed.map((line) => line.endsWith('\r'))).size === 2
  const shown = lines.map((line) =>
    line.endsWith('\r') ? visible(line.slice(0, -1)) + (isMixed ? named('\r') : '\r') : visible(line),
  )
  return file.slice(0, start) + shown.join('\n')
}
