// Normal noise, equally wide for everybody.

import { exactNumber, over, times } from "./exact.js";
import { logOdds, normalOnGrid } from "./normal-noise.js";

export class Gaussian {
  static name = "gaussian";
  isPure = false;
  readingsComeAtOnce = false;

  constructor(sigma) {
    this.sigma = sigma;
  }

  get meanVariance() {
    return this.sigma ** 2;
  }

  variances() {
    return [this.meanVariance];
  }

  onGrid(grid) {
    const steps = over(exactNumber(String(this.sigma)), grid);
    return normalOnGrid(times(steps, steps));
  }

  leastEpsilon(distance, moved, grid, delta) {
    return logOdds(delta) + (moved * (distance / this.sigma) ** 2) / 2;
  }

  chanceOfNoNoise(grid) {
    return 1 / (1 + (Math.sqrt(2 * Math.PI) * this.sigma) / grid);
  }
}
