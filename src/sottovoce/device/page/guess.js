// The promise without mathematics: how often somebody who has only two possibilities left would guess the right one from
// everything that this device sends.
//
// Suppose that no event is more than e^ε times as likely under one possibility as under the other, except for a chance of
// δ. If a fair coin chose between them, the best guess is right with a chance of at most (e^ε + δ) / (1 + e^ε).

import { exactNumber, floor, isLess, minus, over, plus, ratio, stepsAsText, times } from "./exact.js";
import { decimal, say, spokenTag, withUnit } from "./language.js";
import { isCompared, mostReadings, protectedDistance, textOf } from "./manifest.js";
import { distanceText } from "./promise.js";

const MOST_CASES = 1e6;
const TOLERANCE = 1e-9; // figures are doubles

/** How often a guess is right at most, out of enough cases for at least one wrong guess. */
export function guessed({ epsilon, delta }) {
  const wrong = (1 - delta) / (1 + Math.exp(Math.min(epsilon, 700)));
  for (let base = 100; base <= MOST_CASES; base *= 10) {
    const times = base - Math.floor(base * wrong * (1 + TOLERANCE) + TOLERANCE);
    if (times < base) return say("guess.share", { times, base });
  }
  return say("guess.always");
}

/** Two readings that are as far apart as the promise reaches, near the middle of the range. */
function twoReadings(task, within, unit) {
  const texts = [task.low, task.high, task.grid, within];
  const [low, high, grid, distance] = texts.map(exactNumber);
  const places = Math.max(...texts.map((text) => (text.split(".")[1] ?? "").length));
  const half = ratio(1n, 2n);
  const middle = times(ratio(floor(plus(over(times(plus(low, high), half), grid), half))), grid);
  const last = minus(high, distance);
  const one = [low, isLess(middle, last) ? middle : last].reduce((least, other) => (isLess(least, other) ? other : least));
  const end = plus(one, distance);
  const text = ({ n, d }) => withUnit(decimal(trimmed(stepsAsText((n * 10n ** BigInt(places)) / d, (1).toFixed(places).replace(/1(.*)0$/, "0$11")))), unit);
  return { one: text(one), other: text(isLess(high, end) ? high : end) };
}

const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** The sentence for a manifest and what it promises. */
export function guessWords(manifest, promise) {
  const [noisy, others] = [true, false].map((isNoisy) => manifest.tasks.filter((task) => Boolean(protectedDistance(manifest, task)) === isNoisy));
  const howMany = manifest.unit === "reading" ? "one" : mostReadings(manifest) === 1 ? "only" : "all";
  const areCompared = manifest.tasks.some((task) => isCompared(manifest, task));
  const thing = noisy.length ? (others.length ? "either" : "reading") : areCompared ? "compared" : "answer";
  const [first] = noisy;
  const gaps = first && { ...twoReadings(first, protectedDistance(manifest, first), textOf(manifest, first.unit, spokenTag())), distance: distanceText(manifest) };
  return say("guess.sentence", { pair: say(`guess.${thing}.${howMany}`, gaps), share: guessed(promise) });
}
