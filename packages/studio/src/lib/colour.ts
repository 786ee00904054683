/** One colour for each agent, the same everywhere and every time. */

const colours = 8

export function colourOf(agent: string): string {
  if (agent === 'user') return 'var(--user)'
  if (agent === 'unturn') return 'var(--muted)'
  let sum = 0
  for (const char of agent) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) >>> 0
  return `var(--agent-${sum % colours})`
}
