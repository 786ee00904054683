import type { Moment } from '../lib/moments.ts'
import { Shown, When } from '../parts/small.tsx'

interface Props {
  readonly moments: readonly Moment[]
  /** Undefined: now. */
  readonly at: Moment | undefined
  readonly onSlide: (key: string | undefined) => void
}

/** Moves through the session. Only looks: the files stay as they are. */
export function TimeSlider({ moments, at, onSlide }: Props) {
  if (moments.length < 2) return null
  const last = moments.length - 1
  const value = at === undefined ? last : moments.indexOf(at)
  const go = (to: number) => onSlide(to >= last ? undefined : moments[Math.max(0, to)]?.key)
  const shown = moments[value]
  return (
    <div className="slider">
      <div className="slider-row">
        <button
          type="button"
          className="quiet"
          aria-label="One moment earlier"
          disabled={value === 0}
          onClick={() => go(value - 1)}
        >
          ◂
        </button>
        <input
          type="range"
          aria-label="Time"
          aria-valuetext={at === undefined ? 'now' : at.what}
          min={0}
          max={last}
          value={value}
          onChange={(event) => go(Number(event.target.value))}
        />
        <button
          type="button"
          className="quiet"
          aria-label="One moment later"
          disabled={value === last}
          onClick={() => go(value + 1)}
        >
          ▸
        </button>
      </div>
      <p className="small muted cut">
        {at === undefined || shown === undefined ? (
          'Now. Slide back to look at the files as they were.'
        ) : (
          <>
            <When at={shown.time} /> · <Shown text={shown.what} />
          </>
        )}
      </p>
    </div>
  )
}
