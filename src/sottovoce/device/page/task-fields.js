// The fields of a task in the second format: which kinds of tasks have them, and which values they may have.

import { comparable, hasFields, isDecimal, isLine, isRange, isText, isWhole } from "./fields.js";
import { isInstrument } from "./known-instruments.js";

const [MOST_LANGUAGES, MOST_CHOICES, MOST_POINTS, WIDTH, MOST_QUOTA] = [20, 100, 100, 10_000, 1e12];
const TAG = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/;
const KINDS = ["number", "choice"];

export const isTag = (text) => typeof text === "string" && TAG.test(text);
export const isList = (value, least, most) => Array.isArray(value) && isWhole(value.length, most, least);

/** A text in the campaign's language, or in several. */
export function isSaid(text, language, least, most, isRight = isLine) {
  if (typeof text === "string") return isRight(text, least, most);
  const tags = Object.keys(Object(text));
  return !Array.isArray(text) && isWhole(tags.length, MOST_LANGUAGES, 2) && tags.includes(language) &&
    tags.every((tag) => isTag(tag) && isRight(text[tag], 1, most));
}

const isPoint = (point) => isList(point, 2, 2) && point.every((part) => isWhole(part, WIDTH, 0));
const areChoices = (choices, { language }) =>
  isList(choices, 2, MOST_CHOICES) && choices.every((choice) => isSaid(choice, language, 1, 200)) && areDifferent(choices, language);

/** By name, with a question mark if a field may be missing: its values, its kind of task if not both, whether people read it. */
const FIELDS = {
  id: { takes: (id) => isLine(id, 1, 100) },
  kind: { takes: (kind) => KINDS.includes(kind) },
  title: { takes: (text, { language }) => isSaid(text, language, 0, 200), isSpoken: true },
  help: { takes: (text, { language }) => isSaid(text, language, 0, 2000, isText), isSpoken: true },
  "place?": { takes: (points, { plan }) => plan !== undefined && isList(points, 1, MOST_POINTS) && points.every(isPoint) },
  "quota?": { takes: (count) => isWhole(count, MOST_QUOTA) },
  unit: { of: "number", takes: (text, { language }) => isSaid(text, language, 0, 40), isSpoken: true },
  low: { of: "number", takes: isDecimal },
  high: { of: "number", takes: isDecimal },
  grid: { of: "number", takes: isDecimal },
  "distance?": { of: "number", takes: (distance) => isDecimal(distance) && distance > 0 },
  instrument: { of: "number", takes: isInstrument },
  choices: { of: "choice", takes: areChoices, isSpoken: true },
};

/** The fields of a kind of task, for `hasFields`. */
export const fieldsOf = (kind) => Object.keys(FIELDS).filter((name) => (FIELDS[name].of ?? kind) === kind);
const ALLOWED = new Map(KINDS.map((kind) => [kind, fieldsOf(kind).join(" ")]));
const SPOKEN = new Set(Object.keys(FIELDS).filter((name) => FIELDS[name].isSpoken));

export function isTask(task, manifest) {
  const { kind } = Object(task);
  return KINDS.includes(kind) && hasFields(task, ALLOWED.get(kind)) && (kind === "choice" || isRange(task)) &&
    Object.entries(task).every(([name, entry]) => (FIELDS[name] ?? FIELDS[`${name}?`]).takes(entry, manifest));
}

/** A task whose texts for people are replaced by what `said` returns. */
export const spokenTask = (task, said) =>
  Object.fromEntries(Object.entries(task).map(([name, entry]) => [name, !SPOKEN.has(name) ? entry : Array.isArray(entry) ? entry.map(said) : said(entry)]));

/** Whether people can tell the choices apart, in every language. */
function areDifferent(choices, language) {
  const tags = new Set([language, ...choices.flatMap((choice) => (typeof choice === "string" ? [] : Object.keys(choice)))]);
  const inLanguage = (tag) => choices.map((choice) => comparable(typeof choice === "string" ? choice : choice[tag] ?? choice[language]));
  return [...tags].every((tag) => new Set(inLanguage(tag)).size === choices.length);
}
