// An upper bound on δ(ε) for normal noise on whole grid steps. Every step errs upwards: docs/reference/page-promises.md
// explains why each bound holds. Readings move by the same number of steps; the server is assumed to know the variance.
//
// K is the sum of the noises of all moved readings, V its variance, s the sum of the moves. Then the privacy loss is
// s(s - 2K)/2V, and δ(ε) the mean of 1 - e^(ε - loss) where that is positive.

import { Corners } from "./corners.js";
import { convolution, ends } from "./losses.js";

const VARIANCE_STEPS = 1024;
const MOST_DRAWN = 1e6; // a larger draw has a chance below the smallest double
const TINY = 1e-300; // added to every δ, for what is too small for a double
const ROUNDING = 1e-12; // more than the rounding errors of any one term
const LARGEST_SHIFT = 1e4; // of deviations: no useful ε covers a larger one
const CERTAIN = 6; // deviations: what lies beyond has a chance of about 1e-9
const NARROWEST = 4; // below this variance sums are short, and the bound for wide noise is loose
const CLOSE = 1e-4; // of a δ: an error that does not matter
const [GROUP, WIDER_GROUP] = [1e-3, 2e-3]; // variances this close together, relatively, are treated as the smallest of them
const GROUP_OF_SUMS = 3e-3; // the same for sums that are no normals
const LOOSE = 0.02; // values of ε this far apart, relatively, need no close groups
// Up to this variance of all noises, or this shift where the loss changes much from step to step, all ε share one sum.
const [NARROW, LARGE_SHIFT] = [50, 1000];
const NEAR_NORMAL = 1e-3; // how far, in logarithms, a sum of discrete normals may be from a discrete normal

/** The most work for one check, whatever a server asks: a second or two. */
export const workload = () => ({ terms: 1e7, products: 1e9 });
const [GROUP_PRODUCTS, TERM_PRODUCTS] = [100, 20]; // products that take as long as checking one group of variances, and as one term

/**
 * A function from ε to an upper bound on δ(ε), or to 1 where that exceeds `most`; errors far below `delta` do not matter.
 * Its property `at` has the bounds at all of several ε, which rise from 0. The law's variances and the moves are in grid
 * steps: the variances doubles that are not above the exact ones, the moves not below.
 */
