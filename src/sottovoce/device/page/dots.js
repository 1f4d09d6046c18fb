// Laws with few losses that reveal no less than one part, or than any of several. As a function of e^ε, δ is convex: lines
// between a few of its values, or between the largest of several δ, are the δ of such a law. docs/reference/page-promises.md
// explains why every step errs upwards; the installed client does the same.

import { deltaOf, inSteps, largestOf, valuesOf } from "./losses.js";

export const LARGEST = 1e7; // a larger loss promises nothing
export const SMALLEST = 1e-100; // a smaller one leaves nothing to divide
export const MOST_DOTS = 250; // values of δ; where losses are in the hundreds, they are in effect rounded up to the next one
const FINE_LEVELS = 256; // of the positive losses of one reading of several kinds
const TINY = 1e-300;
const SLACK = 1 + 1e-9; // more than the rounding errors of products and sums of positive terms

/** The law of a part {pure, bound}, of its pure ε and δ as a function of ε; null if its losses cannot be counted. */
export function lossesOf({ pure, bound }, usual, negligible) {
  if (!bound) return null;
  const delta = (epsilon) => (epsilon < pure ? Math.min(1, bound(epsilon)) : 0);
  const top = largestLoss(delta, Math.min(pure, LARGEST), negligible);
  if (top === 0) return withoutLosses(delta(0));
  if (!(top > SMALLEST && top < LARGEST)) return null;
  const dots = Math.max(usual, Math.ceil(Math.min(top, MOST_DOTS)));
  return lossesAt({ pure, bound }, Array.from({ length: dots + 1 }, (_, place) => top * (place / dots)), top / dots); // the last is the top itself
}

/** The law of a part, from its δ at these ε, which begin with 0; null if its losses cannot be counted. */
export function lossesAt({ pure, bound }, all, spacing) {
  if (!bound) return null;
  const ends = pure < all.at(-1) ? [...all.filter((end) => end < pure), pure] : all;
  const deltas = bound.at ? bound.at(ends) : ends.map(bound);
  return connected(ends, ends.map((end, place) => (end < pure ? Math.min(1, deltas[place]) : 0)), spacing);
}

/** A law in place of one with a negligible δ(0): it reveals everything with that chance, and otherwise nothing. */
export const withoutLosses = (delta) => ({ top: 0, spacing: 1, chances: Float64Array.of(SLACK), lost: delta * SLACK });

/** A law that reveals no less than either of two, whichever it is. */
export function worstOf(one, other, work) {
  const top = Math.max(largestOf(one), largestOf(other));
  if (top === 0) return one.lost > other.lost ? one : other;
  work.products -= 8 * FINE_LEVELS * (one.chances.length + other.chances.length + FINE_LEVELS);
  const ends = Array.from({ length: FINE_LEVELS + 1 }, (_, place) => top * (place / FINE_LEVELS));
  const [ofOne, ofOther] = [one, other].map((law) => ends.map((end) => deltaOf(law, end)));
  if (ofOne.every((delta, place) => delta >= ofOther[place]) && exceeds(one, other, work)) return one;
  if (ofOther.every((delta, place) => delta >= ofOne[place]) && exceeds(other, one, work)) return other;
  return connected(ends, ofOne.map((delta, place) => Math.max(delta, ofOther[place])), top / FINE_LEVELS);
}

/** Whether the δ of a law is nowhere below that of another. Both are lines in e^ε between the losses. */
function exceeds(one, other, work) {
  const corners = [0, ...valuesOf(one), ...valuesOf(other)].filter((value) => value >= 0);
  work.products -= 8 * corners.length * (one.chances.length + other.chances.length);
  return corners.every((corner) => deltaOf(one, corner) >= deltaOf(other, corner));
}

/** About where δ is negligible, at most `most`; 0 where it is negligible everywhere. */
function largestLoss(delta, most, negligible) {
  if (delta(0) <= negligible) return 0;
  let top = Math.min(most, 1);
  while (top < most && delta(top) > negligible) top = Math.min(2 * top, most);
  while (top > SMALLEST && delta(top / 2) <= negligible) top /= 2;
  for (let [low, count] = [top / 2, 0]; count < 3; count += 1) {
    const middle = (low + top) / 2;
    if (delta(middle) <= negligible) top = middle;
    else low = middle;
  }
  return top;
}

/** A law whose δ is nowhere below these, at these ε from 0 on. */
function connected(ends, deltas, spacing) {
  const kept = [];
  /** Of a loss where two lines meet: the change of their slopes, times e^loss. */
  const chanceOf = (before, here, after) => {
    const [upTo, fromHere] = [[before, here], [here, after]].map(([one, other]) => -1 / Math.expm1(ends[one] - ends[other]));
    return (deltas[before] - deltas[here]) * upTo - (deltas[here] - deltas[after]) * (fromHere - 1);
  };
  for (let place = ends.length - 1; place >= 0; place -= 1) {
    while (kept.length > 1 && chanceOf(place, kept.at(-1), kept.at(-2)) <= 0) kept.pop(); // above the line of its neighbours
    kept.push(place);
  }
  const losses = kept.slice(0, -1).map((place) => ends[place]);
  const chances = losses.map((loss, index) => {
    const [before, here] = [kept[index + 1], kept[index]];
    const chance = index ? chanceOf(before, here, kept[index - 1]) : (deltas[before] - deltas[here]) / -Math.expm1(ends[before] - ends[here]);
    return Math.max(0, chance);
  });
  // Whatever rounding did, the chances are made as large as they have to be.
  const lost = deltas[kept[0]];
  const short = kept.map((place) => {
    const profile = losses.reduce((total, loss, index) => total - chances[index] * Math.expm1(Math.min(0, ends[place] - loss)), lost);
    return deltas[place] / Math.max(profile, TINY);
  });
  const factor = Math.max(1, ...short) * SLACK;
  const enlarged = chances.map((chance) => chance * factor);
  // The same losses with the sign reversed are less likely; the remaining chance, rounded up, has a loss of 0.
  const mirrored = enlarged.map((chance, index) => chance * Math.exp(-losses[index]));
  const rest = Math.max(0, 1 - sum(enlarged) - sum(mirrored) - lost * factor) * SLACK;
  const values = [...losses, 0, ...losses.map((loss) => -loss).reverse()];
  return inSteps(values, [...enlarged, rest, ...mirrored.reverse()], lost * factor, spacing);
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
