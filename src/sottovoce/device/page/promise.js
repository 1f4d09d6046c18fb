// What a manifest promises, in figures, for the noise that the sampler really draws on the campaign's grid; and whether
// that is enough for this participant.
//
// Fresh noise promises a pure ε, one exact division. For the others δ(ε) is summed over whole grid steps and over the
// variances that may be drawn, as if the server knew the variance: that holds for any number of readings.

import { ceil, exactNumber, isLess, minus, over, ratio, roundedUp, times } from "./exact.js";
import { gridsOf, mostReadings, Problem } from "./manifest.js";
import { gridLaw } from "./sampler.js";

export const USUAL_LIMITS = { epsilon: 3, delta: 1e-5, distance: 0.001, total_epsilon: 10, total_delta: 1e-4 };

const HAIR = 1e-9; // figures are doubles: a sum may miss a round limit by so little
const NOT_YET = Math.exp(-1 / 1024); // the chance that a drawn variance is not the smallest one left
const SMOOTH = 4; // above this variance several discrete normals sum to a discrete normal, to 1e-17 of itself
const MOST_TERMS = 2e7; // more would keep a phone busy for long

/** The smallest ε that holds, except with a chance of at most δ. Infinite if there is none. */
export function promiseOf(manifest, delta) {
  const moved = manifest.unit === "participant" ? mostReadings(manifest) : 1;
  const promises = gridsOf(manifest).map((text) => {
    const grid = exactNumber(text);
    const law = gridLaw(manifest.noise, grid);
    const steps = ceil(over(exactNumber(manifest.distance), grid));
    if (law.scale) return [roundedUp(over(ratio(BigInt(moved) * steps), law.scale)), 0];
    const budget = { terms: MOST_TERMS };
    return [smallest((epsilon) => isKept(law, Number(steps), moved, epsilon, delta, budget), budget), delta];
  });
  return { epsilon: Math.max(...promises.map(([epsilon]) => epsilon)), delta: promises[0][1] };
}

/** What the manifest promises; a problem if that is less than the participant asks for. */
export function judge(manifest, limits) {
  const { distance: found, tasks } = manifest;
  for (const { title, id, low, high } of tasks) {
    const most = times(exactNumber(String(limits.distance)), minus(exactNumber(high), exactNumber(low)));
    if (isLess(exactNumber(found), most)) throw new Problem("weaker_than_limits", { found, most: roundedUp(most), task: title || id });
  }
  const promise = promiseOf(manifest, limits.delta);
  checkLimits(promise, limits);
  return promise;
}

export function checkLimits(promise, limits) {
  for (const limit of ["epsilon", "delta"]) {
    const [found, most] = [promise[limit], limits[limit]];
    if (found > most * (1 + HAIR)) throw new Problem("weaker_than_limits", { limit, found, most });
  }
}

/** Refuse what, added to all that was released before, would exceed the limit over all campaigns. */
export function checkTotal(before, promise, limits) {
  for (const limit of ["epsilon", "delta"]) {
    const [spent, found, most] = [before[limit], promise[limit], limits[`total_${limit}`]];
    if (spent + found > most * (1 + HAIR)) throw new Problem("budget_spent", { limit, found, spent, most });
  }
}

/** The smallest ε that holds, rounded up by a ten-thousandth; by more where that would take too long. */
function smallest(holds, budget) {
  let high = 1;
  while (high < 1e7 && !holds(high)) high *= 2;
  if (budget.terms < 0) throw new Problem("too_heavy");
  if (high >= 1e7) return Infinity;
  while (high > 1 / 64 && holds(high / 2)) high /= 2;
  for (let low = high / 2; high > 1 / 64 && high - low > 1e-4 * high; ) {
    const middle = (low + high) / 2;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Whether δ(ε) is at most this, where so many readings move by so many grid steps each. */
function isKept({ floor, quantum }, steps, moved, epsilon, delta, budget) {
  const [fixed, more] = [floor, quantum].map((exact) => (exact?.n ? roundedUp(exact) : 0));
  const shift = steps * moved;
  const isRough = (variance) => moved > 1 && variance < SMOOTH; // so little noise is taken to tell all
  const one = (variance) => (isRough(variance) ? 1 : normalDelta(epsilon, shift, variance * moved, budget));
  if (!more) return one(fixed) <= delta;
  for (let total = 0, left = 1, variance = fixed; ; left *= NOT_YET) {
    variance += more;
    // All that is left is at most this, by the concentrated privacy of discrete normals.
    const loss = shift ** 2 / (2 * variance * moved);
    const rest = loss < epsilon && !isRough(variance) ? left * Math.exp(-((epsilon - loss) ** 2) / (4 * loss)) : left;
    if (total > delta || rest <= delta * 1e-6 || left < 1e-20) return total + rest <= delta;
    total += left * (1 - NOT_YET) * one(variance);
  }
}

/** δ(ε) of a discrete normal: Σ P(k) (1 - e^(ε - loss(k))) over the steps k whose loss exceeds ε. */
function normalDelta(epsilon, shift, variance, budget) {
  const weigh = (k) => Math.exp((-k * k) / (2 * variance));
  let all = Math.sqrt(2 * Math.PI * variance); // as good as, from a variance of 1 on
  if (variance < 1) for (let k = (all = 1); k < 40; k += 1) all += 2 * weigh(k);
  let total = 0;
  for (let k = Math.ceil(shift / 2 - (epsilon * variance) / shift) - 1; ; k -= 1) {
    const weight = weigh(k);
    total -= weight * Math.expm1(epsilon - (shift * (shift - 2 * k)) / (2 * variance));
    if (k < 0 && weight <= total * 1e-16) return Math.min(1, total / all);
    if ((budget.terms -= 1) < 0) return 1;
  }
}
