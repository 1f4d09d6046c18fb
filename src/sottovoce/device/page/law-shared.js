// The paper's law: one variance per participant.

import { DrawnVariance } from "./normal-noise.js";

export class Shared extends DrawnVariance {
  static name = "shared";
  words = "everybody draws once how much noise all their readings get";

  constructor(rate) {
    super(0, rate);
  }
}
