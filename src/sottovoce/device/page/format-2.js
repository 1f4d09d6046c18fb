// The second format of manifests: numbers and choices, each with its own law, in several languages.

import { hasFields, isMoment, isText, isWhole, MOST_TASKS, takesNoise } from "./fields.js";
import { isLaw, lawOf } from "./laws.js";
import { isList, isSaid, isTag, isTask } from "./task-fields.js";

const FIELDS =
  "answer asked_by campaign contact deadline? format language levels? logo? noise plan? public_results purpose readings retention? tasks title unit version";
const PICTURES = ["image/png", "image/jpeg", "image/svg+xml"];
const MOST_DAYS = 36_500;
const HASH = /^[0-9a-f]{64}$/;

const isHash = (text) => typeof text === "string" && HASH.test(text);
const isOptional = (value, isRight) => value === undefined || isRight(value);

export function isSecondManifest(manifest) {
  const { campaign, language, title, asked_by: who, purpose, contact, tasks, unit, readings, answer, deadline, version } = manifest;
  const said = (text, least, most, isRight) => isSaid(text, language, least, most, isRight);
  return (
    hasFields(manifest, FIELDS) && typeof campaign === "string" && /^[\w-]{1,64}$/.test(campaign) &&
    isTag(language) &&
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

/** Numbers that are perturbed or counted together need one grid and one distance; pure ε are simply added up. */
function haveNoise(numbers, law, unit) {
  const pairs = new Set(numbers.map(({ grid, distance }) => `${grid} ${distance}`));
  const areSeparate = !law.readingsComeAtOnce && (law.isPure || unit === "reading");
  return numbers.every(({ grid }) => takesNoise(law, grid)) && (pairs.size === 1 || areSeparate);
}
