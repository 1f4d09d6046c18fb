// The manifest: everything that a campaign asks and promises, in canonical JSON. The link's hash proves that it is the
// right one; this module checks that it is valid.

import { exactNumber, isLess, minus, ratio, size, times } from "./exact.js";
import { isNoiseLaw, lawOf } from "./laws.js";

/** Codes are those of the protocol, the words are in the file of a language. `later`: the same may succeed later. */
export class Problem extends Error {
  constructor(code, detail = {}, { later = false, retryAfter = 0 } = {}) {
    super(code);
    Object.assign(this, { code, detail, later, retryAfter });
  }
}

/** The canonical form of a document, as text. Whole numbers may be BigInts; there are at most 8 levels. */
export function canonicalText(document, levels = 8) {
  if (typeof document === "string" && !/\p{Surrogate}/u.test(document)) return JSON.stringify(document);
  if (document === null || ["boolean", "bigint"].includes(typeof document)) return String(document);
  if (Number.isSafeInteger(document)) return String(document);
  if (typeof document !== "object" || !levels) throw new TypeError("not for canonical JSON");
  const inner = (entry) => canonicalText(entry, levels - 1);
  if (Array.isArray(document)) return `[${document.map(inner)}]`;
  return `{${Object.keys(document).sort().map((key) => `${inner(key)}:${inner(document[key])}`)}}`;
}

export const canonicalBytes = (document) => new TextEncoder().encode(canonicalText(document));

/** Read canonical bytes; any other form is refused: a duplicate key, a space, a fraction, half a character. */
function parseCanonical(bytes) {
  try {
    if (bytes.length > MOST_BYTES) throw new RangeError();
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const document = JSON.parse(text);
    if (canonicalText(document) === text) return Object(document);
  } catch {
    // refused below, like any other form
  }
  throw new Problem("bad_manifest");
}

const FIELDS = "asked_by campaign deadline distance format noise purpose readings tasks title unit version";
const MOST_BYTES = 8 << 20;
const MOST_TASKS = 10_000;
const MOST_STEPS = 2n ** 53n; // of a range: a double counts these readings exactly
const WIDEST_NOISE = 2 ** 50; // in steps
const DECIMAL = /^(?!-0$)-?(0|[1-9]\d{0,14})(\.\d{0,14}[1-9])?$/;
const DEADLINE = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u; // such characters can make a text look like another

/** Accepts exactly what the installed client's model of a manifest accepts. */
export function parseManifest(bytes) {
  const manifest = parseCanonical(bytes);
  const { format, campaign, title, asked_by: who, purpose, readings, unit, distance, deadline, tasks, noise, version } = manifest;
  const isRight =
    hasFields(manifest, FIELDS) && format === "sottovoce-manifest/1" &&
    typeof campaign === "string" && /^[\w-]{1,64}$/.test(campaign) &&
    isLine(title, 1, 200) && isLine(who, 1, 200) && isText(purpose, 2000) &&
    isWhole(readings, MOST_TASKS) && isWhole(version, 1e9) && ["reading", "participant"].includes(unit) &&
    isDecimal(distance) && distance > 0 && (deadline === null || isMoment(deadline)) &&
    Array.isArray(tasks) && isWhole(tasks.length, MOST_TASKS) && tasks.every(isTask) &&
    new Set(tasks.map(({ id }) => id)).size === tasks.length &&
    isNoiseLaw(noise) && gridsOf(manifest).every((grid) => Math.sqrt(lawOf(noise).meanVariance) / grid <= WIDEST_NOISE) &&
    (gridsOf(manifest).length === 1 || (!readingsComeAtOnce(manifest) && unit === "reading"));
  if (!isRight) throw new Problem("bad_manifest");
  return manifest;
}

/** Whether a participant's readings share what is drawn, so that they must be noised together. */
export const readingsComeAtOnce = ({ noise }) => lawOf(noise).readingsComeAtOnce;
export const mostReadings = ({ readings, tasks }) => Math.min(readings, tasks.length);
/** The number of a participant's readings that may change while the promise still holds. */
export const movedReadings = (manifest) => (manifest.unit === "participant" ? mostReadings(manifest) : 1);
/** The unit of the tasks, if all have the same. */
export function unitOf({ tasks }) {
  const [unit, other] = new Set(tasks.map((task) => task.unit));
  return other === undefined ? unit : "";
}
export const gridsOf = ({ tasks }) => [...new Set(tasks.map(({ grid }) => grid))];

function isTask(task) {
  const { id, title, unit, ...numbers } = Object(task);
  if (!hasFields(task, "grid high id low title unit") || !isLine(id, 1, 100) || !isLine(title, 0, 200) || !isLine(unit, 0, 40)) return false;
  if (!Object.values(numbers).every(isDecimal) || numbers.grid <= 0) return false;
  const [low, high, grid] = [numbers.low, numbers.high, numbers.grid].map(exactNumber);
  const isCounted = (end) => !isLess(times(grid, ratio(MOST_STEPS)), { n: size(end.n), d: end.d });
  return !isLess(minus(high, low), grid) && isCounted(low) && isCounted(high);
}

/** A decimal of at most 15 digits. */
const isDecimal = (text) =>
  typeof text === "string" && DECIMAL.test(text) && text.replace(/[-.]/g, "").replace(/^0+/, "").length <= 15;
const isWhole = (number, most) => Number.isInteger(number) && number >= 1 && number <= most;
const isText = (text, most) =>
  typeof text === "string" && [...text].length <= most && !/^[ \n]|[ \n]$/.test(text) && !UNPRINTABLE.test(text.replaceAll("\n", ""));
const isLine = (text, least, most) => isText(text, most) && text.length >= least && !text.includes("\n");
const isMoment = (text) =>
  typeof text === "string" && DEADLINE.test(text) && Date.parse(text) > -Infinity && new Date(text).toISOString().startsWith(text.slice(0, -1));
const hasFields = (entry, names) => String(Object.keys(Object(entry)).sort()) === names.replaceAll(" ", ",");
