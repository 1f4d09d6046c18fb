// A second check of a promise, with formulas short enough to verify by hand. Each law has simple lower bounds, derived
// independently of the upper bounds of promise.js: no true promise is below them. docs/reference/protocol.md derives them
// ("How a device checks a promise"); the installed client uses the same ones.

import { mostReadings, movedReadings, partsOf, Problem } from "./manifest.js";

const SLACK = 1e-9; // for the rounding of these very formulas, as a share and as a difference

/** Refuse a promise that cannot be true for the manifest's noise, whoever computed it. */
export function checkPromise(manifest, { epsilon, delta }) {
  const isPromise = epsilon >= 0 && epsilon < Infinity && delta >= 0 && delta < 1;
  const [most, moved] = [mostReadings(manifest), movedReadings(manifest)];
  const isPossible = (part) => {
    const [least, chance] = simpleBounds(part, Math.min(part.tasks, most), Math.min(part.tasks, moved), delta);
    return epsilon >= least * (1 - SLACK) - SLACK && chance * (1 - SLACK) <= mostUnchanged(part, epsilon, delta);
  };
  if (!isPromise || !partsOf(manifest).every(isPossible)) throw new Problem("promise_in_doubt");
}

/** Lower bounds on ε, and on the probability that a reading is sent as it is. */
function simpleBounds({ law, grid, distance, cells }, readings, moved, delta) {
  if (cells) return [law.leastEpsilon(cells, readings, moved, delta), law.chanceOfTruth(cells)];
  return [law.leastEpsilon(Number(distance), moved, Number(grid), delta), law.chanceOfNoNoise(Number(grid))];
}

/** The largest probability of an unchanged reading that a promise allows. */
function mostUnchanged({ law, distance, grid, cells }, epsilon, delta) {
  const others = (cells ? cells - 1 : 2 * Math.ceil((distance / grid) * (1 - SLACK))) * Math.exp(-epsilon);
  return Math.min(1, ((cells ? law.cellsReported : 1) + others * delta) / (1 + others));
}
