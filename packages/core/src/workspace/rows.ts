/** Rows of numbers that grow, and cross to the other thread without a copy. */
export class Rows {
  readonly #stride: number
  #values = new Float64Array(512)
  #used = 0

  constructor(stride: number) {
    this.#stride = stride
  }

  get length(): number {
    return this.#used / this.#stride
  }

  // Ten parameters instead of a rest array: that array was a large part of a first scan's garbage.
  add(
    a: number,
    b: number,
    c: number,
    d: number,
    e: number,
    f: number,
    g: number,
    h = 0,
    i = 0,
    j = 0,
  ): void {
    if (this.#used + 10 > this.#values.length) this.#grow()
    const values = this.#values
    const at = this.#used
    values[at] = a
    values[at + 1] = b
    values[at + 2] = c
    values[at + 3] = d
    values[at + 4] = e
    values[at + 5] = f
    values[at + 6] = g
    values[at + 7] = h
    values[at + 8] = i
    values[at + 9] = j
    this.#used += this.#stride
  }

  #grow(): void {
    const larger = new Float64Array(this.#values.length * 2)
    larger.set(this.#values)
    this.#values = larger
  }

  taken(): Float64Array {
    return this.#values.subarray(0, this.#used)
  }
}
