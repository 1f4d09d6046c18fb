// A second check of a promise, by formulas short enough to verify by hand. Each law has its own: lower bounds that share
// nothing with the upper bounds of promise.js, so that no true promise is below them. docs/reference/protocol.md derives
// them ("How a device checks a promise"); the installed client has the same.

import { lawOf } from "./laws.js";
import { gridsOf, movedReadings, Problem } from "./manifest.js";

const SLACK = 1e-9; // for the rounding of these very formulas, as a share and as a difference

/** Refuse a promise that cannot be true of the manifest's noise, whoever computed it. */
export function checkPromise(manifest, { epsilon, delta }) {
  const isPromise = epsilon >= 0 && epsilon < Infinity && delta >= 0 && delta < 1;
  const [law, distance, moved] = [lawOf(manifest.noise), Number(manifest.distance), movedReadings(manifest)];
  const isPossible = (grid) =>
    epsilon >= law.leastEpsilon(distance, moved, grid, delta) * (1 - SLACK) - SLACK &&
    law.chanceOfNoNoise(grid) * (1 - SLACK) <= mostChanceOfNoNoise(manifest, grid, epsilon, delta);
  if (!isPromise || !gridsOf(manifest).map(Number).every(isPossible)) throw new Problem("promise_in_doubt");
}

/** The largest probability of an unchanged reading that a promise allows. */
function mostChanceOfNoNoise({ distance }, grid, epsilon, delta) {
  const others = 2 * Math.ceil((distance / grid) * (1 - SLACK)) * Math.exp(-epsilon);
  return Math.min(1, (1 + others * delta) / (1 + others));
}
