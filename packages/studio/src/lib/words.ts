/** Times, sizes and numbers, as people read them. */

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}

const sizes = ['bytes', 'KB', 'MB', 'GB'] as const

export function size(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < sizes.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${sizes[unit]}`
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const month = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', year: 'numeric' })

/** The time today, the day and the time before that. */
export function moment(iso: string, now = new Date()): string {
  const at = new Date(iso)
  return at.toDateString() === now.toDateString() ? clock.format(at) : `${day.format(at)} ${clock.format(at)}`
}

export function wholeMoment(iso: string): string {
  return whole.format(new Date(iso))
}

export function dayOf(iso: string): string {
  return month.format(new Date(iso))
}

/** The beginning of an id: enough to tell it from others on a screen. */
export function short(id: string): string {
  return id.length <= 10 ? id : id.slice(0, 10)
}

export function shortSession(id: string): string {
  return id.length <= 18 ? id : `${id.slice(0, 8)}…`
}
