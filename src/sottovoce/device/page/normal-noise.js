// Shared by the laws of normal noise: discrete normals on a grid, and a variance that each participant draws once.

import { exactNumber, over, plus, ratio, roundedDown, roundedUp, times } from "./exact.js";
import { profile } from "./profile.js";
import { discreteGaussian, geometric } from "./sampler.js";

const VARIANCE_STEPS = 1024n;

/** Noise in grid steps with variance `fixed` + (K + 1)·`quantum`, K geometric; or just `fixed`. */
export const normalOnGrid = (fixed, quantum) => ({
  draw(count, stream) {
    const more = quantum && times(ratio(geometric(stream, VARIANCE_STEPS, 1n) + 1n), quantum);
    const { n, d } = more ? plus(fixed, more) : fixed;
    return Array.from({ length: count }, () => discreteGaussian(stream, n, d));
  },
  bound(steps, moved, delta, work, most) {
    const [least, step] = [fixed, quantum ?? ratio(0n)].map(roundedDown);
    return profile({ fixed: least, quantum: step }, roundedUp(ratio(steps)), moved, delta, work, most);
  },
});

/** A variance of `lowest` + Exponential(`rate`) for all readings of a participant. */
export class DrawnVariance {
  isPure = false;
  readingsComeAtOnce = true;

  constructor(lowest, rate) {
    Object.assign(this, { lowest, rate });
  }

  get meanVariance() {
    return this.lowest + 1 / this.rate;
  }

  variances(count) {
    return equallyLikely(count, this.rate).map((drawn) => this.lowest + drawn);
  }

  onGrid(grid) {
    const [square, lowest, rate] = [times(grid, grid), ...[this.lowest, this.rate].map((one) => exactNumber(String(one)))];
    return normalOnGrid(over(lowest, square), over(ratio(1n, VARIANCE_STEPS), times(rate, square)));
  }

  leastEpsilon(distance, moved, grid, delta) {
    const mean = 1 / this.rate;
    const [least, halfSquare] = [this.lowest + mean / 1024, (moved * distance ** 2) / 2];
    return logOdds(delta) - Math.log(2) + (2 * halfSquare) / (least + Math.sqrt(least ** 2 + 4 * halfSquare * mean));
  }

  chanceOfNoNoise(grid) {
    return 1 / (1 + Math.sqrt(2 * Math.PI * (this.lowest + 1.001 / this.rate)) / grid);
  }
}

/** This many equally likely values of Exponential(rate). */
export const equallyLikely = (count, rate) => Array.from({ length: count }, (_, part) => -Math.log1p(-(part + 0.5) / count) / rate);

/** The logarithm of ½ - δ, which simple lower bounds on ε begin with. */
export const logOdds = (delta) => (delta < 0.5 ? Math.log(0.5 - delta) : -Infinity);
