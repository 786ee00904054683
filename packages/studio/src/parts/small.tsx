/** Small things that stand everywhere. */

import type { ReactNode } from 'react'
import { colourOf } from '../lib/colour.ts'
import { visible } from '../lib/visible.ts'
import { moment, wholeMoment } from '../lib/words.ts'

/** Text of somebody else's: a prompt, a path, a command. Nothing in it can hide, or turn the line around. */
export function Shown({ text }: { readonly text: string }) {
  return <bdi>{visible(text)}</bdi>
}

export function Lines({ additions, deletions }: { readonly additions: number; readonly deletions: number }) {
  return (
    <span className="num small lines">
      <span className="add">
        <span aria-hidden="true">+</span>
        {additions.toLocaleString('en')}
        <span className="hidden"> lines added</span>
      </span>{' '}
      <span className="del">
        <span aria-hidden="true">−</span>
        {deletions.toLocaleString('en')}
        <span className="hidden"> lines removed</span>
      </span>
    </span>
  )
}

export function Agent({ name }: { readonly name: string }) {
  const shown = name === 'user' ? 'you' : name
  return (
    <span className="agent" style={{ color: colourOf(name) }}>
      <Shown text={shown} />
    </span>
  )
}

export function When({ at }: { readonly at: string }) {
  if (at === '') return null // not told yet
  return (
    <time dateTime={at} title={wholeMoment(at)} className="num">
      {moment(at)}
    </time>
  )
}

/** A path with its folder muted, so that the name is what one sees. */
export function Path({ path, from }: { readonly path: string; readonly from?: string | undefined }) {
  const cut = path.lastIndexOf('/') + 1
  return (
    <span className="path" title={visible(path)}>
      {from === undefined || from === path ? null : (
        <span className="muted">
          <Shown text={from} /> →{' '}
        </span>
      )}
      <span className="muted">
        <Shown text={path.slice(0, cut)} />
      </span>
      <Shown text={path.slice(cut)} />
    </span>
  )
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
