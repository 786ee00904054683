import { useMarks } from '../lib/place.ts'

/** On a narrow screen list and details stand behind each other. */
export function BackToList({ to = 'Timeline' }: { readonly to?: string }) {
  const [, mark] = useMarks()
  return (
    <button
      type="button"
      className="quiet narrow-only back"
      onClick={() =>
        mark({ turn: undefined, step: undefined, op: undefined, past: undefined, file: undefined })
      }
    >
      ‹ {to}
    </button>
  )
}
