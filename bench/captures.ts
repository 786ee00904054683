/** First and warm captures, undo and redo, in one tree. */

import type { Workspace } from '../packages/core/src/index.ts'
import { OpenCode, PlainShadow } from './peers.ts'
import { atMost, type Bar, fasterBy, type Row, rowAgainst } from './report.ts'
import { type Contender, compare } from './timing.ts'
import type { Tree } from './tree.ts'
import { firstCapture, openBuilt, recordTurn, session } from './unturn.ts'

/** The bars are set for a large tree: in a small one the start of git and of a thread is all that is compared. */
function atFull(tree: Tree, bar: Bar): Bar | undefined {
  return tree.size >= 100_000 ? bar : undefined
}

const us = 'Unturn'
const status = 'git status'
const plainAdd = 'git add -A'
const openCode = 'OpenCode'
const openCodeSteps = 'OpenCode, 10 steps'

function gitStatus(tree: Tree): Contender {
  return { name: status, work: () => tree.git(['status', '--porcelain']) }
}

function ownFirst(tree: Tree): Contender {
  let store = ''
  return {
    name: us,
    timesItself: true,
    prepare: () => {
      store = tree.ground.place('store')
    },
    work: () => firstCapture(tree, store),
    clean: () => tree.ground.remove(store),
  }
}

function openCodeFirst(tree: Tree): Contender {
  let peer: OpenCode
  return {
    name: openCode,
    prepare: () => {
      peer = new OpenCode(tree)
    },
    work: () => peer.first(),
    clean: () => peer.remove(),
  }
}

function plainFirst(tree: Tree): Contender {
  let peer: PlainShadow
  return {
    name: plainAdd,
    prepare: () => {
      peer = new PlainShadow(tree)
    },
    work: () => peer.capture(),
    clean: () => peer.remove(),
  }
}

export async function firstCommitted(tree: Tree, runs: number): Promise<readonly Row[]> {
  tree.git(['status', '--porcelain'])
  const taken = await compare([gitStatus(tree), ownFirst(tree), openCodeFirst(tree)], runs, 0)
  const row = (peer: string, bar?: Bar) =>
    rowAgainst('first capture, committed', tree.size, taken, { ours: us, peer }, bar)
  return [row(status, atFull(tree, atMost(3))), row(openCode)]
}

export async function firstWithoutGit(tree: Tree, runs: number): Promise<readonly Row[]> {
  const taken = await tree.withoutGit(() => compare([ownFirst(tree), plainFirst(tree)], runs, 0))
  return [
    rowAgainst(
      'first capture, no git',
      tree.size,
      taken,
      { ours: us, peer: plainAdd },
      atFull(tree, atMost(0.7)),
    ),
  ]
}

export async function warm(tree: Tree, runs: number): Promise<readonly Row[]> {
  const store = tree.ground.place('store')
  await using workspace = await openBuilt(tree.root, tree.ground.env, store)
  await workspace.capture()
  const peer = new OpenCode(tree)
  await peer.first()
  const shadow = new PlainShadow(tree)
  shadow.capture()
  const contenders: readonly Contender[] = [
    { ...gitStatus(tree), prepare: () => tree.editTen() },
    { name: us, work: () => workspace.capture() },
    { name: openCode, work: () => peer.track() },
    { name: plainAdd, work: () => shadow.capture() },
  ]
  const taken = await compare(contenders, runs, 1)
  shadow.remove()
  peer.remove()
  const row = (other: string, bar?: Bar) =>
    rowAgainst('warm capture, 10 changed', tree.size, taken, { ours: us, peer: other }, bar)
  return [row(status, atFull(tree, atMost(1.5))), row(openCode), row(plainAdd)]
}

const warmCapture = 'warm capture'

/** Undo and redo beside the warm capture, all in one open workspace; the peers' redo comes last, as it writes every file. */
export async function undoRedo(tree: Tree, runs: number): Promise<readonly Row[]> {
  const store = tree.ground.place('store')
  await using workspace = await openBuilt(tree.root, tree.ground.env, store)
  await workspace.capture()
  const own = await compare(ownMoves(tree, workspace), runs, 1)
  const peer = new OpenCode(tree)
  await peer.first()
  const theirs = await compare(peerMoves(tree, peer), runs, 0)
  peer.remove()
  const undone = { ...own, [openCode]: theirs.undo ?? [], [openCodeSteps]: theirs[openCodeSteps] ?? [] }
  const redone = { ...own, [openCode]: theirs.redo ?? [] }
  const { size } = tree
  return [
    rowAgainst(
      'undo of 10 files',
      size,
      undone,
      { ours: 'undo', peer: warmCapture },
      atFull(tree, atMost(1.3)),
    ),
    rowAgainst('undo of 10 files', size, undone, { ours: 'undo', peer: openCode }, atFull(tree, fasterBy(5))),
    rowAgainst(
      'undo of 10 files',
      size,
      undone,
      { ours: 'undo', peer: openCodeSteps },
      atFull(tree, fasterBy(5)),
    ),
    rowAgainst(
      'redo of 10 files',
      size,
      redone,
      { ours: 'redo', peer: warmCapture },
      atFull(tree, atMost(1.3)),
    ),
    rowAgainst(
      'redo of 10 files',
      size,
      redone,
      { ours: 'redo', peer: openCode },
      atFull(tree, fasterBy(100)),
    ),
  ]
}

function ownMoves(tree: Tree, workspace: Workspace): readonly Contender[] {
  return [
    { name: warmCapture, prepare: () => tree.editTen(), work: () => workspace.capture() },
    {
      name: 'undo',
      prepare: () => recordTurn(workspace, () => tree.editTen()),
      work: () => workspace.undo({ session }),
    },
    { name: 'redo', work: () => workspace.redo({ session }) },
  ]
}

function peerMoves(tree: Tree, peer: OpenCode): readonly Contender[] {
  let before = ''
  let after = ''
  let files: readonly string[] = []
  const prepare = async () => {
    before = await peer.track()
    files = tree.editTen()
    after = await peer.track()
  }
  return [
    { name: openCodeSteps, prepare, work: () => peer.revertSteps(before, files) },
    { name: 'undo', prepare, work: () => peer.revert(before, files) },
    { name: 'redo', work: () => peer.restore(after), clean: () => peer.refresh() },
  ]
}
