// Two layers, for reproduction: everybody draws once how often they send the other of two answers.

import { exactNumber, isParameter, over, ratio } from "./exact.js";
import { uniform, urn } from "./sampler.js";

const [SLACK, TINY] = [1 + 1e-9, 1e-11]; // for the rounding of sums and logarithms

/** The logarithm of a quotient, which may itself be beyond the range of doubles. */
function logRatio(one, other) {
  const quotient = one / other;
  return quotient > 1e-300 && quotient < 1e300 ? Math.log(quotient) : Math.log(one) - Math.log(other);
}

export class TwoLayer {
  static name = "twolayer";
  static takes = ([shape, ...numbers]) => (shape === "beta" ? numbers.length === 2 && numbers.every(isParameter) : shape === "uniform" && !numbers.length);
  isPure = false;
  readingsComeAtOnce = true;
  cellsReported = 1;

  constructor(shape, a, b) {
    Object.assign(this, { isUniform: !a, a, b });
  }

  get #flip() {
    return this.isUniform ? 0.25 : 1 / (1 + this.b / this.a);
  }

  takesCells(cells) {
    return cells === 2;
  }

  channel() {
    return { hit: 1 - this.#flip, miss: this.#flip };
  }

  shifts(cells, stream) {
    if (this.isUniform) return urn(stream, 1n, 1n, 1n, cells.length).map((one) => [one ? Number(uniform(stream, 2n)) : 0]);
    const [ones, zeros] = [this.a, this.b].map((number) => exactNumber(String(number)));
    const more = ones.d * over(ratio(zeros.d), ratio(ones.d)).n; // the least common multiple
    return urn(stream, (ones.n * more) / ones.d, (zeros.n * more) / zeros.d, more, cells.length).map((one) => [Number(one)]);
  }

  /** The largest change of ln φ(j), φ(j) the chance that certain j of all answers are flipped. */
  pureEpsilon(moved, readings) {
    const logs = this.#logChances(readings);
    const steps = logs.slice(1).map((log, place) => Math.abs(log - logs[place]));
    return (moved === 1 ? Math.max(...steps) : Math.max(...logs) - Math.min(...logs)) * SLACK + TINY;
  }

  #logChances(n) {
    const logs = [0]; // up to a constant
    if (!this.isUniform) {
      for (let j = 0; j < n; j += 1) logs.push(logs[j] + logRatio(this.a + j, this.b + (n - j - 1))); // b may be lost in b + n
      return logs;
    }
    // Sums of C(n+1, i) over i > j, from the last, divided by C(n, j), in logarithms.
    let [log, last, ways] = [0, 0, 0]; // of the sum, of its last term, of C(n, j)
    for (let j = n; j >= 0; j -= 1) {
      logs[j] = log - ways;
      last += Math.log((j + 1) / (n + 1 - j));
      ways += Math.log(j / (n - j + 1));
      log += Math.log1p(Math.exp(last - log));
    }
    return logs;
  }

  leastEpsilon(cells, readings, moved, delta) {
    const [small, large] = this.isUniform ? [1, 3] : [this.a, this.b].sort((one, other) => one - other);
    const [likely, logOdds] = [1 / (1 + small / large), Math.log(large) - Math.log(small)];
    return delta < likely ? logOdds + Math.log1p(-delta / likely) : -Infinity;
  }

  chanceOfTruth() {
    return 1 - this.#flip;
  }
}
