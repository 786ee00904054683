import { expect, test } from 'vitest'
import { faultFs } from '../testing/fault-fs.ts'
import { SimDisk, seededRandom } from '../testing/sim-disk.ts'
import { absPathUnchecked, type RelPath, type SessionId, type StepId, type TurnId } from '../values.ts'
import { type Flight, Flights } from './flights.ts'

const folder = absPathUnchecked('/flights')

function flight(step: string, beganMs: number, command: string): Flight {
  return {
    step: step as StepId,
    session: 'session' as SessionId,
    turn: 't1' as TurnId,
    tool: 'edit',
    agent: 'agent',
    command,
    paths: ['a.txt' as RelPath],
    beganMs,
    implicit: false,
  }
}

const first = flight('s1', 1, 'a command that is longer than the next one, and then some')
const second = flight('s2', 2, 'short')
const third = flight('s3', 3, 'third')

function newDisk(): SimDisk {
  const disk = new SimDisk()
  disk.createFolder(folder, 0o700)
  disk.syncFolder(absPathUnchecked('/'))
  return disk
}

function thrown(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}

test('[L120] after a power cut a step that has begun is in flight, and none that is half of two others', () => {
  for (let seed = 0; seed < 2000; seed += 1) {
    const disk = newDisk()
    const flights = new Flights(disk, folder)
    flights.begin(first)
    flights.end(first.step)
    disk.cutAfter(1 + (seed % 12))
    const error = thrown(() => flights.begin(second))
    const after = new Flights(disk.powerCut(seededRandom(seed)), folder)
    const found = after.list()
    for (const one of found) expect([first, second], `seed ${seed}`).toContainEqual(one)
    if (error === undefined) expect(found).toContainEqual(second)
    for (const { step } of found) after.end(step)
    expect(after.list()).toEqual([])
    after.begin(third)
    expect(after.list()).toEqual([third])
    after.end(third.step)
    after.dropSpares()
    expect(after.list()).toEqual([])
  }
})

test('[L121] whoever holds the lock sees what others have begun and ended since, alone or not', () => {
  const disk = newDisk()
  const [one, two] = [new Flights(disk, folder), new Flights(faultFs(disk, 1_000_000, 'kill'), folder)]
  const held = (flights: Flights, alone: boolean, work: () => void) => {
    flights.hold(alone)
    work()
    flights.release()
  }
  held(one, false, () => one.begin(first))
  held(one, true, () => expect(one.list()).toEqual([first]))
  held(two, false, () => {
    expect(two.list()).toEqual([first])
    two.end(first.step)
    two.begin(second)
    expect(two.list()).toEqual([second])
  })
  expect(one.list()).toEqual([second]) // without the lock: always a look
  held(one, false, () => expect(one.list()).toEqual([second]))
  held(one, true, () => {
    one.end(second.step)
    expect(one.list()).toEqual([])
    one.begin(third)
  })
  expect(two.list()).toEqual([third])
  expect(disk.readFolder(folder)).toEqual(['s3.json']) // one file, used three times
})

test('[L120] a file that begins as one step and ends as another is no flight', () => {
  const disk = newDisk()
  const whole = JSON.stringify({ ...first, whole: first.step })
  const file = absPathUnchecked(`${folder}/${first.step}.json`)
  disk.createFile(file, [Buffer.from(whole)], 0o600)
  expect(new Flights(disk, folder).list()).toEqual([first])
  disk.overwrite(file, Buffer.from(whole.replace('"whole":"s1"', '"whole":"s2"')))
  expect(new Flights(disk, folder).list()).toEqual([])
})
