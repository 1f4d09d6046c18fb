// The manifest: all that a campaign asks and promises, in canonical JSON. Its hash is the link's, so it is what was
// meant; here it is made sure that it means something.

import { exactNumber, isLess, minus } from "./exact.js";

/** Codes are those of the protocol, the words are in texts.js. `later`: the same may succeed later. */
export class Problem extends Error {
  constructor(code, detail = {}, { later = false, retryAfter = 0 } = {}) {
    super(code);
    Object.assign(this, { code, detail, later, retryAfter });
  }
}

/** The one spelling of a document, as text. Whole numbers may be BigInts; nothing is deeper than 8 levels. */
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

/** Read canonical bytes; any other spelling is refused: a key twice, a space, a fraction, half a character. */
function parseCanonical(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const document = JSON.parse(text);
    if (canonicalText(document) === text) return Object(document);
  } catch {
    // told below, as any other spelling
  }
  throw new Problem("bad_manifest");
}

const FIELDS = "asked_by campaign deadline distance format noise purpose readings tasks title unit version";
const DECIMAL = /^(?!-0$)-?(0|[1-9]\d{0,14})(\.\d{0,14}[1-9])?$/;
const NUMBER = String.raw`:\d[\d.]*(e[+-]\d+)?`;
const LAW = new RegExp(`^((fresh|shared|gaussian)${NUMBER}|floored${NUMBER}${NUMBER})$`);
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u; // such characters can make a text look like another

export function parseManifest(bytes) {
  const manifest = parseCanonical(bytes);
  const { format, campaign, title, asked_by: who, purpose, readings, unit, distance, deadline, tasks, noise } = manifest;
  const isRight =
    hasFields(manifest, FIELDS) && format === "sottovoce-manifest/1" && /^[\w-]{1,64}$/.test(campaign) &&
    [title, who, String(purpose).replaceAll("\n", " ")].every(isLine) && title && who &&
    Number.isInteger(readings) && readings > 0 && ["reading", "participant"].includes(unit) &&
    isDecimal(distance) && distance > 0 && (deadline === null || Date.parse(deadline)) &&
    Array.isArray(tasks) && tasks.length && tasks.every(isTask) && new Set(tasks.map(({ id }) => id)).size === tasks.length &&
    LAW.test(noise) && noise.split(":").slice(1).every((number) => number > 0 && number < Infinity) &&
    (gridsOf(manifest).length === 1 || (!readingsComeAtOnce(manifest) && unit === "reading"));
  if (!isRight) throw new Problem("bad_manifest");
  return manifest;
}

/** Whether one variance is drawn for all readings of a participant, so that they must be noised together. */
export const readingsComeAtOnce = ({ noise }) => /^(shared|floored):/.test(noise);
export const mostReadings = ({ readings, tasks }) => Math.min(readings, tasks.length);
export const gridsOf = ({ tasks }) => [...new Set(tasks.map(({ grid }) => grid))];

function isTask(task) {
  const { id, title, unit, ...numbers } = Object(task);
  if (!hasFields(task, "grid high id low title unit") || ![id, title, unit].every(isLine) || !id) return false;
  if (!Object.values(numbers).every(isDecimal) || numbers.grid <= 0) return false;
  const [low, high, grid] = [numbers.low, numbers.high, numbers.grid].map(exactNumber);
  return !isLess(minus(high, low), grid);
}

const isDecimal = (text) => typeof text === "string" && DECIMAL.test(text);
const isLine = (text) => typeof text === "string" && !UNPRINTABLE.test(text);
const hasFields = (entry, names) => String(Object.keys(Object(entry)).sort()) === names.replaceAll(" ", ",");
