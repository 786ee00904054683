import { expect, test } from 'vitest'
import { pathsOfPatch, touchedPaths } from './apply-patch.ts'

const patch = `*** Begin Patch
*** Add File: src/new file.ts
+*** Add File: not-a-header.txt
+export {}
*** Update File: src/old.ts
*** Move to: src/moved.ts
@@ function a
 context
-one
+two
*** Delete File: gone.txt
*** Update File: a.txt
@@
-*** Delete File: also-not.txt
+x
*** End of File
*** End Patch
`

test('[A105] added, updated, moved and deleted paths are found, and nothing that is only content', () => {
  expect(pathsOfPatch(patch)).toEqual([
    { path: 'src/new file.ts', op: 'create' },
    { path: 'src/moved.ts', op: 'move', from: 'src/old.ts' },
    { path: 'gone.txt', op: 'delete' },
    { path: 'a.txt', op: 'modify' },
  ])
  expect(touchedPaths(pathsOfPatch(patch))).toEqual([
    'src/new file.ts',
    'src/old.ts',
    'src/moved.ts',
    'gone.txt',
    'a.txt',
  ])
})

test('[A105] other line ends, blanks around a path and half a patch', () => {
  expect(pathsOfPatch('*** Begin Patch\r\n*** Add File:  a.txt \r\n+x\r\n')).toEqual([
    { path: 'a.txt', op: 'create' },
  ])
  expect(pathsOfPatch('*** Move to: b.txt\n')).toEqual([{ path: 'b.txt', op: 'create' }])
  expect(pathsOfPatch('*** Add File: \n')).toEqual([])
  expect(pathsOfPatch('')).toEqual([])
})
