// A second check of a promise, by formulas short enough to verify by hand. They are lower bounds, and share nothing with
// the upper bounds of promise.js: no true promise is below them. docs/reference/protocol.md derives them ("How a device
// checks a promise"); the installed client has the same.

import { gridsOf, movedReadings, Problem } from "./manifest.js";

const SLACK = 1e-9; // for the rounding of these very formulas, as a share and as a difference

/** Refuse a promise that cannot be true of the manifest's noise, whoever computed it. */
export function checkPromise(manifest, { epsilon, delta }) {
  const isPromise = epsilon >= 0 && epsilon < Infinity && delta >= 0 && delta < 1;
  const isPossible = (grid) =>
    epsilon >= leastEpsilon(manifest, grid, delta) * (1 - SLACK) - SLACK &&
    chanceOfNoNoise(manifest, grid) * (1 - SLACK) <= mostChanceOfNoNoise(manifest, grid, epsilon, delta);
  if (!isPromise || !gridsOf(manifest).map(Number).every(isPossible)) throw new Problem("promise_in_doubt");
}

function lawOf({ noise }) {
  const [name, ...texts] = noise.split(":");
  const [first, rate = first] = texts.map(Number);
  return { name, first, lowest: name === "floored" ? first : 0, mean: 1 / rate };
}

/** A lower bound on every true ε at this δ. */
export function leastEpsilon(manifest, grid, delta) {
  const { name, first, lowest, mean } = lawOf(manifest);
  const [distance, moved] = [Number(manifest.distance), movedReadings(manifest)];
  const odds = delta < 0.5 ? Math.log(0.5 - delta) : -Infinity;
  if (name === "fresh") {
    const share = distance / (Math.sqrt(mean / 2) + grid / 65536);
    return delta ? odds + Math.max(share, moved * (share / 2 - Math.log(4 / 3))) : moved * share;
  }
  if (name === "gaussian") return odds + (moved * (distance / first) ** 2) / 2;
  const [least, halfSquare] = [lowest + mean / 1024, (moved * distance ** 2) / 2];
  return odds - Math.log(2) + (2 * halfSquare) / (least + Math.sqrt(least ** 2 + 4 * halfSquare * mean));
}

/** A reading is sent unchanged with at least this probability. */
export function chanceOfNoNoise(manifest, grid) {
  const { name, first, lowest, mean } = lawOf(manifest);
  if (name === "fresh") return Math.tanh(1 / (2 * (Math.sqrt(mean / 2) / grid + 1 / 65536)));
  const deviation = name === "gaussian" ? first : Math.sqrt(lowest + 1.001 * mean);
  return 1 / (1 + (Math.sqrt(2 * Math.PI) * deviation) / grid);
}

/** The largest probability of an unchanged reading that a promise allows. */
function mostChanceOfNoNoise({ distance }, grid, epsilon, delta) {
  const others = 2 * Math.ceil((distance / grid) * (1 - SLACK)) * Math.exp(-epsilon);
  return Math.min(1, (1 + others * delta) / (1 + others));
}
