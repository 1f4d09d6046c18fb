// Sums of A-weighted sound, in the audio thread. Samples are added up and forgotten: only sums leave this file.

import { aWeighting } from "./instrument-a-weighting.js";

const SETTLING = 0.25; // seconds that the filters need
const EVERY = 0.1; // seconds between two sums

class Loudness extends AudioWorkletProcessor {
  #filters = aWeighting(sampleRate).map((coefficients) => [coefficients, [0, 0]]);
  #settling = SETTLING * sampleRate;
  #sum = 0;
  #count = 0;

  process([[samples = []]]) {
    for (const sample of samples) {
      const weighted = this.#filters.reduce((input, [[b0, b1, b2, a1, a2], state]) => {
        const output = b0 * input + state[0];
        state[0] = b1 * input - a1 * output + state[1];
        state[1] = b2 * input - a2 * output;
        return output;
      }, sample);
      if (this.#settling-- > 0) continue;
      this.#sum += weighted * weighted;
      this.#count += 1;
    }
    if (this.#count >= EVERY * sampleRate) {
      this.port.postMessage([this.#sum, this.#count]);
      [this.#sum, this.#count] = [0, 0];
    }
    return true;
  }
}

registerProcessor("loudness", Loudness);
