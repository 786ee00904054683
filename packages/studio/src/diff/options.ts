import { useMemo } from 'react'
import { usePreferences } from '../lib/preferences.ts'
import { useTheme } from '../lib/theme.ts'
import { themes } from './themes.ts'

export const headerHeight = 38

/** How diffs and files are drawn, as somebody likes it. */
export function useDrawing() {
  const theme = useTheme()
  const [{ diffStyle, wrap }] = usePreferences()
  const isNarrow = matchMedia('(max-width: 760px)').matches
  return useMemo(
    () =>
      ({
        theme: themes,
        themeType: theme,
        // Two columns of a phone's width show nothing of either.
        diffStyle: isNarrow ? 'unified' : diffStyle,
        overflow: wrap ? 'wrap' : 'scroll',
        diffIndicators: 'classic',
        hunkSeparators: 'line-info-basic',
        lineDiffType: 'word-alt',
        stickyHeaders: true,
        lineHoverHighlight: 'disabled',
        itemMetrics: { diffHeaderHeight: headerHeight, lineHeight: 20 },
        layout: { paddingTop: 0, paddingBottom: 12, gap: 10 },
      }) as const,
    [theme, diffStyle, wrap, isNarrow],
  )
}
