/** Colours of code: few, calm, and legible on the grounds of added and removed words, too. */

interface Palette {
  readonly ground: string
  readonly text: string
  readonly comment: string
  readonly keyword: string
  readonly string: string
  readonly number: string
  readonly function: string
  readonly type: string
}

const palettes: Readonly<Record<'light' | 'dark', Palette>> = {
  light: {
    ground: '#ffffff',
    text: '#1b1b23',
    comment: '#56576a',
    keyword: '#7a2280',
    string: '#0d5a35',
    number: '#7c3f00',
    function: '#1f3fa3',
    type: '#0a5468',
  },
  dark: {
    ground: '#16161c',
    text: '#e8e8ef',
    comment: '#b6b7c8',
    keyword: '#dfb0ee',
    string: '#a5dfbb',
    number: '#f0c896',
    function: '#b4c4ff',
    type: '#98d8e6',
  },
}

const scopes: Readonly<Record<Exclude<keyof Palette, 'ground' | 'text'>, readonly string[]>> = {
  comment: ['comment', 'punctuation.definition.comment', 'markup.quote'],
  keyword: [
    'keyword',
    'storage',
    'entity.name.tag',
    'markup.heading',
    'punctuation.definition.heading',
    'variable.language',
  ],
  string: ['string', 'markup.inline.raw', 'markup.raw'],
  number: [
    'constant',
    'support.constant',
    'entity.other.attribute-name',
    'markup.list',
    'variable.other.constant',
  ],
  function: [
    'entity.name.function',
    'support.function',
    'meta.function-call entity.name.function',
    'markup.underline.link',
  ],
  type: [
    'entity.name.type',
    'entity.name.class',
    'support.type',
    'support.class',
    'entity.other.inherited-class',
  ],
}

export const themes = { light: 'unturn-light', dark: 'unturn-dark' } as const

export function themeOf(type: 'light' | 'dark') {
  const palette = palettes[type]
  const colours = Object.entries(scopes) as [keyof typeof scopes, readonly string[]][]
  return {
    name: themes[type],
    type,
    fg: palette.text,
    bg: palette.ground,
    colors: { 'editor.background': palette.ground, 'editor.foreground': palette.text },
    tokenColors: [
      { settings: { foreground: palette.text, background: palette.ground } },
      // What it is an operator of stands out already.
      { scope: ['keyword.operator', 'punctuation'], settings: { foreground: palette.text } },
      ...colours.map(([name, scope]) => ({ scope: [...scope], settings: { foreground: palette[name] } })),
      { scope: ['keyword.operator'], settings: { foreground: palette.text } },
      { scope: ['markup.bold'], settings: { fontStyle: 'bold' } },
      { scope: ['markup.italic'], settings: { fontStyle: 'italic' } },
    ],
  }
}
