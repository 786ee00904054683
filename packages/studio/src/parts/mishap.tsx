import { Component, type ReactNode } from 'react'

interface Props {
  readonly children: ReactNode
  /** What could not be shown. */
  readonly what: string
}

/** Keeps a part that fails from taking the whole page with it: a file of the page that the server could not give, say. */
export class Mishap extends Component<Props, { readonly failure?: Error }> {
  override state: { readonly failure?: Error } = {}

  static getDerivedStateFromError(failure: Error) {
    return { failure }
  }

  override render() {
    const { failure } = this.state
    if (failure === undefined) return this.props.children
    return (
      <div className="failure" role="alert">
        <p>{this.props.what} could not be shown. Nothing was changed.</p>
        <p className="muted">Load the page again: you come back to this place. ({failure.message})</p>
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
      </div>
    )
  }
}
