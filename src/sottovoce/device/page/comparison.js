// Comparisons in words: what happens to a reading, the question about it, and the answers.

import { answerGaps, dots } from "./answer.js";
import { levelOf } from "./comparing.js";
import { h } from "./dom.js";
import { stepsAsText } from "./exact.js";
import { decimal, say, withUnit } from "./language.js";
import { lawOf } from "./laws.js";
import { isCompared, noiseOf } from "./manifest.js";
import { stepsOf } from "./noisy.js";

/** What happens to readings that are compared, and a hundred dots, some of which stand for another answer. */
export function comparisonPicture(manifest) {
  const task = manifest.tasks.find((one) => isCompared(manifest, one));
  if (!task) return [];
  const law = lawOf(noiseOf(manifest, task));
  return [h("p", comparisonWords(law, manifest.levels)), dots(law.channel(manifest.levels).hit)];
}

export const comparisonWords = (law, levels) => say(`compare.${levels === 2 ? "two" : "many"}`, answerGaps(law, levels));

/** A cut as text. Half a step has one digit more than the grid; where that is a 0, it is left out. */
const cutText = (cut, { grid, unit }) => withUnit(decimal(stepsAsText(5n * BigInt(cut), grid, 1).replace(/\.?0$/, "")), unit);

export function questionText(cuts, task) {
  const [low, middle, high] = cuts.map((cut) => cutText(cut, task));
  return middle ? say("compare.question.many", { low, middle, high }) : say("compare.question.two", { cut: low });
}

/** A level as an answer. */
export function levelText(level, cuts, task) {
  const [low, high] = [cuts[level - 1], cuts[level]].map((cut) => cut !== undefined && cutText(cut, task));
  return low && high ? say("compare.between", { low, high }) : low ? say("compare.above", { cut: low }) : say("compare.below", { cut: high });
}

/** The true answer for a reading. */
export const ownLevelText = (reading, cuts, task) => levelText(levelOf(stepsOf(reading, task), cuts), cuts, task);
