import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const languages = fileURLToPath(new URL('../src/diff/languages.ts', import.meta.url))
const nothing = fileURLToPath(new URL('../src/diff/nothing.ts', import.meta.url))

/** What the diff component could load and we never do: other highlighters, all themes, three hundred languages. */
const replaced: Readonly<Record<string, string>> = {
  'shiki/langs': languages,
  'shiki/wasm': nothing,
  'shiki/engine/oniguruma': nothing,
  '@pierre/highlights/themes/loader': nothing,
  '@pierre/theming/themes': nothing,
}

/**
 * Fits @pierre/diffs into a page with a strict policy, and into a build of a few seconds.
 *
 * It writes style sheets of its own into the page as `<style>` elements, which the policy refuses. Here it makes
 * elements of ours instead, which hand the same text to the browser as a constructed sheet: src/diff/adopted-style.ts.
 */
export function fitDiffs(where: 'page' | 'worker'): Plugin {
  // Workers are handed the languages that they need; they load none themselves.
  const all = where === 'page' ? replaced : { ...replaced, 'shiki/langs': nothing }
  return {
    name: 'fit-diffs',
    enforce: 'pre',
    resolveId: (id) => all[id] ?? (/\/highlights(-\w+)?\.js$/.test(id) ? nothing : undefined),
    transform(code, id) {
      if (!id.includes('@pierre/diffs')) return undefined
      const styled = code.replaceAll(/createElement\((["'])style\1\)/g, 'createElement("adopted-style")')
      return { code: styled.replace(/^"use client";?\n/, ''), map: null }
    },
  }
}