export function profile({ fixed, quantum }, steps, moved, delta, work, most = delta) {
  const shift = steps * moved * (1 + ROUNDING);
  const negligible = 1e-7 * delta;
  const groups = [...groupsOf(fixed, quantum, moved, negligible, most > delta ? WIDER_GROUP : GROUP, GROUP_OF_SUMS)];
  const sums = new Map(); // laws of sums of noises, by the variance of one

  const deviationsOf = (group) => (shift / Math.sqrt(group.variance * moved)) * (1 + ROUNDING);

  /** Whether a group's δ is 1, or nearly: the noise is too little. */
  const isCertain = (group, epsilon) => {
    const deviations = deviationsOf(group);
    return !(deviations < LARGEST_SHIFT && lowered(epsilon / deviations, deviations / 2) >= -CERTAIN);
  };

  const isRough = (group) => group.distortion > NEAR_NORMAL;

  /** Whether a group's noise is so little that sums over whole steps are needed. */
  const isNarrow = (group) => {
    const variance = group.variance * moved;
    return isRough(group) || variance < NARROW || (shift > variance / 2 && shift < LARGE_SHIFT);
  };

  /** The law of sums of noises that stands for all variances of a rough group; undefined if it takes too long. */
  function roughLaw(group) {
    const [small, large] = [group.variance, group.largest].map((variance) => {
      if (!sums.has(variance)) sums.set(variance, sumOfDiscreteNormals(variance, moved, negligible, work));
      return sums.get(variance);
    });
    return small && large ? joined(small, large) : undefined;
  }

  function one(group, epsilon, keep) {
    const [variance, deviations] = [group.variance * moved, deviationsOf(group)];
    const concentrated = concentratedDelta(epsilon, deviations);
    if (concentrated * group.chance * groups.length <= negligible) return concentrated;
    if (isRough(group)) {
      group.law ??= roughLaw(group) ?? false;
      return group.law && work.products > 0 ? lawDelta(group.law, epsilon, shift, variance, work) : concentrated;
    }
    return discreteDelta(epsilon, deviations, variance, group.width, keep) * Math.exp(group.distortion);
  }

  /** Of one discrete normal: by whichever bound is close, or else by the sum, while there is work left for it. */
  function discreteDelta(epsilon, deviations, variance, width, keep) {
    const terms = 15 * Math.sqrt(variance);
    if (variance >= NARROWEST) {
      const [smooth, error] = smoothDelta(epsilon, deviations, variance);
      if (error <= CLOSE * smooth) return smooth;
      const [wide, slip] = wideDelta(epsilon, deviations, variance);
      if (slip <= 1e-3 * epsilon || work.terms - terms < keep) return Math.min(smooth, wide);
    }
    work.terms -= terms;
    return summedDelta(epsilon, shift, variance, width);
  }

  /** δ(ε) of some of the groups, whose variances rise. */
  function deltaOf(some) {
    const upTo = [0]; // the chance of all before each
    for (const { chance } of some) upTo.push(upTo.at(-1) + chance);
    return (epsilon) => {
      const keep = work.terms * 0.95; // kept for later evaluations
      // The first groups reveal their reading for certain, and the last add nothing.
      let [first, after] = [0, some.length];
      while (first < after) {
        const middle = (first + after) >> 1;
        if (isCertain(some[middle], epsilon)) first = middle + 1;
        else after = middle;
      }
      let total = (quantum ? negligible : 0) + upTo[first];
      for (let place = first; place < some.length && total <= most; place += 1) {
        const group = some[place];
        const rest = concentratedDelta(epsilon, deviationsOf(group)) * group.left;
        work.products -= GROUP_PRODUCTS;
        if (rest <= negligible) return (total + rest) * (1 + 1e-9) + TINY;
        total += group.chance * Math.min(1, one(group, epsilon, keep));
      }
      return total > most ? 1 : total * (1 + 1e-9) + TINY;
    };
  }

  /** δ at each of these ε, where all narrow variances are summed once, not for each ε. */
  function at(epsilons) {
    const [corners, others] = [new Corners(epsilons), []];
    // If these ε are far apart, variances need not be close.
    const apart = Math.min(...epsilons.slice(2).map((epsilon, place) => 1 - epsilons[place + 1] / epsilon));
    for (const group of apart > LOOSE ? groupsOf(fixed, quantum, moved, negligible, apart / 4, apart / 4) : groups) {
      const [variance, deviations] = [group.variance * moved, deviationsOf(group)];
      const most = concentratedDelta(epsilons[1], deviations);
      if (!isNarrow(group)) others.push(group);
      else if (isCertain(group, epsilons.at(-1))) corners.lost += group.chance;
      else if (most <= negligible) {
        corners.chances[1] += group.chance; // almost no loss is larger than that
        corners.lost += group.chance * most;
      } else {
        const law = isRough(group) ? roughLaw(group) : discreteNormal(variance, group.width, 1e-6 * negligible);
        if (!law) others.push(group);
        else {
          const factor = group.chance * (isRough(group) ? 1 : Math.exp(group.distortion));
          corners.lost += law.lost * factor;
          corners.add(law.chances.map((_, place) => (shift * (shift - 2 * (law.first + place))) / (2 * variance)), law.chances, factor);
          work.products -= TERM_PRODUCTS * law.chances.length;
        }
      }
    }
    const wide = epsilons.map(deltaOf(others));
    return corners.deltas().map((one, place) => Math.min(1, one + wide[place]));
  }

  return Object.assign(deltaOf(groups), { at });
}

/** The variances of one reading that may be drawn, as a few groups of close ones: the smallest of each, its chance, and that of all from there on. */
function* groupsOf(fixed, quantum, moved, negligible, close, closeSums) {
  const group = (variance, largest, left, chance, width) => ({ variance, largest, left, chance, width: width + ROUNDING, distortion: distortionOf(variance, moved) });
  if (!quantum) return yield group(fixed, fixed, 1, 1, 0);
  for (let first = 0, left = 1; left > negligible; left = Math.exp(-first / VARIANCE_STEPS)) {
    const variance = fixed + (first + 1) * quantum;
    const isNormal = distortionOf(variance, moved) <= NEAR_NORMAL;
    const last = variance * (1 + (isNormal ? close : closeSums));
    // Without an end, a floor far above the quantum would make this infinite, and the group as wide as all numbers.
    const next = Math.min(Math.max(first + 1, Math.floor((last - fixed) / quantum)), MOST_DRAWN);
    const chance = -left * Math.expm1((first - next) / VARIANCE_STEPS);
    // Of several, the smallest of the next group will do, whose sums are needed anyway. Of a few draws, it is far larger.
    const largest = next === first + 1 ? variance : fixed + (next + 1) * quantum;
    yield group(variance, largest, left, chance, Math.max(0, 1 - variance / (fixed + next * quantum)));
    first = next;
  }
}

