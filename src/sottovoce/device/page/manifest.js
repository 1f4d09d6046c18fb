// The manifest: everything that a campaign asks and promises, in canonical JSON. The link's hash proves that it is the
// right one; this module checks that it is valid.

import { hasFields, isDecimal, isLine, isMoment, isRange, isText, isWhole, MOST_TASKS, takesNoise } from "./fields.js";
import { isSecondManifest } from "./format-2.js";
import { isNoiseLaw, lawOf } from "./laws.js";

/** The codes are the protocol's; the words are in the language files. `later`: the same request may succeed later. */
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

/** Read canonical bytes. Any other form is refused, such as a duplicate key, a space, a fraction or half a character. */
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

/** Accepts exactly what the installed client's models of manifests accept. */
export function parseManifest(bytes) {
  const manifest = parseCanonical(bytes);
  const isRight = manifest.format === "sottovoce-manifest/2" ? isSecondManifest(manifest) : isFirstManifest(manifest);
  if (!isRight) throw new Problem("bad_manifest");
  return manifest;
}

function isFirstManifest(manifest) {
  const { format, campaign, title, asked_by: who, purpose, readings, unit, distance, deadline, tasks, noise, version } = manifest;
  return (
    hasFields(manifest, FIELDS) && format === "sottovoce-manifest/1" &&
    typeof campaign === "string" && /^[\w-]{1,64}$/.test(campaign) &&
    isLine(title, 1, 200) && isLine(who, 1, 200) && isText(purpose, 0, 2000) &&
    isWhole(readings, MOST_TASKS) && isWhole(version, 1e9) && ["reading", "participant"].includes(unit) &&
    isDecimal(distance) && distance > 0 && (deadline === null || isMoment(deadline)) &&
    Array.isArray(tasks) && isWhole(tasks.length, MOST_TASKS) && tasks.every(isFirstTask) &&
    new Set(tasks.map(({ id }) => id)).size === tasks.length &&
    isNoiseLaw(noise) && partsOf(manifest).every(({ grid }) => takesNoise(lawOf(noise), grid)) &&
    (partsOf(manifest).length === 1 || (!readingsComeAtOnce(manifest) && unit === "reading"))
  );
}

function isFirstTask(task) {
  const { id, title, unit } = Object(task);
  return hasFields(task, "grid high id low title unit") && isLine(id, 1, 100) && isLine(title, 0, 200) && isLine(unit, 0, 40) && isRange(task);
}

/** The text form of the law of a task. */
export const noiseOf = ({ noise }, { kind = "number" }) => (typeof noise === "string" ? noise : noise[kind]);
/** A text of the campaign, in this language if there is one, otherwise in the campaign's own. */
export const textOf = ({ language }, text, wanted = language) => (typeof text === "string" ? text : text[wanted] ?? text[language]);
/** Whether a participant's readings share a draw, so that noise must be added to all of them at once. */
export const readingsComeAtOnce = (manifest) => manifest.tasks.some((task) => lawOf(noiseOf(manifest, task)).readingsComeAtOnce);
/** How many tasks a participant may answer at most. */
export const mostReadings = ({ readings, tasks, answer = readings }) => Math.min(answer, tasks.length);
/** Whether each device draws at random which tasks it answers. */
export const deviceDraws = ({ answer, tasks }) => answer < tasks.length;
/** The number of a participant's readings that may change while the promise still holds. */
export const movedReadings = (manifest) => (manifest.unit === "participant" ? mostReadings(manifest) : 1);
/** Whether a task is answered by comparing its reading with public cuts. */
export const isCompared = ({ levels }, { kind }) => levels !== undefined && kind === "number";
/** Whether a comparison would report several levels. Such a manifest is valid, but nobody can take part. */
export const comparesWithSets = (manifest) => manifest.tasks.some((task) => isCompared(manifest, task) && lawOf(noiseOf(manifest, task)).cellsReported > 1);
/** The distance up to which a number is protected; undefined if any two values are. */
export const protectedDistance = ({ distance }, task) => task.distance ?? (task.kind === "choice" ? undefined : distance);

/** The parts of a campaign: tasks with the same law and the same grid and distance, or the same number of cells. */
export function partsOf(manifest) {
  const parts = new Map();
  for (const task of manifest.tasks) {
    const [noise, distance, cells] = [noiseOf(manifest, task), protectedDistance(manifest, task), task.choices?.length ?? manifest.levels];
    const part = distance ? { noise, grid: task.grid, distance } : { noise, cells };
    const key = Object.values(part).join();
    if (!parts.has(key)) parts.set(key, { ...part, law: lawOf(noise), tasks: 0 });
    parts.get(key).tasks += 1;
  }
  return [...parts.values()];
}
