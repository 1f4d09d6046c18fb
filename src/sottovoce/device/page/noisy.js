// The one way from readings and answers to what is sent: clip, round to the grid, add exact noise; or move answers on.

import { exactNumber, floor, isLess, over, plus, ratio } from "./exact.js";
import { lawOf } from "./laws.js";
import { ByteStream } from "./sampler.js";

/** A reading clipped to its range and rounded to its grid, in grid steps: ⌊x/g + ½⌋. */
export function steps(reading, grid, low, high) {
  let exact = exactNumber(reading);
  if (low && isLess(exact, low)) exact = low;
  if (high && isLess(high, exact)) exact = high;
  return floor(plus(over(exact, grid), ratio(1n, 2n)));
}

/** Noisy readings of a release: {task, value}. Those that share a grid are noised together, grid by grid. */
export function noisyReadings(noise, tasks, readings, stream = new ByteStream()) {
  const law = lawOf(noise);
  const asked = tasks.filter(({ id }) => readings.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1));
  const grids = [...new Set(asked.map(({ grid }) => grid))].sort();
  return grids.flatMap((text) => {
    const together = asked.filter(({ grid }) => grid === text);
    const grid = exactNumber(text);
    const noises = law.onGrid(grid).draw(together.length, stream);
    return together.map(({ id, low, high }, place) => ({
      task: id,
      value: steps(readings.get(id), grid, exactNumber(low), exactNumber(high)) + noises[place],
    }));
  });
}

/** The cells that are reported instead of a participant's answers, each a cell (from 0) out of a number of cells. */
export function reportedCells(noise, answers, stream = new ByteStream()) {
  const drawn = lawOf(noise).shifts(answers.map(([, cells]) => cells), stream); // whatever the answers are
  return answers.map(([cell, cells], place) => drawn[place].map((shift) => (cell + shift) % cells).sort((a, b) => a - b));
}