/** The sum of discrete normals is a discrete normal, up to a factor whose logarithm is at most this. */
function distortionOf(variance, moved) {
  let total = 0;
  for (let count = 1; count < moved; count += 1) {
    const decay = Math.exp(-2 * Math.PI ** 2 * variance * (count / (count + 1)));
    const ripple = (2 * decay) / (1 - decay);
    if (ripple > 0.1) return Infinity;
    total += (count < 32 ? 1 : moved - count) * ((2 * ripple) / (1 - ripple));
    if (count === 32) break;
  }
  return total;
}

/** By concentrated differential privacy, which holds for any number of discrete normals (Canonne et al. 2020). */
function concentratedDelta(epsilon, deviations) {
  const mean = deviations ** 2 / 2;
  return epsilon > mean ? Math.exp((-((epsilon - mean) ** 2) / (4 * mean)) * (1 - ROUNDING)) : 1;
}

const lowered = (a, b) => a - b - 1e-13 * (Math.abs(a) + b);

/** What a noise of k steps adds to δ(ε), if its loss exceeds ε. */
const gain = (k, epsilon, shift, variance) =>
  Math.max(0, -Math.expm1(epsilon * (1 - ROUNDING) - ((shift * (shift - 2 * k)) / (2 * variance)) * (1 + ROUNDING)));

/** The sum over whole steps, from the first whose loss exceeds ε until the rest no longer matters. */
function summedDelta(epsilon, shift, variance, width) {
  const narrowed = (1 - width) / (2 * variance);
  let total = 0;
  for (let k = Math.ceil(shift / 2 - (epsilon * variance) / shift) + 1; ; k -= 1) {
    const weight = Math.exp(-k * k * narrowed);
    total += weight * gain(k, epsilon, shift, variance);
    const rest = weight / ((1 - 2 * k) * narrowed); // a geometric series that falls more slowly
    if (k < 0 && rest <= total * 1e-7) return (total + rest) / normaliser(variance);
  }
}

/** Σ e^(-k²/2V), from below. */
function normaliser(variance) {
  if (variance >= 1) return Math.sqrt(2 * Math.PI * variance) * (1 - ROUNDING);
  let total = 1;
  for (let k = 1; k < 9; k += 1) total += 2 * Math.exp((-k * k) / (2 * variance));
  return total * (1 - ROUNDING);
}

/**
 * The integral over all steps and the largest error of the midpoint rule, and that error by itself. Each part falls with
 * the variance.
 */
function smoothDelta(epsilon, deviations, variance) {
  const [deviation, c] = [Math.sqrt(variance), deviations];
  const z = Math.max(1 / deviation - lowered(epsilon / c, c / 2), -40);
  const [near, low] = [Math.min(z, 0), Math.min(z, -1)];
  const [height, chance, peak] = [density(z), normalBeyond(-z), z > 0 ? 2 * density(0) : density(z)];
  const slope = (c / 24) * (peak - (low * density(low)) / (2 * deviation));
  const flat = Math.min(12 * chance - (z ** 3 + 9 * z) * height, c * (12 * z * chance + (z * z + 23) * height));
  const steep = 4 * (near * near + 5) * peak + c * (6 * (2 * chance - z * height) + c * (4 * peak + c * chance));
  const error = ((slope + (flat + c * steep) / (384 * variance)) / variance) * Math.exp(Math.min(c / deviation, 600));
  return [normalDelta(epsilon, c) + error * (1 + 1e-9), error];
}

/** Rounding a normal gives nearly the discrete one, and reveals no more than the normal itself: δ, and its cost in ε. */
function wideDelta(epsilon, deviations, variance) {
  const place = lowered(epsilon / deviations, deviations / 2);
  const reach = Math.sqrt(Math.max(place, 0) ** 2 + 30 + 2 * Math.log1p(variance));
  const slip = (1 + (deviations + reach) ** 2) / (24 * variance);
  const outside = normalBeyond(reach - 0.5 / Math.sqrt(variance));
  return [Math.exp(1 / (24 * variance)) * (normalDelta(epsilon - slip, deviations) + outside), slip];
}

