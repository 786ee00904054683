import { useEffect, useState } from 'react'
import { useStudio } from './studio.ts'
import { FollowedTree, type Known } from './tree.ts'

export interface FollowedAnswer {
  readonly tree: Known | undefined
  readonly failure: Error | undefined
}

/** The tree of a session, live. */
export function useTree(session: string | undefined): FollowedAnswer {
  const { workspace, live, early, since } = useStudio()
  const [answer, setAnswer] = useState<FollowedAnswer & { readonly of?: string }>({
    tree: undefined,
    failure: undefined,
  })
  useEffect(() => {
    if (session === undefined) return
    const followed = new FollowedTree(workspace, session, early.take(session, since), (tree, failure) =>
      setAnswer({ tree, failure, of: session }),
    )
    const leave = live.hear((event) => followed.hear(event))
    return () => {
      leave()
      followed.end()
    }
  }, [workspace, live, early, since, session])
  return answer.of === session ? answer : { tree: undefined, failure: undefined }
}
