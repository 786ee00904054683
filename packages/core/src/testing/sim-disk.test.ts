/** The harness itself: a simulated disk that is too kind, or impossibly cruel, would prove nothing. */

import { expect, test } from 'vitest'
import { errorCode } from '../fs.ts'
import { type AbsPath, absPathUnchecked } from '../values.ts'
import { faultFs, faultSim, Killed } from './fault-fs.ts'
import { PowerCut, SimDisk, type SimDiskOptions, seededRandom } from './sim-disk.ts'

const p = absPathUnchecked

function write(disk: SimDisk, path: AbsPath, text: string): void {
  disk.createFile(path, [Buffer.from(text)], 0o644)
}

/** Everything that cuts at this point can leave, as `path=text` lists. */
function fates(prepare: (disk: SimDisk) => void, options: SimDiskOptions = {}): ReadonlySet<string> {
  const seen = new Set<string>()
  for (let seed = 1; seed <= 400; seed++) {
    const disk = new SimDisk(options)
    prepare(disk)
    seen.add(listing(disk.powerCut(seededRandom(seed)), '').join(' '))
  }
  return seen
}

function listing(disk: SimDisk, folder: string): readonly string[] {
  return disk
    .readFolder(p(folder === '' ? '/' : folder))
    .toSorted()
    .flatMap((name) => {
      const path = p(`${folder}/${name}`)
      if (disk.lstat(path)?.kind === 'folder') return [`${path}/`, ...listing(disk, path)]
      return [`${path}=${disk.readFile(path).toString()}`]
    })
}

test('[W57] bytes last once they are synced, and names once their folder is', () => {
  const both = fates((disk) => {
    write(disk, p('/f'), 'text')
    disk.syncFile(p('/f'))
    disk.syncFolder(p('/'))
  })
  expect(both).toEqual(new Set(['/f=text']))
  const nameOnly = fates((disk) => {
    write(disk, p('/f'), 'text')
    disk.syncFolder(p('/'))
  })
  expect(nameOnly).toEqual(new Set(['/f=', '/f=t', '/f=te', '/f=tex', '/f=text', '/f=\0\0\0\0']))
})

test('[W57] a new folder that was not synced in its parent is lost with all that is in it', () => {
  const seen = fates((disk) => {
    disk.createFolder(p('/d'), 0o755)
    write(disk, p('/d/f'), 'x')
    disk.syncFile(p('/d/f'))
    disk.syncFolder(p('/d'))
  })
  expect(seen).toEqual(new Set(['', '/d/ /d/f=x']))
})

test('[W57] a rename happens in both folders or in none', () => {
  const moved = (sync: string | undefined) =>
    fates((disk) => {
      for (const folder of ['/a', '/b']) disk.createFolder(p(folder), 0o755)
      write(disk, p('/a/f'), 'x')
      disk.settle()
      disk.rename(p('/a/f'), p('/b/g'))
      if (sync !== undefined) disk.syncFolder(p(sync))
    })
  const [old, young] = ['/a/ /a/f=x /b/', '/a/ /b/ /b/g=x']
  expect(moved(undefined)).toEqual(new Set([old, young]))
  expect(moved('/a')).toEqual(new Set([young]))
  expect(moved('/b')).toEqual(new Set([young]))
})

test('[W57] changes that were not synced are kept and lost independently of each other', () => {
  const seen = fates((disk) => {
    write(disk, p('/a'), '')
    write(disk, p('/b'), '')
  })
  expect(seen).toEqual(new Set(['', '/a=', '/b=', '/a= /b=']))
})

test('[W57] every call from the cut on fails', () => {
  const disk = new SimDisk()
  disk.cutAfter(2)
  write(disk, p('/a'), '')
  expect(() => disk.lstat(p('/a'))).toThrow(PowerCut)
  expect(() => write(disk, p('/b'), '')).toThrow(PowerCut)
})

test('[W57] it behaves like a disk: hard links, case, volumes, full folders', () => {
  const disk = new SimDisk({ ignoresCase: true, volumes: [p('/v')] })
  const codeOf = (work: () => unknown): string | undefined => {
    try {
      work()
    } catch (error) {
      return errorCode(error)
    }
    return undefined
  }
  write(disk, p('/a'), 'x')
  disk.hardLink(p('/a'), p('/b'))
  expect(disk.lstat(p('/b'))).toMatchObject({ nlink: 2, ino: disk.lstat(p('/a'))?.ino })
  disk.rename(p('/a'), p('/b')) // two names of one file: nothing happens
  expect(disk.readFolder(p('/'))).toEqual(['a', 'b'])
  disk.rename(p('/a'), p('/A'))
  expect(disk.readFolder(p('/')).toSorted()).toEqual(['A', 'b'])
  disk.createFolder(p('/v'), 0o755)
  expect(codeOf(() => disk.rename(p('/b'), p('/v/b')))).toBe('EXDEV')
  expect(codeOf(() => write(disk, p('/B'), ''))).toBe('EEXIST')
  disk.createFolder(p('/d'), 0o755)
  write(disk, p('/d/f'), '')
  expect(codeOf(() => disk.removeFolder(p('/d')))).toBe('ENOTEMPTY')
})

test('[W58] a fault strikes at its call, once or for good, until it is lifted', () => {
  const codes = (fault: 'EIO' | 'EIO-lasting' | 'ENOSPC-lasting') => {
    const port = faultFs(new SimDisk(), 2, fault)
    const outcomes = [1, 2, 3].map(() => attempt(() => port.lstat(p('/x'))))
    const wrote = attempt(() => port.createFile(p('/x'), [], 0o644))
    port.lifted = true
    return [...outcomes, wrote, attempt(() => port.lstat(p('/x')))]
  }
  expect(codes('EIO')).toEqual(['ok', 'EIO', 'ok', 'ok', 'ok'])
  expect(codes('EIO-lasting')).toEqual(['ok', 'EIO', 'EIO', 'EIO', 'ok'])
  expect(codes('ENOSPC-lasting')).toEqual(['ok', 'ok', 'ok', 'ENOSPC', 'ok'])
})

test('[W58] a killed write leaves half a file', () => {
  const disk = new SimDisk()
  const port = faultFs(disk, 1, 'short-write')
  expect(() => port.createFile(p('/x'), [Buffer.from('1234')], 0o644)).toThrow(Killed)
  expect(disk.readFile(p('/x')).toString()).toBe('12')
})

test('[W58] the fault simulation hits every call, and notices a body that is not safe', async () => {
  const { calls } = await faultSim({
    disk: () => new SimDisk(),
    world: (fs) => fs,
    body: (fs) => {
      fs.createFile(p('/t'), [Buffer.from('ab')], 0o644)
      fs.rename(p('/t'), p('/f'))
    },
    check: (fs) => expect(fs.lstat(p('/f'))?.size ?? 2).toBe(2),
  })
  expect(calls).toBe(2)
  const unsafe = faultSim({
    disk: () => new SimDisk(),
    world: (fs) => fs,
    body: (fs) => fs.createFile(p('/f'), [Buffer.from('ab')], 0o644),
    check: (fs) => expect(fs.lstat(p('/f'))?.size ?? 2).toBe(2),
  })
  await expect(unsafe).rejects.toThrow(/short-write at call 1/)
})

function attempt(work: () => unknown): string {
  try {
    work()
    return 'ok'
  } catch (error) {
    return errorCode(error) ?? 'thrown'
  }
}