/** δ(ε) of normal noise, for inputs this many deviations apart. */
function normalDelta(epsilon, deviations) {
  const place = lowered(epsilon / deviations, deviations / 2);
  if (place < -CERTAIN) return 1;
  const difference = mills(place) * (1 + 1e-13) - mills(place + deviations) * (1 - 1e-13);
  return density(place) * difference * (1 + ROUNDING);
}

const density = (x) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
const normalBeyond = (x) => density(x) * mills(x) * (1 + ROUNDING);

/** The chance of a normal beyond x over its density at x, to 1e-13 of itself. */
export function mills(x) {
  if (x < 0) return 1 / density(x) - mills(-x);
  if (x < 2.5) {
    let sum = 0;
    for (let [term, odd] = [x, 3]; sum + term !== sum; odd += 2, term *= (x * x) / (odd - 2)) sum += term;
    return Math.sqrt(Math.PI / 2) * Math.exp((x * x) / 2) - sum;
  }
  let fraction = x;
  for (let k = Math.ceil(20 + 400 / (x * x)); k > 0; k -= 1) fraction = x + k / fraction;
  return 1 / fraction;
}

/** Chances of a discrete normal, or of any with a variance of up to 1/(1 - width) times as much. What is cut off is `lost`. */
function discreteNormal(variance, width, cut) {
  const [narrowed, norm] = [(1 - width) / (2 * variance), normaliser(variance)];
  let far = 1;
  while (Math.exp(-far * far * narrowed) > cut * norm) far += 1;
  const chances = Float64Array.from({ length: 2 * far - 1 }, (_, k) => Math.exp(-((k + 1 - far) ** 2) * narrowed) / norm);
  const ratio = Math.exp(-(2 * far + 1) * narrowed); // of the first two that are left out; later ones are smaller
  return { first: 1 - far, chances, lost: (2 * Math.exp(-far * far * narrowed)) / norm / (1 - ratio) };
}

/** Chances of the sum of this many discrete normals, by squaring; undefined if that takes too long. What is cut off is `lost`. */
function sumOfDiscreteNormals(variance, moved, negligible, work) {
  const one = discreteNormal(variance, 0, negligible / (64 * moved));
  let [sum, count, lost] = [one, 1, moved * one.lost];
  const add = (other) => {
    work.products -= sum.chances.length * other.chances.length;
    if (work.products > 0) sum = { first: sum.first + other.first, chances: convolution(sum.chances, other.chances) };
  };
  for (const bit of moved.toString(2).slice(1)) {
    add(sum);
    if (bit === "1") add(one);
    if (work.products < 0) return undefined;
    count = 2 * count + Number(bit);
    const { from, to, cut } = ends(sum.chances, (negligible * count) / (64 * moved));
    lost += (cut * moved) / count;
    sum = { first: sum.first + from, chances: sum.chances.slice(from, to) };
  }
  return { ...sum, lost: 2 * lost };
}

/**
 * For all variances between two, by the laws of sums for the smallest and the largest. More noise makes sums on both sides
 * of 0 larger (Birnbaum 1948, on peakedness): below 0 those of the largest variance are likelier, from 0 on those of the
 * smallest.
 */
function joined(small, large) {
  const [below, above] = [large.chances.subarray(0, -large.first), small.chances.subarray(-small.first)];
  const notAbove = (1 + above[0]) / 2 - below.reduce((total, chance) => total + chance, 0);
  const chances = Float64Array.from([...below, Math.max(0, notAbove), ...above.subarray(1)]);
  return { first: large.first, chances, lost: small.lost + large.lost };
}

/** From the smallest sum on, whose loss is the largest, while losses exceed ε. */
function lawDelta({ first, chances, lost }, epsilon, shift, variance, work) {
  let [total, place] = [lost, 0];
  for (let more = 1; place < chances.length && more; place += 1) {
    more = gain(first + place, epsilon, shift, variance);
    total += chances[place] * more;
  }
  work.products -= TERM_PRODUCTS * place;
  return total;
}
