import { expect, test } from 'vitest'
import { filesWrittenBy } from './jobs.ts'

test('[A117] a command writes what it sends output to, copies, moves, touches or removes; what it only names it does not', () => {
  const written = (command: string) => filesWrittenBy(command, '/w').map((path) => path.slice(3))
  expect(written('sleep 2; echo x >> log.txt &')).toEqual(['log.txt'])
  expect(written(`sh -c 'sleep 1; date > "out put.txt"' 2>&1 >/dev/null`)).toEqual(['out put.txt'])
  expect(written(`timeout 9 sh -c 'echo x > sub/f'`)).toEqual(['sub/f'])
  expect(written('node server.js --port 80 2> err.log')).toEqual(['err.log'])
  expect(written('touch a b && rm -f c; cp -r d e')).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(written('while true; do tee -a t; done')).toEqual(['t'])
  expect(written('tsc --outfile o.js in.ts; cc -o prog x.c')).toEqual(['o.js', 'prog'])
  expect(written('python app.py; npm run dev; grep rm file; echo $X > $Y')).toEqual([])
})
