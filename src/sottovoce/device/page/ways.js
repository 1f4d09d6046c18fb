// The largest ε over all ways to choose the tasks that a participant answers, as in the installed client.
//
// Parts whose law draws once per reading are separate: a reading of unknown kind reveals no more than the worst of all
// that it can be, so one sum of losses bounds the ε of many ways. A part whose readings share a draw counts as often as any
// of these ways has it. Where a bound is too large, its ways are divided, those with the largest bound first, until the
// largest ε is known well enough or the work of the check is done.

import { LARGEST, lossesAt, lossesOf, MOST_DOTS, SMALLEST, withoutLosses, worstOf } from "./dots.js";
import { deltaOf, largestOf, plus, repeated, valuesOf, within } from "./losses.js";

const [ROUGHLY, CLOSE] = [0.1, 2e-3]; // shares of ε that are not worth another sum: at first, and in the end
const NEGLIGIBLE = 1e-4; // share of δ for the losses that are too large to be counted
// Values of δ that are connected: of one part, the second times √ln(1/δ), but not fewer than the first; of all parts; of
// each of very many. That costs about 1/2000 of its ε.
const [USUAL_DOTS, DOTS, ALL_DOTS, FEWEST_DOTS] = [96, 18, 2400, 24];
const [ROUGH_STEP, STEP] = [1.15, 1.1]; // from one of these values to the next: at first, and beyond an ε that holds
const AT_LEAST = 0.7; // ε is expected to be at least this share of a rough bound
const [BEYOND, FAR] = [6, 80]; // times such an ε, or above it: larger losses count as infinite

/**
 * An upper bound for parts {tasks, together, one, bound(count), epsilon(count, share)}: whether readings share a draw, the
 * losses of one reading if they are known, and what this many readings promise, as {pure, bound} and as an ε. Undefined if
 * losses cannot be counted.
 */
export function largestEpsilon(parts, most, delta, work) {
  const total = Math.min(most, sum(parts.map(({ tasks }) => tasks)));
  const negligible = (NEGLIGIBLE * delta) / total;
  const wanted = Math.max(USUAL_DOTS, Math.ceil(DOTS * Math.sqrt(-Math.log(delta))));
  const dots = Math.floor(Math.max(FEWEST_DOTS, Math.min(wanted, ALL_DOTS / parts.length)));
  const [joint, separate] = [parts.filter(({ together }) => together), parts.filter(({ together }) => !together)];
  const counted = (law) => (deltaOf(law, 0) <= negligible ? withoutLosses(deltaOf(law, 0)) : law);
  const ones = separate.map((part) => ({ tasks: part.tasks, law: part.one ? counted(part.one) : lossesOf(part.bound(1), dots, negligible) }));
  if (!ones.every(({ law }) => law && (law.top === 0 || law.top > SMALLEST))) return undefined;
  for (const one of ones) one.strength = roughEpsilon(one.law, total, delta);
  ones.sort((one, other) => other.strength - one.strength);
  const tasks = [...joint, ...ones].map((part) => part.tasks);
  const kept = new Map(); // laws of any of some parts, and of layers of readings

  const remembered = (key, make) => {
    if (!kept.has(key)) kept.set(key, make());
    return kept.get(key);
  };

  /** The law of a reading of any of these parts. */
  const worstIn = ([first, ...others]) => {
    const { law } = ones[first - joint.length];
    return others.length ? remembered(`any ${[first, ...others]}`, () => worstOf(law, worstIn(others), work)) : law;
  };

  /**
   * The readings of separate parts, as places of parts and how many readings may be of any of them. Of the readings that
   * may be of any part, at most as many are of the first part as it has tasks; the others are of any part but this, and so
   * on.
   */
  function layersOf({ low, high }) {
    const places = tasks.map((_, place) => place).slice(joint.length);
    const layers = places.filter((place) => low[place]).map((place) => [[place], low[place]]);
    const free = places.filter((place) => high[place] > low[place]);
    let left = total - sum(low);
    free.forEach((place, index) => {
      const count = Math.min(left, high[place] - low[place]);
      if (count) layers.push([free.slice(index), count]);
      left -= count;
    });
    return layers;
  }

  /** The law of all these readings; ways that have the first layers in common share it. Null if it takes too long. */
  const sumOfLayers = (layers) => remembered(`sum ${layers.join(";")}`, () => {
    const [places, count] = layers.at(-1);
    if (work.products < 0) return null;
    const before = layers.length > 1 ? sumOfLayers(layers.slice(0, -1)) : undefined;
    const last = before === null ? null : repeated(worstIn(places), count, negligible, work);
    return last && before ? plus(before, last, negligible, work) : last;
  });

  const narrowed = (low, high) => {
    const [missing, spare] = [total - sum(high), total - sum(low)];
    return { low: low.map((one, place) => Math.max(one, missing + high[place])), high: high.map((one, place) => Math.min(one, spare + low[place])) };
  };
  const root = narrowed(tasks.map(() => 0), tasks);

  /** The largest ε, at most `least` and at most this share of it too large, if there is enough work left. */
  function searched(least, close, spreads, products) {
    const [drawn, end] = [new Map(), work.products - products];
    const drawnLaw = (place, count) => {
      const key = `${place} ${count}`;
      if (!drawn.has(key)) drawn.set(key, lossesAt(joint[place].bound(count), spreads[place].points, spreads[place].step));
      return drawn.get(key);
    };
    /** An upper bound on the ε of all ways with numbers of tasks from `low` to `high`, which is at most `bound`. */
    const epsilonOf = (box, bound) => {
      const layers = layersOf(box);
      const laws = joint.flatMap((_, place) => (box.high[place] ? [drawnLaw(place, box.high[place])] : []));
      if (layers.length) laws.push(sumOfLayers(layers));
      if (!laws.every(Boolean)) return undefined;
      const whole = laws.map((law) => within(law, -FAR, bound + FAR)).reduce((one, other) => plus(one, other, negligible, work));
      return Math.min(bound, smallestEpsilon(whole, delta));
    };

    const first = epsilonOf(root, least);
    if (first === undefined) return least < Infinity ? least : undefined;
    const boxes = [{ ...root, bound: first }];
    for (let largest = 0; ; ) {
      boxes.sort((one, other) => one.bound - other.bound);
      const { low, high, bound } = boxes.pop();
      const isOne = low.every((count, place) => count === high[place]);
      if (bound > largest * (1 + close) && !isOne) {
        const way = firstWay(low, high, total);
        largest = Math.max(largest, epsilonOf({ low: way, high: way }, bound) ?? bound);
      }
      if (bound <= largest * (1 + close) || isOne || work.products < end) return Math.max(bound, largest);
      for (const half of halves(low, high, joint.length)) {
        const box = narrowed(...half);
        boxes.push({ ...box, bound: epsilonOf(box, bound) ?? bound });
      }
    }
  }

  if (!joint.length) return searched(Infinity, CLOSE, [], work.products);
  const share = delta / (joint.length + 1);
  const layers = layersOf({ low: root.low.map((count, place) => (place < joint.length ? count : 0)), high: root.high });
  const others = layers.length ? sumOfLayers(layers) : undefined;
  if (others === null) return undefined;
  const before = sum(joint.map((part, place) => part.epsilon(root.high[place], share))) + (others ? smallestEpsilon(others, share) : 0);
  if (before === 0) return 0;
  // Roughly at first, to see where values of δ are worth their time.
  const top = Math.min(2 * before, LARGEST);
  const roughly = spread(0, top / 64, top / 64, top, ROUGH_STEP);
  const bound = searched(before, ROUGHLY, joint.map(() => roughly), work.products / 4);
  if (!(bound > 0 && bound < Infinity)) return bound;
  const pures = joint.map((part, place) => part.bound(root.high[place]).pure);
  /** Where the losses of a shared draw matter: up to the bound, and from where they and all others reach it. */
  const closely = (place) => {
    const most = (others ? others.top : 0) + sum(pures.filter((_, other) => other !== place));
    const dense = Math.min(bound, pures[place]);
    const low = Math.max(0, Math.min(AT_LEAST * bound - most, AT_LEAST * dense));
    const step = (dense - low) / Math.max((wanted * 2) / 3, Math.min(3 * (dense - low), MOST_DOTS));
    return spread(low, step, dense, Math.min(BEYOND * bound, bound + FAR, LARGEST), STEP);
  };
  return searched(bound, CLOSE, joint.map((_, place) => closely(place)), work.products);
}

