/** Where somebody is in the page, kept in the address behind the `#`: no server sees it, and the back button works. */

export const views = ['history', 'changes', 'review', 'files', 'store'] as const
export type View = (typeof views)[number]

export interface Place {
  readonly workspace: string | undefined
  readonly view: View
  /** What is looked at there: session, turn, file, … */
  readonly at: Readonly<Record<string, string>>
}

/** The token that whoever opened the page has put behind the `#`. It is taken out of the address at once, since an
 * address is copied, bookmarked and shown on screens. */
export function takeTokenFromAddress(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1))
  const token = given.get('token')
  if (token === null) return undefined
  const workspace = given.get('workspace') ?? undefined
  history.replaceState(null, '', hashOf({ workspace, view: 'history', at: {} }))
  return token
}

export function readPlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [workspace = '', name = ''] = path.split('/').map(decodeURIComponent)
  const view = views.find((one) => one === name) ?? 'history'
  return {
    workspace: workspace === '' ? undefined : workspace,
    view,
    at: Object.fromEntries(new URLSearchParams(query)),
  }
}

export function hashOf({ workspace = '', view, at }: Place): string {
  const query = new URLSearchParams(at).toString()
  return `#/${encodeURIComponent(workspace)}/${view}${query === '' ? '' : `?${query}`}`
}
