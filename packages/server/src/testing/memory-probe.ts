/** Loaded beside a server (`node --expose-gc --import …`): whoever started it may ask what it really holds. */

/** With all garbage gone: what lies around says more about the time of day than about the server. */
export type Memory = Pick<NodeJS.MemoryUsage, 'rss' | 'heapUsed' | 'external'>

process.on('message', () => {
  const collect = (globalThis as { readonly gc?: () => void }).gc
  collect?.()
  collect?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send?.({ rss, heapUsed, external } satisfies Memory)
})
process.channel?.unref()