/** 0, then evenly from `low` up to `dense`, then each a little more than the last, up to the top; and the even step. */
function spread(low, first, dense, top, step) {
  const points = Array.from({ length: Math.ceil((Math.min(dense, top) - low) / first) + 1 }, (_, place) => low + first * place);
  while (points.at(-1) * step < top) points.push(points.at(-1) * step);
  return { points: [...(low ? [0] : []), ...points.filter((point) => point < top), top], step: first };
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The way with as many tasks as possible in the first parts. */
function firstWay(low, high, total) {
  let left = total - sum(low);
  return low.map((count, place) => {
    const more = Math.min(high[place] - count, left);
    left -= more;
    return count + more;
  });
}

/** The ways in two halves, by the part whose number is known least; parts with shared draws come first. */
function halves(low, high, joint) {
  const spans = high.map((count, place) => count - low[place]);
  const first = Math.max(0, ...spans.slice(0, joint));
  const place = spans.indexOf(first || Math.max(...spans));
  const middle = Math.floor((low[place] + high[place]) / 2);
  const replaced = (counts, count) => [...counts.slice(0, place), count, ...counts.slice(place + 1)];
  return [[low, replaced(high, middle)], [replaced(low, middle + 1), high]];
}

/** About the ε of this many readings with these losses, by a few of their moments. */
function roughEpsilon(law, times, delta) {
  const [values, orders] = [valuesOf(law), Array.from({ length: 19 }, (_, power) => 2 ** (power - 6) / Math.max(law.top, 1e-100))];
  return Math.min(...orders.map((order) => {
    const moment = sum(values.map((value, place) => law.chances[place] * Math.exp(Math.min(0, order * (value - law.top)))));
    return (times * (Math.log(moment) + order * law.top) - Math.log(delta)) / order;
  }));
}

/** The smallest ε with at most this δ, rounded up; infinite if there is none. */
function smallestEpsilon(law, delta) {
  let [low, high] = [0, Math.max(0, largestOf(law))];
  if (deltaOf(law, low) <= delta) return low;
  if (!(deltaOf(law, high) <= delta)) return Infinity;
  while (high - low > 1e-6 * high) {
    const middle = (low + high) / 2;
    if (deltaOf(law, middle) <= delta) high = middle;
    else low = middle;
  }
  return high;
}
