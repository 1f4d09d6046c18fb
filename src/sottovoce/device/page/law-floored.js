// One variance per participant that is never below a floor.

import { DrawnVariance } from "./normal-noise.js";

export class Floored extends DrawnVariance {
  static name = "floored";
  words = "everybody draws how much noise they get, but never less than a floor";

  constructor(floor, rate) {
    super(floor, rate);
  }
}
