// The largest ε over all ways to choose the tasks that a participant answers, as in the installed client.
//
// Parts whose law draws for each reading anew are separate: a reading of unknown kind reveals no more than the worst of all
// that it can be, so one sum of losses bounds the ε of many ways. A part whose readings share a draw counts as often as any
// of these ways has it. Where a bound is too large, its ways are divided, those with the largest bound first, until the
// largest ε is known well enough or the work of the check is done.

import { LARGEST, lossesOf, SMALLEST, withoutLosses, worstOf } from "./dots.js";
import { deltaOf, largestOf, repeated, sumOf, valuesOf } from "./losses.js";

const CLOSE = 3e-3; // share of ε that is not worth another sum
const [MOST_SUMS, MOST_PARTS] = [40, 240]; // sums of losses, and parts of all of them together
const BEYOND = 3; // times an ε that holds: further out, the δ of one part hardly matters for that of all
const NEGLIGIBLE = 1e-4; // share of δ for the losses that are too large to be counted
// Values of δ that are connected: of one part, the second times √ln(1/δ), which costs about 1/2000 of its ε, but not
// fewer than the first; of all parts; of each of very many; and the share of the first of these for a shared draw, which
// takes long, but of which a campaign has two at most.
const [USUAL_DOTS, DOTS, ALL_DOTS, FEWEST_DOTS, SHARE] = [96, 18, 1440, 24, 2 / 3];

/**
 * An upper bound for parts {tasks, together, one, bound(count), epsilon(count, share)}: whether readings share a draw, the
 * losses of one reading if they are known, and what this many readings promise, as {pure, bound} and as an ε. Undefined if
 * losses cannot be counted.
 */
export function largestEpsilon(parts, most, delta, work) {
  const total = Math.min(most, sum(parts.map(({ tasks }) => tasks)));
  const negligible = (NEGLIGIBLE * delta) / total;
  const wanted = Math.max(USUAL_DOTS, DOTS * Math.sqrt(-Math.log(delta)));
  const dots = Math.floor(Math.max(FEWEST_DOTS, Math.min(wanted, ALL_DOTS / parts.length)));
  const [joint, separate] = [parts.filter(({ together }) => together), parts.filter(({ together }) => !together)];
  const counted = (law) => (deltaOf(law, 0) <= negligible ? withoutLosses(deltaOf(law, 0)) : law);
  const ones = separate.map((part) => ({ tasks: part.tasks, law: part.one ? counted(part.one) : lossesOf(part.bound(1), dots, negligible) }));
  if (!ones.every(({ law }) => law && (law.top === 0 || law.top > SMALLEST))) return undefined;
  for (const one of ones) one.strength = roughEpsilon(one.law, total, delta);
  ones.sort((one, other) => other.strength - one.strength);
  const tasks = [...joint, ...ones].map((part) => part.tasks);
  const laws = new Map(); // of readings of one part, by place and count

  const lawOf = (place, count) => {
    const key = `${place} ${count}`;
    if (!laws.has(key)) {
      laws.set(key, place < joint.length ? lossesOf(joint[place].bound(count), Math.floor(wanted * SHARE), negligible, mostLoss)
        : repeated(ones[place - joint.length].law, count, negligible, work));
    }
    return laws.get(key);
  };

  /**
   * The losses of all readings of separate parts, in ways with numbers of tasks from `low` to `high`. Of the readings that
   * may be of any part, at most as many are of the first part as it has tasks; the others are of any part but this, and so
   * on.
   */
  function separateLaws({ low, high }) {
    const all = low.flatMap((count, place) => (count && place >= joint.length ? [lawOf(place, count)] : []));
    const spare = high.map((count, place) => (place < joint.length ? 0 : count - low[place]));
    const left = total - sum(low);
    for (let [place, worst] = [tasks.length - 1, null]; place >= joint.length; place -= 1) {
      const one = ones[place - joint.length].law;
      if (spare[place]) worst = worst ? worstOf(one, worst, work) : one;
      const free = Math.min(spare[place], Math.max(0, left - sum(spare.slice(0, place))));
      if (free) all.push(repeated(worst, free, negligible, work));
    }
    return all;
  }

  /** The smallest ε of these laws together; undefined if that takes too long. */
  const epsilonOfSum = (all, share) => {
    const whole = all.every(Boolean) && work.products > 0 ? sumOf(all, negligible, work) : null;
    return whole ? smallestEpsilon(whole, share) : undefined;
  };

  /** An upper bound on the ε of all ways with numbers of tasks from `low` to `high`; undefined if it takes too long. */
  const epsilonOf = (box) => epsilonOfSum([...joint.flatMap((_, place) => (box.high[place] ? [lawOf(place, box.high[place])] : [])), ...separateLaws(box)], delta);

  const narrowed = (low, high) => {
    const [missing, spare] = [total - sum(high), total - sum(low)];
    return { low: low.map((one, place) => Math.max(one, missing + high[place])), high: high.map((one, place) => Math.min(one, spare + low[place])) };
  };
  const root = narrowed(tasks.map(() => 0), tasks);
  const share = delta / (joint.length + 1);
  const separateRoot = joint.length ? separateLaws(root) : [];
  const others = separateRoot.length ? epsilonOfSum(separateRoot, share) : 0;
  const enough = sum(joint.map((part, place) => part.epsilon(root.high[place], share))) + (others ?? Infinity);
  const mostLoss = joint.length ? Math.min(BEYOND * enough, LARGEST) : LARGEST;
  if (!(enough >= 0)) return undefined;
  if (joint.length && !enough) return 0;
  const boxes = [{ ...root, bound: epsilonOf(root) }];
  if (boxes[0].bound === undefined) return undefined;
  const mostSums = Math.min(MOST_SUMS, MOST_PARTS / tasks.length);
  for (let [largest, sums] = [0, 1]; ; sums += 3) {
    boxes.sort((one, other) => one.bound - other.bound);
    const { low, high, bound } = boxes.pop();
    const isOne = low.every((count, place) => count === high[place]);
    if (bound > largest * (1 + CLOSE) && !isOne) {
      const way = firstWay(low, high, total);
      largest = Math.max(largest, epsilonOf({ low: way, high: way }) ?? bound);
    }
    if (bound <= largest * (1 + CLOSE) || isOne || sums >= mostSums) return Math.max(bound, largest);
    for (const half of halves(low, high, joint.length)) {
      const box = narrowed(...half);
      boxes.push({ ...box, bound: Math.min(bound, epsilonOf(box) ?? bound) });
    }
  }
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** As many as possible of the first parts. */
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
  while (high - low > 1e-5 * high) {
    const middle = (low + high) / 2;
    if (deltaOf(law, middle) <= delta) high = middle;
    else low = middle;
  }
  return high;
}
