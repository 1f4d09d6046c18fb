// Counts steps in the readings of an acceleration sensor. A step is a swing of the acceleration's strength, up and then
// down, that is large compared with the last few seconds. Single knocks do not count, only several steps in a row.

const SETTLE = 1; // seconds: what stays constant for longer is gravity
const SMOOTH = 0.055; // seconds: applied twice, so that faster shaking is filtered out
const SHORTEST = 0.26; // seconds from step to step when running
const LONGEST = 1.6; // a longer pause begins a new walk
const FEWEST = 3; // steps in a row that make a walk
const LEAST_SWING = 0.45; // m/s²
const SHARE_OF_SWING = 0.4; // of the usual swing in this walk

export class StepCounter {
  steps = 0;
  #time; // of the last reading, in seconds
  #gravity;
  #smoothed = [0, 0];
  #swing = 0;
  #lowest = 0;
  #isUp = false;
  #last = -Infinity; // when the last step was
  #inRow = 0;

  /** A reading of the sensor: seconds, and acceleration with gravity along three axes. */
  add(time, x, y, z) {
    const strength = Math.hypot(x, y, z);
    const passed = Math.min(time - (this.#time ?? time), 0.2);
    this.#time = time;
    this.#gravity ??= strength;
    this.#gravity += (strength - this.#gravity) * (1 - Math.exp(-passed / SETTLE));
    let signal = strength - this.#gravity;
    const share = 1 - Math.exp(-passed / SMOOTH);
    this.#smoothed = this.#smoothed.map((before) => (signal = before + (signal - before) * share));
    this.#swing *= Math.exp(-passed / 3);
    this.#look(time, signal);
  }

  #look(time, signal) {
    const enough = Math.max(LEAST_SWING, SHARE_OF_SWING * this.#swing);
    if (this.#isUp) {
      this.#swing = Math.max(this.#swing, signal - this.#lowest);
      if (signal > 0) return;
      [this.#isUp, this.#lowest] = [false, signal];
      return;
    }
    this.#lowest = Math.min(this.#lowest, signal);
    if (signal - this.#lowest < enough || signal < enough / 3 || time - this.#last < SHORTEST) return;
    this.#isUp = true;
    this.#inRow = time - this.#last > LONGEST ? 1 : this.#inRow + 1;
    this.#last = time;
    if (this.#inRow >= FEWEST) this.steps += this.#inRow === FEWEST ? FEWEST : 1;
  }
}
