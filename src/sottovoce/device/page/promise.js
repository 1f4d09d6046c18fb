// What a manifest promises, in figures, for the noise that the sampler really draws on the campaign's grid; and whether
// that is enough for this participant.
//
// Some laws promise a pure ε, which is one exact division. For the others, an ε is accepted if an upper bound on its δ is
// small enough.

import { ceil, exactNumber, isLess, minus, over, roundedUp, times } from "./exact.js";
import { decimal, say } from "./language.js";
import { mostReadings, movedReadings, partsOf, Problem, protectedDistance, textOf } from "./manifest.js";
import { composed } from "./losses.js";
import { workload } from "./profile.js";
import { checkPromise } from "./sanity.js";
import { largestEpsilon } from "./ways.js";

export const USUAL_LIMITS = { epsilon: 3, delta: 1e-5, distance: 0.001, total_epsilon: 10, total_delta: 1e-4 };
/** Limits to choose from, as in the installed client. */
export const PRESETS = {
  strict: { epsilon: 1, delta: 1e-6, distance: 0.01, total_epsilon: 5, total_delta: 1e-5 },
  usual: USUAL_LIMITS,
  loose: { epsilon: 8, delta: 1e-4, distance: 0.0001, total_epsilon: 30, total_delta: 1e-3 },
};

const TOLERANCE = 1e-9; // figures are doubles: a sum may miss a round limit by this much
const [SMALLEST, LARGEST] = [1e-6, 1e7]; // a smaller ε is rounded up, a larger one promises nothing
const MOST_UNITS = 4; // in one sentence
const MOST_GROUPS = 100; // that are counted together: what more of them promise is simply added up
const [SMALLEST_DELTA, SMALLEST_SHARED] = [1e-290, 1e-280]; // far above what a double loses: of one part, and of several

/**
 * An ε that holds, except with a chance of at most δ; it is never below the exact one, and Infinity if there is none. A pure
 * ε of at most `enough` is used as it is.
 */
export function promiseOf(manifest, delta, enough = Infinity) {
  const [work, parts, moved, readings] = [workload(), partsOf(manifest), movedReadings(manifest), mostReadings(manifest)];
  const pure = parts.every(({ law }) => law.isPure) ? worst(parts, moved) : undefined;
  if (pure <= enough || (pure && !delta)) return { epsilon: pure, delta: 0 };
  const of = (part, count, share, least) => epsilonOf(part, count, share, work, least, Math.min(part.tasks, readings));
  let epsilon = 0;
  if (moved === 1) for (const part of parts) epsilon = Math.max(epsilon, of(part, 1, delta, epsilon));
  else epsilon = ofParticipant(parts, moved, delta, of, work);
  return epsilon < (pure ?? Infinity) ? { epsilon, delta } : { epsilon: pure ?? epsilon, delta: pure ? 0 : delta };
}

/** The ε of all parts together, for the worst way to choose the tasks that are answered. */
function ofParticipant(parts, most, delta, of, work) {
  if (parts.length === 1) return of(parts[0], Math.min(parts[0].tasks, most), delta);
  const counted = (part) => ({
    tasks: part.tasks,
    together: part.law.readingsComeAtOnce,
    one: part.law.isPure ? boundOf(part, 1, delta, work).losses : undefined,
    bound: (count) => boundOf(part, count, delta, work, 1),
    epsilon: (count, share) => of(part, count, share),
  });
  const isPossible = parts.length <= MOST_GROUPS && delta >= SMALLEST_SHARED;
  return (isPossible ? largestEpsilon(parts.map(counted), most, delta, work) : undefined) ?? sumOfEach(parts, most, delta, of);
}

/** The sum of the ε of the parts with exceptions, each with its share of δ, and of the worst other tasks. */
function sumOfEach(parts, most, delta, of) {
  const [pure, others] = [parts.filter(({ law }) => law.isPure), parts.filter(({ law }) => !law.isPure)];
  return sumOf([...others.map((part) => of(part, Math.min(part.tasks, most), delta / others.length)), pure.length ? worst(pure, most) : 0]);
}

/** The ε of a part of which this many readings change, out of all of them; at least `least`. Pure where no δ is given. */
function epsilonOf(part, moved, delta, work, least = 0, readings = moved) {
  const { pure, bound } = boundOf(part, moved, delta, work, delta, readings);
  return bound ? Math.min(pure, smallest((candidate) => bound(candidate) <= delta, least)) : pure;
}

/** The pure ε of such a part, and a bound on δ as a function of ε, which is exact up to `most`; none where only pure counts. */
function boundOf({ law, grid: text, distance, cells }, moved, delta, work, most, readings = moved) {
  const grid = cells ? undefined : exactNumber(text);
  const [noise, size] = cells ? [law, cells] : [law.onGrid(grid), ceil(over(exactNumber(distance), grid))];
  const pure = cells ? law.pureEpsilon(moved, readings) : noise.pureEpsilon?.(size, moved) ?? Infinity;
  if (!(delta >= SMALLEST_DELTA) || ((cells || law.isPure) && pure > LARGEST)) return { pure };
  if (!law.isPure) return { pure, bound: cells ? law.bound(moved, readings, work) : noise.bound(size, moved, delta, work, most) };
  const losses = noise.losses(size);
  return { pure, losses, bound: composed(losses, moved, delta, work) };
}

