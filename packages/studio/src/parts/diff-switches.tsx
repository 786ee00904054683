import { usePreferences } from '../lib/preferences.ts'

/** Split or unified, whitespace, wrapping. */
export function DiffSwitches({ whitespace = false }: { readonly whitespace?: boolean }) {
  const [preferences, change] = usePreferences()
  const { diffStyle, wrap } = preferences
  return (
    <fieldset className="switches" aria-label="How diffs are shown">
      <button
        type="button"
        className="quiet wide-only"
        aria-pressed={diffStyle === 'split'}
        onClick={() => change({ diffStyle: diffStyle === 'split' ? 'unified' : 'split' })}
      >
        Split
      </button>
      {whitespace ? (
        <button
          type="button"
          className="quiet"
          aria-pressed={preferences.whitespace === 'ignore'}
          onClick={() => change({ whitespace: preferences.whitespace === 'ignore' ? 'show' : 'ignore' })}
        >
          Ignore whitespace
        </button>
      ) : null}
      <button type="button" className="quiet" aria-pressed={wrap} onClick={() => change({ wrap: !wrap })}>
        Wrap
      </button>
    </fieldset>
  )
}
