/** Rows, the table, and the file with the same for programs. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { median } from './timing.ts'

/** A ratio of ours to theirs, or a plain number of ours, that must not be larger. */
export interface Bar {
  readonly most: number
  readonly words: string
}

export interface Row {
  readonly work: string
  readonly files: number
  readonly unit: 'ms' | 'KB'
  readonly ours: number
  readonly peer?: { readonly name: string; readonly value: number }
  readonly ratio?: number
  readonly bar?: Bar
  readonly pass?: boolean
  readonly all: Readonly<Record<string, readonly number[]>>
}

export function atMost(times: number): Bar {
  return { most: times, words: `≤ ${times} ×` }
}

export function fasterBy(times: number): Bar {
  return { most: 1 / times, words: `≥ ${times} × faster` }
}

/** Ours against another median of the same measurement. */
export function rowAgainst(
  work: string,
  files: number,
  taken: Readonly<Record<string, readonly number[]>>,
  sides: { readonly ours: string; readonly peer: string },
  bar?: Bar,
): Row {
  const ours = median(taken[sides.ours] ?? [])
  const peer = median(taken[sides.peer] ?? [])
  return compared({ work, files, unit: 'ms', ours, peer: { name: sides.peer, value: peer }, all: taken }, bar)
}

export function compared(
  row: Omit<Row, 'ratio' | 'bar' | 'pass'> & { readonly peer: NonNullable<Row['peer']> },
  bar?: Bar,
): Row {
  const ratio = row.ours / row.peer.value
  return { ...row, ratio, ...(bar === undefined ? {} : { bar, pass: ratio <= bar.most }) }
}

export function absolute(row: Omit<Row, 'ratio' | 'bar' | 'pass'>, mostMs: number): Row {
  return { ...row, bar: { most: mostMs, words: `≤ ${mostMs} ${row.unit}` }, pass: row.ours <= mostMs }
}

export function printTable(rows: readonly Row[]): void {
  const lines = rows.map((row) => [
    row.work,
    row.files.toLocaleString('en'),
    number(row.ours, row.unit),
    row.peer === undefined ? '' : `${row.peer.name} ${number(row.peer.value, row.unit)}`,
    row.ratio === undefined ? '' : ratioWords(row.ratio),
    row.bar?.words ?? '',
    row.pass === undefined ? '' : row.pass ? 'pass' : 'FAIL',
  ])
  const head = ['work', 'files', 'Unturn', 'beside', 'ratio', 'bar', '']
  const widths = head.map((title, i) => Math.max(title.length, ...lines.map((line) => line[i]?.length ?? 0)))
  const print = (line: readonly string[]) =>
    process.stdout.write(`${line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}\n`)
  print(head)
  print(widths.map((width) => '─'.repeat(width)))
  for (const line of lines) print(line)
}

function number(value: number, unit: string): string {
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0
  return `${value.toFixed(digits)} ${unit}`
}

function ratioWords(ratio: number): string {
  return ratio < 0.1 ? `1/${(1 / ratio).toFixed(0)}` : ratio.toFixed(2)
}

export function writeResults(folder: URL, rows: readonly Row[], runs: number, seconds: number): void {
  const machine = {
    cpu: cpus()[0]?.model ?? '',
    cores: cpus().length,
    memoryGB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
  }
  mkdirSync(folder, { recursive: true })
  const text = JSON.stringify({ at: new Date().toISOString(), machine, runs, seconds, rows }, null, 2)
  writeFileSync(new URL('latest.json', folder), `${text}\n`)
}
