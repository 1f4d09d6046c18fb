// Fields of the protocol's documents, and the values that they may have.

import { exactNumber, isLess, minus, ratio, size, times } from "./exact.js";

export const MOST_TASKS = 10_000;
const MOST_STEPS = 2n ** 53n; // of a range: a double can count this many readings exactly
const WIDEST_NOISE = 2 ** 50; // in steps
const DECIMAL = /^(?!-0$)-?(0|[1-9]\d{0,14})(\.\d{0,14}[1-9])?$/;
const DEADLINE = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u; // such characters can make a text look like another
// Printable according to Unicode, but invisible. Listed, as in the installed client: versions of Unicode must not matter.
const INVISIBLE = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{16fe4}\u{1d159}\u{e0100}-\u{e01ef}]/gu;

/** A decimal of at most 15 digits. */
export const isDecimal = (text) =>
  typeof text === "string" && DECIMAL.test(text) && text.replace(/[-.]/g, "").replace(/^0+/, "").length <= 15;
export const isWhole = (number, most, least = 1) => Number.isInteger(number) && number >= least && number <= most;
export const isText = (text, least, most) =>
  typeof text === "string" && [...text].length <= most && text.length >= least && !/^[ \n]|[ \n]$/.test(text) && !UNPRINTABLE.test(text.replaceAll("\n", "")) && (!text || comparable(text) !== "");
export const isLine = (text, least, most) => isText(text, least, most) && !text.includes("\n");
export const isMoment = (text) =>
  typeof text === "string" && DEADLINE.test(text) && Date.parse(text) > -Infinity && new Date(text).toISOString().startsWith(text.slice(0, -1));
/** Whether an object has these fields and no others; those with a question mark may be missing. */
export function hasFields(entry, names) {
  const [there, known] = [Object.keys(Object(entry)), names.split(" ")];
  return there.every((name) => known.includes(name) || known.includes(`${name}?`)) && known.every((name) => name.endsWith("?") || there.includes(name));
}

/** Whether a task has a range and a grid that can be used. */
export function isRange(task) {
  const ends = [task.low, task.high, task.grid];
  if (!ends.every(isDecimal) || task.grid <= 0) return false;
  const [low, high, grid] = ends.map(exactNumber);
  const isCounted = (end) => !isLess(times(grid, ratio(MOST_STEPS)), { n: size(end.n), d: end.d });
  return !isLess(minus(high, low), grid) && isCounted(low) && isCounted(high);
}
export const takesNoise = (law, grid) => Math.sqrt(law.meanVariance) / grid <= WIDEST_NOISE;

/** A text for comparison: without differences in spaces, case, invisible characters and compatible forms. */
export const comparable = (text) => text.replace(INVISIBLE, "").normalize("NFKC").toUpperCase().toLowerCase().replaceAll(" ", "");
