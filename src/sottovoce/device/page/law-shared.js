// The paper's law: one variance per participant.

import { DrawnVariance } from "./normal-noise.js";

export class Shared extends DrawnVariance {
  static name = "shared";

  constructor(rate) {
    super(0, rate);
  }
}
