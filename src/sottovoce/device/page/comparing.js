// The public cuts that readings are compared with, and the level of a reading among them. Cuts are odd numbers of half
// grid steps, so that a reading, which is on the grid, never lies on a cut.

import { isCompared, Problem } from "./manifest.js";

const MOST_ALTERNATIVES = 100;

/** Whether a device may answer these cuts: the right number of them, on half steps, in ascending order. */
export function areCuts(cuts, levels) {
  return (
    Array.isArray(cuts) &&
    cuts.length === levels - 1 &&
    cuts.every((cut, place) => Number.isSafeInteger(cut) && cut % 2 !== 0 && !(place && cut - cuts[place - 1] < 2))
  );
}

/** The alternatives of each task in a published list (a Map), all of them checked. */
export function alternativesOf(manifest, { tasks: listed }) {
  const compared = new Set(manifest.tasks.filter((task) => isCompared(manifest, task)).map(({ id }) => id));
  const isRight = ([id, offered]) =>
    compared.has(id) && Array.isArray(offered) && offered.length > 0 && offered.length <= MOST_ALTERNATIVES &&
    offered.every((cuts) => areCuts(cuts, manifest.levels));
  const isList = typeof listed === "object" && listed !== null && !Array.isArray(listed);
  if (!isList || !Object.entries(listed).every(isRight)) throw new Problem("bad_cuts");
  return new Map(Object.entries(listed));
}

/** Whether a task has enough readings, according to the last lists that this device fetched: full tasks, and cuts. */
export const isFull = ({ manifest, cuts, full }, task) =>
  Boolean(full?.includes(task.id) || (cuts && isCompared(manifest, task) && !cuts.has(task.id)));

/** The number of cuts below a reading, which is in grid steps (a BigInt). */
export const levelOf = (steps, cuts) => cuts.filter((cut) => BigInt(cut) < 2n * steps).length;
