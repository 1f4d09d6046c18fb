// The exact sampler, as docs/reference/sampler.md specifies it: the same bytes give the same integers as in Python.

import { bits, ceil, exactNumber, floor, isLess, over, plus, ratio, root, size, times } from "./exact.js";

const VARIANCE_STEPS = 1024n;
const SCALE_DENOMINATOR = 65536n;

/** Random bytes, taken one after the other; by default from the system's secure source. */
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

/** What a law means in grid steps: a scale; or a fixed variance, and the quantum of a drawn one. */
export function gridLaw(noise, grid) {
  const [name, ...texts] = noise.split(":");
  const [first, rate = first] = texts.map((text) => exactNumber(String(Number(text)))); // read as a double first
  const square = times(grid, grid);
  if (name === "gaussian") return { floor: over(times(first, first), square) };
  if (name !== "fresh") {
    const quantum = over(ratio(1n, VARIANCE_STEPS), times(rate, square));
    return { floor: name === "floored" ? over(first, square) : ratio(0n), quantum };
  }
  const squared = over(ratio(SCALE_DENOMINATOR ** 2n, 2n), times(rate, square));
  const below = root(ceil(squared));
  return { scale: ratio(isLess(ratio(below * below), squared) ? below + 1n : below, SCALE_DENOMINATOR) };
}

/** Noise for all readings of one participant that share a grid. */
export function drawNoise(noise, grid, count, stream) {
  const { scale, floor: fixed, quantum } = gridLaw(noise, grid);
  const draws = Array(count).fill();
  if (scale) return draws.map(() => discreteLaplace(stream, scale.n, scale.d));
  const more = quantum && times(ratio(geometric(stream, VARIANCE_STEPS, 1n) + 1n), quantum);
  const { n, d } = more ? plus(fixed, more) : fixed;
  return draws.map(() => discreteGaussian(stream, n, d));
}

/** A reading clipped to its range and rounded to its grid, in grid steps: ⌊x/g + ½⌋. */
export function steps(reading, grid, low, high) {
  let exact = exactNumber(reading);
  if (low && isLess(exact, low)) exact = low;
  if (high && isLess(high, exact)) exact = high;
  return floor(plus(over(exact, grid), ratio(1n, 2n)));
}

/** Noisy readings of a release: {task, value}. Noise is drawn grid by grid. */
export function noisyReadings(noise, tasks, readings, stream = new ByteStream()) {
  const asked = tasks.filter(({ id }) => readings.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1));
  const grids = [...new Set(asked.map(({ grid }) => grid))].sort();
  return grids.flatMap((text) => {
    const together = asked.filter(({ grid }) => grid === text);
    const grid = exactNumber(text);
    const noises = drawNoise(noise, grid, together.length, stream);
    return together.map(({ id, low, high }, place) => ({
      task: id,
      value: steps(readings.get(id), grid, exactNumber(low), exactNumber(high)) + noises[place],
    }));
  });
}
