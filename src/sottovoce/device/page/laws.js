// The laws that this page supports, by name. A law is a class in a file of its own, built from the parameters of its text
// form. It draws noise and bounds what it promises from above and from below. Its description in words is in the language
// files.
//
// readingsComeAtOnce, isPure   what it needs of a campaign, and whether its ε has no exception
//
// A law that adds noise to numbers has
// meanVariance, variances(n)   of the noise on one reading; n equally likely ones, for a picture
// onGrid(grid)                 draw(count, stream); and bound(steps, moved, delta, work, most), from ε to δ, if it can
//                              with a property `at`, from many ε to their δ; or, if it is pure,
//                              pureEpsilon(steps, moved) and the losses(steps) of one reading
// leastEpsilon(…), chanceOfNoNoise(grid)   the simple bounds of sanity.js
//
// A law for answers, where each answer is one of several cells, has
// cellsReported                how many cells an answer reports
// takesCells(cells)            whether it can perturb answers out of this many cells
// channel(cells)               the chances that the true cell, and that any other one, is reported
// shifts(cells, stream)        by how many of this many cells each answer of a participant is shifted
// pureEpsilon(moved, readings) without exception, when this many of a participant's readings change
// losses(cells)                of one answer, if the law is pure; else bound(moved, readings, work), from ε to δ
// leastEpsilon(…), chanceOfTruth(cells)

import { isParameter } from "./exact.js";
import { Floored } from "./law-floored.js";
import { Fresh } from "./law-fresh.js";
import { Gaussian } from "./law-gaussian.js";
import { Response } from "./law-response.js";
import { Shared } from "./law-shared.js";
import { TwoLayer } from "./law-twolayer.js";

export const LAWS = new Map([Shared, Fresh, Floored, Gaussian, Response, TwoLayer].map((law) => [law.name, law]));

/** The law that a text such as "fresh:0.5" names. */
export function lawOf(text) {
  const [name, ...parameters] = text.split(":");
  // A number stands for the double that it is read as.
  return new (LAWS.get(name))(...parameters.map((one) => (/^\d/.test(one) ? Number(one) : one)));
}

/** Whether a text names a law, in its one spelling. */
export function isLaw(text) {
  const [name, ...parameters] = typeof text === "string" ? text.split(":") : [];
  const law = LAWS.get(name);
  return Boolean(law?.takes ? law.takes(parameters) : parameters.length === law?.length && parameters.every(isParameter));
}

/** Whether a text names a law that adds noise to numbers. */
export const isNoiseLaw = (text) => isLaw(text) && "onGrid" in lawOf(text);
