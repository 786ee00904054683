import { UnturnRequestError } from '@unturn/client'
import { Shown } from './small.tsx'

/** What went wrong, what was kept, and what to do next; in the words of whoever knows. */
export function Failure({ failure, again }: { readonly failure: Error; readonly again?: () => void }) {
  const told = failure instanceof UnturnRequestError
  return (
    <div className="failure" role="alert">
      <p>
        <Shown text={told ? failure.message : 'The server does not answer. Nothing was changed.'} />
      </p>
      <p className="muted">
        <Shown
          text={
            told
              ? failure.hint
              : 'The page tries again by itself. If the server has ended, run "unturn studio" anew.'
          }
        />
      </p>
      {again === undefined ? null : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}
