// Two layers, for reproduction: each device draws at random, once, how often to send the other answer.

import { Corners } from "./corners.js";
import { exactNumber, isParameter, over, ratio } from "./exact.js";
import { uniform, urn } from "./sampler.js";

const [SLACK, TINY] = [1 + 1e-9, 1e-11]; // for the rounding of sums and logarithms
const TERM_PRODUCTS = 20; // products that take as long as one term of a sum
const MOST_SUMMED = 60; // answers that all change: δ is summed up to here, and bounded by the pure ε beyond

/** The logarithm of a quotient, which may itself be beyond the range of doubles. */
function logRatio(one, other) {
  const quotient = one / other;
  return quotient > 1e-300 && quotient < 1e300 ? Math.log(quotient) : Math.log(one) - Math.log(other);
}

/** The logarithms of C(n, j) for j = 0 … n. */
function logWays(n) {
  const logs = [0];
  for (let j = 0; j < n; j += 1) logs.push(logs[j] + Math.log((n - j) / (j + 1)));
  return logs;
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

  /** The largest change of ln φ(j), where φ(j) is the chance that a certain j of all answers are flipped. */
  pureEpsilon(moved, readings) {
    const logs = this.#logChances(readings);
    const steps = logs.slice(1).map((log, place) => Math.abs(log - logs[place]));
    return (moved === 1 ? Math.max(...steps) : Math.max(...logs) - Math.min(...logs)) * SLACK + TINY;
  }

  /**
   * A function from ε to an upper bound on δ(ε), with `at` for several ε: the sum of (P - e^ε P′)₊ over how many flips
   * there are among the answers that change, and among the others. If several may change, any number of them may: the
   * largest sum counts.
   */
  bound(moved, readings, work) {
    const pure = this.pureEpsilon(moved, readings);
    const ofCoin = (epsilon) => (Math.max(0, -Math.expm1(epsilon - pure)) / (1 + Math.exp(-pure))) * SLACK; // a biased coin, which reveals the most
    if (moved > MOST_SUMMED) return ofCoin;
    const [logs, all] = [this.#logChances(readings), logWays(readings)];
    const most = Math.max(...logs.map((log, flips) => log + all[flips]));
    const whole = most + Math.log(logs.reduce((sum, log, flips) => sum + Math.exp(log + all[flips] - most), 0));
    const size = logs.reduce((largest, log) => Math.max(largest, Math.abs(log)), readings); // of what is rounded
    const slack = TINY + 4 * (readings + 10) * size * Number.EPSILON;
    const counts = moved === 1 ? [1] : Array.from({ length: moved }, (_, place) => place + 1);
    /** Losses and their chances, the largest first, of this many answers that change. */
    const outcomes = (count) => {
      const [inside, outside, found] = [logWays(count), logWays(readings - count), []];
      inside.forEach((one, flips) => outside.forEach((other, more) => {
        const [before, after] = [logs[flips + more], logs[count - flips + more]];
        const loss = before - after + slack;
        if (loss > 0) found.push([loss, Math.exp(one + other + before - whole + slack)]);
      }));
      work.products -= 2 * TERM_PRODUCTS * inside.length * outside.length;
      found.sort(([one], [another]) => another - one);
      return { losses: found.map(([loss]) => loss), chances: found.map(([, chance]) => chance) };
    };
    let kept;
    const each = () => (kept ??= counts.map(outcomes));
    const summed = ({ losses, chances }, epsilon) => {
      let [total, place] = [0, 0];
      for (; losses[place] > epsilon; place += 1) total -= chances[place] * Math.expm1(epsilon - losses[place]);
      work.products -= TERM_PRODUCTS * place;
      return total * SLACK + 1e-300;
    };
    const bound = (epsilon) => Math.min(ofCoin(epsilon), Math.max(...each().map((law) => summed(law, epsilon))));
    const at = (epsilons) => {
      const deltas = each().map(({ losses, chances }) => {
        const corners = new Corners(epsilons);
        corners.add(losses, chances, 1);
        work.products -= TERM_PRODUCTS * losses.length;
        return corners.deltas();
      });
      return epsilons.map((epsilon, place) => Math.min(ofCoin(epsilon), Math.max(...deltas.map((one) => one[place]))));
    };
    return Object.assign(bound, { at });
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
