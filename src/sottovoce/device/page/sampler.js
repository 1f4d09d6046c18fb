// The exact sampler, as docs/reference/sampler.md specifies it: the same bytes give the same integers as in Python.

import { bits, root, size } from "./exact.js";

/** Random bytes, one after the other; by default from the system's secure source. */
export class ByteStream {
  #bytes = new Uint8Array(0);
  #place = 0;
  used = 0;

  constructor(read = (count) => crypto.getRandomValues(new Uint8Array(count))) {
    this.read = read;
  }

  /** The next bytes, as one big-endian number. */
  take(count) {
    let number = 0n;
    for (let taken = 0; taken < count; taken += 1) {
      if (this.#place === this.#bytes.length) [this.#bytes, this.#place] = [this.read(256), 0];
      number = (number << 8n) | BigInt(this.#bytes[this.#place++]);
    }
    this.used += count;
    return number;
  }
}

export function uniform(stream, bound) {
  const wanted = bits(bound - 1n);
  const mask = (1n << BigInt(wanted)) - 1n;
  for (;;) {
    const number = stream.take((wanted + 7) >> 3) & mask;
    if (number < bound) return number;
  }
}

function small(stream, n, d) {
  let trial = 1n;
  while (uniform(stream, d * trial) < n) trial += 1n;
  return trial % 2n === 1n;
}

export function bernoulliExp(stream, n, d) {
  for (let whole = n / d; whole > 0n; whole -= 1n) if (!small(stream, 1n, 1n)) return false;
  return small(stream, n % d, d);
}

export function geometric(stream, n, d) {
  let [low, high] = [0n, 0n];
  do low = uniform(stream, n);
  while (!bernoulliExp(stream, low, n));
  while (small(stream, 1n, 1n)) high += 1n;
  return (low + n * high) / d;
}

export function discreteLaplace(stream, n, d) {
  for (;;) {
    const distance = geometric(stream, n, d);
    const negative = uniform(stream, 2n) === 1n;
    if (distance || !negative) return negative ? -distance : distance;
  }
}

export function discreteGaussian(stream, n, d) {
  const scale = root(n / d) + 1n;
  for (;;) {
    const candidate = discreteLaplace(stream, scale, 1n);
    const distance = size(candidate) * d * scale - n;
    if (bernoulliExp(stream, distance * distance, 2n * n * d * scale * scale)) return candidate;
  }
}

/** A set of `size` of the numbers from 0 to `cells` - 1, in ascending order. */
export function subset(stream, cells, size) {
  const chosen = new Set();
  for (let last = cells - size; last < cells; last += 1n) {
    const number = uniform(stream, last + 1n);
    chosen.add(chosen.has(number) ? last : number);
  }
  return [...chosen].sort((a, b) => (a < b ? -1 : 1));
}

/** A set of shifts: those with 0 are e^(n/d) times as likely as the others. */
export function responseShifts(stream, cells, size, n, d) {
  for (;;) {
    const shifts = subset(stream, cells, size);
    if (shifts[0] === 0n || bernoulliExp(stream, n, d)) return shifts;
  }
}

/** Draws from an urn with balls of two kinds, to which each draw adds `more` of the kind drawn. */
export function urn(stream, ones, zeros, more, count) {
  return Array.from({ length: Number(count) }, () => {
    const isOne = uniform(stream, ones + zeros) < ones;
    if (isOne) ones += more;
    else zeros += more;
    return isOne;
  });
}
