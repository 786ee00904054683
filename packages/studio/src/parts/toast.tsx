import { useEffect, useSyncExternalStore } from 'react'

interface Note {
  readonly id: number
  readonly text: string
  readonly isBad?: boolean
  /** What to do about it. */
  readonly action?: { readonly label: string; readonly run: () => void }
}

let notes: readonly Note[] = []
let made = 0
const watchers = new Set<() => void>()

function change(next: readonly Note[]): void {
  notes = next
  for (const watcher of watchers) watcher()
}

export function tell(note: Omit<Note, 'id'>): void {
  made += 1
  change([...notes.slice(-2), { ...note, id: made }])
}

function close(id: number): void {
  change(notes.filter((note) => note.id !== id))
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

const staysMs = 12_000

export function Toasts() {
  const shown = useSyncExternalStore(watch, () => notes)
  return (
    <section className="toasts" aria-live="polite" aria-label="Messages">
      {shown.map((note) => (
        <Toast key={note.id} note={note} />
      ))}
    </section>
  )
}

function Toast({ note }: { readonly note: Note }) {
  const { id, text, isBad, action } = note
  useEffect(() => {
    const timer = setTimeout(() => close(id), isBad === true ? staysMs * 2 : staysMs)
    return () => clearTimeout(timer)
  }, [id, isBad])
  return (
    <div className={isBad === true ? 'toast bad' : 'toast'}>
      <span className="grow">{text}</span>
      {action === undefined ? null : (
        <button
          type="button"
          className="quiet"
          onClick={() => {
            close(id)
            action.run()
          }}
        >
          {action.label}
        </button>
      )}
      <button type="button" className="quiet" aria-label="Close this message" onClick={() => close(id)}>
        ✕
      </button>
    </div>
  )
}
