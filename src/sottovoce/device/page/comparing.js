// From a reading to the answer of a comparison: its level among public cuts, or now and then another one.
// Cuts are odd numbers of half grid steps, so that a reading, which is on the grid, never lies on a cut.

import { reportedCells } from "./noisy.js";

/** Whether a device may answer these cuts: the right number of them, on half steps, and rising. */
export function areCuts(cuts, levels) {
  return (
    Array.isArray(cuts) &&
    cuts.length === levels - 1 &&
    cuts.every((cut, place) => Number.isSafeInteger(cut) && cut % 2 !== 0 && !(place && cut - cuts[place - 1] < 2))
  );
}

/** The number of cuts below a reading, which is in grid steps (a BigInt). */
export const levelOf = (steps, cuts) => cuts.filter((cut) => BigInt(cut) < 2n * steps).length;

/** What is sent for these readings, each with its cuts: a level for each. */
export function compare(noise, comparisons, stream) {
  const held = comparisons.map(([steps, cuts]) => [levelOf(steps, cuts), cuts.length + 1]);
  return reportedCells(noise, held, stream).map(([level]) => level);
}
