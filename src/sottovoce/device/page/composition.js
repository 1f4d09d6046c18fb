// An upper bound on the ε of independent parts together, from upper bounds on the δ(ε) of each. Lines between a few
// values of δ, drawn over e^ε, belong to a law of few losses that reveals no less than the part; losses add up.
// docs/reference/page-promises.md explains why every step errs upwards; the installed client does the same.

import { convolved } from "./losses.js";

const [LEVELS, MOST_LEVELS] = [512, 2048]; // of losses: up to the ε that is known to hold, and of all that are counted
// Values of δ that are connected: of one part, the second times √ln(1/δ), which costs about 1/2000 of its ε, but not
// fewer than the first; of all parts; and of each of very many.
const [USUAL_DOTS, DOTS, ALL_DOTS, FEWEST_DOTS] = [96, 18, 1440, 24];
const CUT = 1e-4; // share of δ for the losses that are too large to be counted
const [LARGEST, SHORTEST] = [1e7, 2 ** -30]; // more promises nothing, and a smaller share of ε does not matter
const HAIR = 1e-12; // more than the rounding errors of any one loss
const SLACK = 1 + 1e-9; // more than those of products and sums of positive terms
const TINY = 1e-300; // added to every δ, for what is too small for a double
const [SMALLEST_DELTA, SMALLEST_EPSILON] = [1e-280, 1e-100]; // less leaves nothing to divide

/**
 * For parts {pure, bound, moved}: what holds without exception, δ as a function of ε, and how many readings change.
 * `enough` is known to hold; it is returned where nothing better is found.
 */
export function composedEpsilon(parts, delta, enough, work) {
  if (!(enough > SMALLEST_EPSILON && enough < Infinity && delta >= SMALLEST_DELTA && parts.every(({ bound }) => bound))) return enough;
  const largest = parts.map((part) => largestLoss(part, (CUT * delta) / parts.length, enough));
  // A loss that the others cannot make up for may as well be infinite.
  const tops = largest.map((top) => Math.min(top, enough + 2 * (sum(largest) - top)));
  if (!(sum(tops) <= LARGEST)) return enough;
  const spacing = Math.max(enough / LEVELS, sum(tops) / MOST_LEVELS);
  const wanted = Math.max(USUAL_DOTS, DOTS * Math.sqrt(-Math.log(delta)));
  const dots = Math.floor(Math.max(FEWEST_DOTS, Math.min(wanted, ALL_DOTS / parts.length)));
  let [whole, lost] = [{ top: 0, spacing, chances: Float64Array.of(1) }, 0];
  for (const [place, part] of parts.entries()) {
    const losses = lossesOf(part, tops[place], spacing, dots);
    if ((work.products -= whole.chances.length * losses.chances.length) < 0) return enough;
    lost = lost * (sum(losses.chances) + losses.lost) + sum(whole.chances) * losses.lost;
    whole = convolved(whole, losses);
  }
  const keeps = (epsilon) => {
    let total = lost;
    for (let place = 0; place < whole.chances.length; place += 1) {
      const excess = whole.top - spacing * place - epsilon + HAIR * (whole.top + spacing * place + epsilon);
      if (excess <= 0) break;
      total -= whole.chances[place] * Math.expm1(-excess);
    }
    return total * SLACK + TINY <= delta;
  };
  if (keeps(0)) return 0;
  let [low, high] = [0, enough];
  while (high - low > 1e-5 * high) {
    const middle = (low + high) / 2;
    if (keeps(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Where δ is at most `cut`, for which losses beyond count; 0 where the whole part does not matter. */
function largestLoss({ pure, bound }, cut, start) {
  if (bound(0) <= cut) return 0;
  let top = Math.min(pure, start);
  while (top < pure && top <= LARGEST && bound(top) > cut) top = Math.min(1.25 * top, pure);
  while (top > start / LEVELS && bound(top / 2) <= cut) top /= 2;
  return Math.max(top, start * SHORTEST);
}

/** Losses {top, spacing, chances, lost} that reveal no less than a part. */
function lossesOf({ pure, bound, moved }, top, spacing, dots) {
  if (!top) return { top, spacing, chances: Float64Array.of(SLACK), lost: bound(0) * SLACK };
  const count = moved < dots ? moved * Math.ceil(dots / moved) : dots; // losses are often at equal parts of the largest
  const ends = Array.from({ length: count + 1 }, (_, place) => (top * place) / count);
  const deltas = ends.map((end) => (end < pure ? Math.min(1, bound(end)) : 0));
  const { losses, chances, lost } = connected(ends, deltas);
  // The same losses with the sign reversed are less likely; what is left, and never less, has none.
  const mirrored = chances.map((chance, place) => chance * Math.exp(-losses[place]));
  const rest = Math.max(0, 1 - sum(chances) - sum(mirrored) - lost) * SLACK;
  const all = [...losses, 0, ...losses.map((loss) => -loss)];
  return { top, spacing, chances: inSteps(all, [...chances, rest, ...mirrored], top, spacing), lost };
}

/** Positive losses whose δ is nowhere below these: their chances, and that of an infinite one. */
function connected(ends, deltas) {
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
  // Whatever was rounded: they are made as large as they have to be.
  const lost = deltas[kept[0]];
  const short = kept.map((place) => {
    const profile = losses.reduce((total, loss, index) => total - chances[index] * Math.expm1(Math.min(0, ends[place] - loss)), lost);
    return deltas[place] / Math.max(profile, TINY);
  });
  const factor = Math.max(1, ...short) * SLACK;
  return { losses, chances: chances.map((chance) => chance * factor), lost: lost * factor };
}

/** What lies between two steps goes to both, such that the chances before and after a move remain. */
function inSteps(losses, chances, top, spacing) {
  const places = losses.map((loss) => Math.max(0, (top - loss) / spacing));
  const stepped = new Float64Array(Math.floor(Math.max(...places)) + 2);
  places.forEach((place, index) => {
    const above = Math.floor(place);
    const up = Math.expm1(-(above + 1 - place) * spacing) / Math.expm1(-spacing);
    stepped[above] += chances[index] * up * SLACK;
    stepped[above + 1] += chances[index] * Math.max(0, 1 - up) * SLACK;
  });
  return stepped;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
