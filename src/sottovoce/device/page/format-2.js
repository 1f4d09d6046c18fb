// The second format of manifests: numbers and choices, each under a law of its own, in several languages.

import { comparable, hasFields, isDecimal, isLine, isMoment, isRange, isText, isWhole, MOST_TASKS, takesNoise } from "./fields.js";
import { isInstrument } from "./known-instruments.js";
import { isLaw, lawOf } from "./laws.js";

const FIELDS =
  "answer asked_by campaign contact deadline? format language levels? logo? noise plan? public_results purpose readings retention? tasks title unit version";
const SHARED = "help id kind place? quota? title";
const PICTURES = ["image/png", "image/jpeg", "image/svg+xml"];
const [MOST_LANGUAGES, MOST_CHOICES, MOST_POINTS, WIDTH, MOST_DAYS, MOST_QUOTA] = [20, 100, 100, 10_000, 36_500, 1e12];
const TAG = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/;
const HASH = /^[0-9a-f]{64}$/;

const isHash = (text) => typeof text === "string" && HASH.test(text);
const isOptional = (value, isRight) => value === undefined || isRight(value);
const isList = (value, least, most) => Array.isArray(value) && isWhole(value.length, most, least);

export function isSecondManifest(manifest) {
  const { campaign, language, title, asked_by: who, purpose, contact, tasks, unit, readings, answer, deadline, version } = manifest;
  const said = (text, least, most, isRight = isLine) => isSaid(text, language, least, most, isRight);
  return (
    hasFields(manifest, FIELDS) && typeof campaign === "string" && /^[\w-]{1,64}$/.test(campaign) &&
    typeof language === "string" && TAG.test(language) &&
    said(title, 1, 200) && said(who, 1, 200) && said(purpose, 0, 2000, isText) && said(contact, 0, 200) &&
    isWhole(readings, MOST_TASKS) && isWhole(version, 1e9) && ["reading", "participant"].includes(unit) &&
    isList(tasks, 1, MOST_TASKS) && tasks.every((task) => isTask(task, manifest)) &&
    new Set(tasks.map(({ id }) => id)).size === tasks.length && isWhole(answer, Math.min(readings, tasks.length)) &&
    isOptional(deadline, isMoment) && typeof manifest.public_results === "boolean" &&
    isOptional(manifest.retention, (days) => isWhole(days, MOST_DAYS, 0)) && isOptional(manifest.logo, isHash) &&
    isOptional(manifest.plan, (plan) => hasFields(plan, "sha256 type") && isHash(plan.sha256) && PICTURES.includes(plan.type)) &&
    hasLaws(manifest)
  );
}

/** A text in the campaign's language, or in several. */
function isSaid(text, language, least, most, isRight) {
  if (typeof text === "string") return isRight(text, least, most);
  const tags = Object.keys(Object(text));
  return !Array.isArray(text) && isWhole(tags.length, MOST_LANGUAGES, 2) && tags.includes(language) &&
    tags.every((tag) => TAG.test(tag) && isRight(text[tag], 1, most));
}

function isTask(task, { language, plan }) {
  const { id, kind, title, help, unit, place, quota, choices } = Object(task);
  const said = (text, least, most, isRight = isLine) => isSaid(text, language, least, most, isRight);
  const isPoint = (point) => isList(point, 2, 2) && point.every((part) => isWhole(part, WIDTH, 0));
  const isShared = isLine(id, 1, 100) && said(title, 0, 200) && said(help, 0, 2000, isText) &&
    isOptional(quota, (count) => isWhole(count, MOST_QUOTA)) &&
    isOptional(place, (points) => plan !== undefined && isList(points, 1, MOST_POINTS) && points.every(isPoint));
  if (!isShared) return false;
  if (kind === "choice") {
    return hasFields(task, `${SHARED} choices`) && isList(choices, 2, MOST_CHOICES) && choices.every((choice) => said(choice, 1, 200)) && areDifferent(choices, language);
  }
  return kind === "number" && hasFields(task, `${SHARED} distance? grid high instrument low unit`) && said(unit, 0, 40) &&
    isInstrument(task.instrument) && isRange(task) && isOptional(task.distance, (distance) => isDecimal(distance) && distance > 0);
}

/** Whether people can tell the choices apart, in every language. */
function areDifferent(choices, language) {
  const tags = new Set([language, ...choices.flatMap((choice) => (typeof choice === "string" ? [] : Object.keys(choice)))]);
  const inLanguage = (tag) => choices.map((choice) => comparable(typeof choice === "string" ? choice : choice[tag] ?? choice[language]));
  return [...tags].every((tag) => new Set(inLanguage(tag)).size === choices.length);
}

function hasLaws({ tasks, noise, levels, unit }) {
  const kinds = [...new Set(tasks.map(({ kind }) => kind))];
  const laws = typeof noise === "string" ? Object.fromEntries(kinds.map((kind) => [kind, noise])) : Object(noise);
  const isSpelled = typeof noise === "string" || (kinds.length === 2 && hasFields(noise, "choice number") && noise.choice !== noise.number);
  if (!isSpelled || !kinds.every((kind) => isLaw(laws[kind]))) return false;
  const answers = (kind) => kinds.includes(kind) && "shifts" in lawOf(laws[kind]);
  if (kinds.includes("choice") && !answers("choice")) return false;
  const takes = (kind, cells) => lawOf(laws[kind]).takesCells(cells);
  if (!tasks.every(({ kind, choices }) => kind === "number" || takes("choice", choices.length))) return false;
  if (answers("number") !== (levels !== undefined) || !isOptional(levels, (count) => [2, 4].includes(count) && takes("number", count))) return false;
  const numbers = tasks.filter(({ kind }) => kind === "number");
  if (!numbers.every(({ distance }) => (distance === undefined) === answers("number"))) return false;
  return !numbers.length || answers("number") || haveNoise(numbers, lawOf(laws.number), unit);
}

/** Numbers that are noised or judged together need one grid and one distance; a pure ε is simply added up. */
function haveNoise(numbers, law, unit) {
  const pairs = new Set(numbers.map(({ grid, distance }) => `${grid} ${distance}`));
  const areSeparate = !law.readingsComeAtOnce && (law.isPure || unit === "reading");
  return numbers.every(({ grid }) => takesNoise(law, grid)) && (pairs.size === 1 || areSeparate);
}
