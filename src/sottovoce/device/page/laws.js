// The noise laws that this page knows, by name. A law is a class in a file of its own: built from the numbers of its text
// form, it draws noise, and bounds what that promises from above and from below. Its words are in the files of the languages.
//
// readingsComeAtOnce, isPure   what it needs of a campaign, and whether its ε has no exception
// meanVariance, variances(n)   of the noise on one reading; n equally likely ones, for a picture
// onGrid(grid)                 draw(count, stream) and pureEpsilon(steps, moved) or bound(steps, moved, delta, work)
// leastEpsilon(…), chanceOfNoNoise(grid)   the simple bounds of sanity.js

import { Floored } from "./law-floored.js";
import { Fresh } from "./law-fresh.js";
import { Gaussian } from "./law-gaussian.js";
import { Shared } from "./law-shared.js";

export const LAWS = new Map([Shared, Fresh, Floored, Gaussian].map((law) => [law.name, law]));

/** The law that a text such as "fresh:0.5" says. */
export function lawOf(text) {
  const [name, ...numbers] = text.split(":");
  return new (LAWS.get(name))(...numbers.map(Number)); // a parameter counts as the double that it is read as
}

/** Whether a text says a law, in its one spelling. */
export function isLaw(text) {
  const [name, ...numbers] = typeof text === "string" ? text.split(":") : [];
  const isParameter = (number) => /^[\d.]+(e[+-]\d+)?$/.test(number) && number > 0 && number < Infinity && spelled(Number(number)) === number;
  return numbers.length === LAWS.get(name)?.length && numbers.every(isParameter);
}

/** A double as Python spells it: always with a point or an exponent, which has two digits. */
function spelled(number) {
  const [digits, power] = number.toExponential().split("e");
  if (power > -5 && power < 16) return Number.isInteger(number) ? `${number}.0` : String(number);
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}
