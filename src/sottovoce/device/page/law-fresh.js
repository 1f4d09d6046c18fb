// A new variance for every reading: Laplace noise.

import { ceil, exactNumber, isLess, over, ratio, root, roundedDown, roundedUp, times } from "./exact.js";
import { laplaceLosses } from "./losses.js";
import { equallyLikely, logOdds } from "./normal-noise.js";
import { discreteLaplace } from "./sampler.js";

const SCALE_DENOMINATOR = 65536n;

export class Fresh {
  static name = "fresh";
  isPure = true;
  readingsComeAtOnce = false;

  constructor(rate) {
    this.rate = rate;
  }

  get meanVariance() {
    return 1 / this.rate;
  }

  variances(count) {
    return equallyLikely(count, this.rate);
  }

  onGrid(grid) {
    const squared = over(ratio(SCALE_DENOMINATOR ** 2n, 2n), times(exactNumber(String(this.rate)), times(grid, grid)));
    const below = root(ceil(squared));
    const scale = ratio(isLess(ratio(below * below), squared) ? below + 1n : below, SCALE_DENOMINATOR);
    return {
      draw: (count, stream) => Array.from({ length: count }, () => discreteLaplace(stream, scale.n, scale.d)),
      pureEpsilon: (steps, moved) => roundedUp(over(ratio(BigInt(moved) * steps), scale)),
      losses: (steps) => laplaceLosses(roundedDown(scale), roundedUp(ratio(steps))),
    };
  }

  leastEpsilon(distance, moved, grid, delta) {
    const share = distance / (Math.sqrt(this.meanVariance / 2) + grid / 65536);
    return delta ? logOdds(delta) + Math.max(share, moved * (share / 2 - Math.log(4 / 3))) : moved * share;
  }

  chanceOfNoNoise(grid) {
    return Math.tanh(1 / (2 * (Math.sqrt(this.meanVariance / 2) / grid + 1 / 65536)));
  }
}
