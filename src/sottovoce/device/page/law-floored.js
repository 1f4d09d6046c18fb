// One variance per participant that is never below a floor.

import { DrawnVariance } from "./normal-noise.js";

export class Floored extends DrawnVariance {
  static name = "floored";

  constructor(floor, rate) {
    super(floor, rate);
  }
}
