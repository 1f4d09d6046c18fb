// What a manifest promises, in figures, for the noise that the sampler really draws on the campaign's grid; and whether
// that is enough for this participant.
//
// Some laws promise a pure ε, one exact division. For the others an ε is accepted if an upper bound on its δ is
// small enough.

import { ceil, exactNumber, isLess, minus, over, roundedUp, times } from "./exact.js";
import { decimal, say } from "./language.js";
import { lawOf } from "./laws.js";
import { gridsOf, mostReadings, movedReadings, Problem, unitOf } from "./manifest.js";
import { workload } from "./profile.js";
import { checkPromise } from "./sanity.js";

export const USUAL_LIMITS = { epsilon: 3, delta: 1e-5, distance: 0.001, total_epsilon: 10, total_delta: 1e-4 };

const HAIR = 1e-9; // figures are doubles: a sum may miss a round limit by this much
const [SMALLEST, LARGEST] = [1e-6, 1e7]; // a smaller ε is rounded up, a larger one promises nothing
const SMALLEST_DELTA = 1e-290; // far above what a double loses

/** An ε that holds, except with a chance of at most δ: never below the exact one. Infinite if there is none. */
export function promiseOf(manifest, delta) {
  const work = workload();
  const [law, moved] = [lawOf(manifest.noise), movedReadings(manifest)];
  let epsilon = 0;
  for (const text of gridsOf(manifest)) {
    const grid = exactNumber(text);
    const steps = ceil(over(exactNumber(manifest.distance), grid));
    if (law.isPure) {
      epsilon = Math.max(epsilon, law.onGrid(grid).pureEpsilon(steps, moved));
      continue;
    }
    const bound = law.onGrid(grid).bound(steps, moved, delta, work);
    const keeps = (candidate) => delta >= SMALLEST_DELTA && bound(candidate) <= delta;
    epsilon = smallest(keeps, epsilon);
  }
  return { epsilon, delta: law.isPure ? 0 : delta };
}

/** The distance, with the unit of the tasks if all have the same. */
export const distanceText = (manifest) => `${decimal(manifest.distance)} ${unitOf(manifest)}`.trim();

/** The promise in words for a participant, as in the installed client. Figures are rounded such that it stays true. */
export function sentence(manifest, { epsilon, delta }) {
  if (epsilon === Infinity) return say("promise.nothing");
  const factor = Math.exp(Math.min(epsilon, 700));
  const learns = delta > 0.01 || factor > 25 ? "much" : factor <= 3 ? "almostNothing" : "little";
  const count = mostReadings(manifest);
  const howMany = manifest.unit === "reading" ? "one" : count === 1 ? "only" : "all";
  const likely = factor > 1e6 ? "million" : delta ? "except" : "always";
  return say("promise.sentence", {
    learns: say(`promise.learns.${learns}`),
    what: say(`promise.what.reading.${howMany}`, { distance: distanceText(manifest), count }),
    likely: say(`promise.likely.${likely}`, { factor: threeDigitsUp(factor), chance: delta && chanceText(delta) }),
  });
}

/** Rounded up to three digits. */
function threeDigitsUp(factor) {
  const power = 2 - Math.floor(Math.log10(factor));
  const digits = Math.ceil(factor * 10 ** power * (1 - HAIR));
  return power < 0 ? digits * 10 ** -power : digits / 10 ** power;
}

const chanceText = (delta) =>
  delta < 0.1
    ? say("promise.chance.odds", { odds: Math.min(Math.floor((1 + HAIR) / delta), 1e9) })
    : say("promise.chance.percent", { percent: Math.ceil(100 * delta * (1 - HAIR)) });

/** What the manifest promises; a problem if that is less than the participant asks for. */
export function judge(manifest, limits) {
  const { distance: found, tasks } = manifest;
  for (const { title, id, low, high } of tasks) {
    const most = times(exactNumber(String(limits.distance)), minus(exactNumber(high), exactNumber(low)));
    if (isLess(exactNumber(found), most)) throw new Problem("weaker_than_limits", { reason: "distance", found: Number(found), most: roundedUp(most), task: title || id });
  }
  const promise = promiseOf(manifest, limits.delta);
  checkLimits(promise, limits);
  checkPromise(manifest, promise);
  return promise;
}

export function checkLimits(promise, limits) {
  for (const limit of ["epsilon", "delta"]) {
    const [found, most] = [promise[limit], limits[limit]];
    if (!(found <= most * (1 + HAIR))) throw new Problem("weaker_than_limits", { reason: found === Infinity ? "nothing" : "limit", limit, found, most });
  }
}

/** Refuse what, added to all that was released before, would exceed the limit over all campaigns. */
export function checkTotal(before, promise, limits) {
  for (const limit of ["epsilon", "delta"]) {
    const [spent, found, most] = [before[limit], promise[limit], limits[`total_${limit}`]];
    if (!(spent + found <= most * (1 + HAIR))) throw new Problem("budget_spent", { reason: "spent", limit, found, spent, most });
  }
}

/** The smallest ε that was seen to hold on this grid, at least `epsilon`: rounded up by a ten-thousandth, or to 1e-6. */
function smallest(keeps, epsilon) {
  if (epsilon && keeps(epsilon)) return epsilon;
  let high = Math.max(1, epsilon);
  while (!keeps(high)) {
    if (high === LARGEST) return Infinity;
    high = Math.min(2 * high, LARGEST);
  }
  while (high > SMALLEST && keeps(high / 2)) high /= 2;
  for (let low = high / 2; high > SMALLEST && high - low > 1e-4 * high; ) {
    const middle = (low + high) / 2;
    if (keeps(middle)) high = middle;
    else low = middle;
  }
  return high;
}