/** The sum over the tasks with the largest ε that a participant can answer. One part has it by one exact division. */
function worst(parts, moved) {
  if (parts.length === 1) return epsilonOf(parts[0], Math.min(parts[0].tasks, moved));
  let left = moved;
  const each = parts.map((part) => [epsilonOf(part, 1), part.tasks]);
  return sumOf(each.sort(([one], [two]) => two - one).map(([epsilon, tasks]) => {
    const count = Math.min(left, tasks);
    left -= count;
    return count && epsilon * count * (1 + Number.EPSILON);
  }));
}

/** A sum of doubles, rounded up. */
const sumOf = (numbers) => (numbers.length === 1 ? numbers[0] : numbers.reduce((sum, number) => sum + number, 0) * (1 + numbers.length * Number.EPSILON));

/** The distance, with the unit or units of the tasks; undefined if no number is sent with noise. */
export function distanceText(manifest) {
  const numbers = manifest.tasks.filter((task) => protectedDistance(manifest, task));
  if (!numbers.length) return undefined;
  const [distance, another] = new Set(numbers.map((task) => protectedDistance(manifest, task)));
  const units = [...new Set(numbers.map((task) => textOf(manifest, task.unit)))];
  const several = units.every(Boolean) && units.length <= MOST_UNITS ? `(${units.join(", ")})` : "";
  const inUnits = units.length === 1 ? units[0] : several;
  return another ? say("promise.ownDistance") : `${decimal(distance)} ${inUnits}`.trim();
}

/** The promise in words for a participant, as in the installed client. Figures are rounded such that it stays true. */
export function sentence(manifest, { epsilon, delta }) {
  if (epsilon === Infinity) return say("promise.nothing");
  const factor = Math.exp(Math.min(epsilon, 700));
  const learns = delta > 0.01 || factor > 25 ? "much" : factor <= 3 ? "almostNothing" : "little";
  const [count, distance] = [mostReadings(manifest), distanceText(manifest)];
  const [hasAnswers, isNumber] = [manifest.tasks.some((task) => task.kind === "choice"), (task) => task.kind !== "choice"];
  const thing = distance === undefined
    ? (manifest.tasks.some(isNumber) ? (hasAnswers ? "both" : "compared") : "answer")
    : (hasAnswers ? "either" : "reading");
  const howMany = manifest.unit === "reading" ? "one" : count === 1 ? "only" : "all";
  const likely = factor > 1e6 ? "million" : delta ? "except" : "always";
  return say("promise.sentence", {
    learns: say(`promise.learns.${learns}`),
    what: say(`promise.what.${thing}.${howMany}`, { distance, count }),
    likely: say(`promise.likely.${likely}`, { factor: threeDigitsUp(factor), chance: delta && chanceText(delta) }),
  });
}

/** Rounded up to three digits. */
function threeDigitsUp(factor) {
  const power = 2 - Math.floor(Math.log10(factor));
  const digits = Math.ceil(factor * 10 ** power * (1 - TOLERANCE));
  return power < 0 ? digits * 10 ** -power : digits / 10 ** power;
}

const chanceText = (delta) =>
  delta < 0.1
    ? say("promise.chance.odds", { odds: Math.min(Math.floor((1 + TOLERANCE) / delta), 1e9) })
    : say("promise.chance.percent", { percent: Math.ceil(100 * delta * (1 - TOLERANCE)) });

/** What the manifest promises; a problem if that is less than the participant's limits require. */
export function judge(manifest, limits) {
  for (const task of manifest.tasks) {
    const { title, id, low, high } = task;
    const found = protectedDistance(manifest, task);
    if (!found) continue; // any value is protected
    const most = times(exactNumber(String(limits.distance)), minus(exactNumber(high), exactNumber(low)));
    if (isLess(exactNumber(found), most)) throw new Problem("weaker_than_limits", { reason: "distance", found: Number(found), most: roundedUp(most), task: textOf(manifest, title) || id });
  }
  const promise = promiseOf(manifest, limits.delta, limits.epsilon);
  checkLimits(promise, limits);
  checkPromise(manifest, promise);
  return promise;
}

export function checkLimits(promise, limits) {
  for (const limit of ["epsilon", "delta"]) {
    const [found, most] = [promise[limit], limits[limit]];
    if (!(found <= most * (1 + TOLERANCE))) throw new Problem("weaker_than_limits", { reason: found === Infinity ? "nothing" : "limit", limit, found, most });
  }
}

/** Refuse a promise that, added to all earlier releases, would exceed the limit across all campaigns. */
export function checkTotal(before, promise, limits) {
  for (const limit of ["epsilon", "delta"]) {
    const [spent, found, most] = [before[limit], promise[limit], limits[`total_${limit}`]];
    if (!(spent + found <= most * (1 + TOLERANCE))) throw new Problem("budget_spent", { reason: "spent", limit, found, spent, most });
  }
}

/** The smallest ε that was found to hold on this grid, at least `epsilon`: rounded up by a ten-thousandth, or to 1e-6. */
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
