import type { Drawn } from '../lib/graph.ts'

const step = 14

function x(lane: number): number {
  return 12 + lane * step
}

interface Props {
  readonly drawn: Drawn
  readonly height: number
  readonly colour: string
  readonly kind: 'turn' | 'edit' | 'step'
  readonly isHead?: boolean
  readonly isOff?: boolean
}

export function graphWidth(drawn: Drawn): number {
  return x(drawn.width - 1) + 12
}

/** The part of the tree's lines that belongs to one row. */
export function GraphLines({ drawn, height, colour, kind, isHead = false, isOff = false }: Props) {
  const width = graphWidth(drawn)
  const middle = kind === 'turn' ? 15 : height / 2
  const place = x(Math.max(drawn.lane, 0))
  return (
    <svg className="graph" width={width} height={height} aria-hidden="true">
      {drawn.lines.map(({ from, to, way }) => (
        <path key={`${from} ${to} ${way}`} d={pathOf(way, x(from), x(to), middle, height)} />
      ))}
      {kind === 'turn' ? (
        <>
          {isHead ? <circle cx={place} cy={middle} r={8} className="ring" /> : null}
          <circle
            cx={place}
            cy={middle}
            r={4.5}
            fill={isOff ? 'var(--panel)' : colour}
            stroke={colour}
            strokeWidth={1.5}
          />
        </>
      ) : null}
      {kind === 'edit' ? (
        <rect
          x={place - 4}
          y={middle - 4}
          width={8}
          height={8}
          transform={`rotate(45 ${place} ${middle})`}
          className="edit-mark"
        />
      ) : null}
    </svg>
  )
}

function pathOf(
  way: 'in' | 'out' | 'past',
  from: number,
  to: number,
  middle: number,
  height: number,
): string {
  const [top, bottom] = way === 'in' ? [0, middle] : way === 'out' ? [middle, height] : [0, height]
  if (from === to) return `M${from} ${top}V${bottom}`
  const half = (top + bottom) / 2
  return `M${from} ${top}C${from} ${half} ${to} ${half} ${to} ${bottom}`
}
