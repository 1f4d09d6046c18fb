// The one way from readings and answers to what is sent: clip, round to the grid, add exact noise or compare; or
// randomise an answer.

import { levelOf } from "./comparing.js";
import { exactNumber, floor, isLess, over, plus, ratio } from "./exact.js";
import { lawOf } from "./laws.js";
import { ByteStream, uniform } from "./sampler.js";

/** A reading clipped to its range and rounded to its grid, in grid steps: ⌊x/g + ½⌋. */
export function steps(reading, grid, low, high) {
  let exact = exactNumber(reading);
  if (low && isLess(exact, low)) exact = low;
  if (high && isLess(high, exact)) exact = high;
  return floor(plus(over(exact, grid), ratio(1n, 2n)));
}

/** The reading of a task, in grid steps. */
export const stepsOf = (reading, { grid, low, high }) => steps(reading, ...[grid, low, high].map(exactNumber));

/** Noisy numbers: {task, value}. Those that share a grid are noised together, grid by grid. */
function noisyNumbers(noise, asked, readings, stream) {
  const grids = [...new Set(asked.map(({ grid }) => grid))].sort();
  return grids.flatMap((text) => {
    const together = asked.filter(({ grid }) => grid === text);
    const noises = lawOf(noise).onGrid(exactNumber(text)).draw(together.length, stream);
    return together.map((task, place) => ({ task: task.id, value: stepsOf(readings.get(task.id), task) + noises[place] }));
  });
}

/** Compared numbers: {task, cuts, value}, with one of the alternatives of each task. */
function comparedNumbers(noise, asked, readings, cuts, stream) {
  // Which alternative is drawn must not depend on a reading.
  const drawn = asked.map(({ id }) => cuts.get(id)[uniform(stream, BigInt(cuts.get(id).length))]);
  const levels = compare(noise, asked.map((task, place) => [stepsOf(readings.get(task.id), task), drawn[place]]), stream);
  return asked.map(({ id }, place) => ({ task: id, cuts: drawn[place], value: levels[place] }));
}

/** The levels that are sent for these readings in grid steps, each compared with its cuts. */
export function compare(noise, comparisons, stream) {
  const held = comparisons.map(([reading, cuts]) => [levelOf(reading, cuts), cuts.length + 1]);
  return reportedCells(noise, held, stream).map(([level]) => level);
}

/**
 * What a release reports: {task, value}, and cuts if numbers are compared. `readings` has a number as text, or the number of
 * a choice, by task. `cuts` has the alternatives of each task that is compared, also by task.
 */
export function noisyReadings(noise, tasks, readings, stream = new ByteStream(), cuts = new Map()) {
  const asked = tasks.filter(({ id }) => readings.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1));
  const law = (kind) => (typeof noise === "string" ? noise : noise[kind]);
  const [questions, others] = [asked.filter(({ kind }) => kind === "choice"), asked.filter(({ kind }) => kind !== "choice")];
  const [compared, numbers] = [others.filter(({ id }) => cuts.has(id)), others.filter(({ id }) => !cuts.has(id))];
  const noisy = compared.length ? comparedNumbers(law("number"), compared, readings, cuts, stream) : [];
  if (numbers.length) noisy.push(...noisyNumbers(law("number"), numbers, readings, stream));
  const cells = questions.length ? reportedCells(law("choice"), questions.map(({ id, choices }) => [readings.get(id), choices.length]), stream) : [];
  return [...noisy, ...questions.map(({ id }, place) => ({ task: id, value: cells[place].length > 1 ? cells[place] : cells[place][0] }))];
}

/** A random order of all tasks, by place. A device answers the first ones for which it has readings; see the protocol. */
export function drawnOrder(count, stream = new ByteStream()) {
  const order = Array.from({ length: count }, (_, place) => place);
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Number(uniform(stream, BigInt(last + 1)));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}

/** The cells that are reported instead of a participant's answers, each a cell (from 0) out of a number of cells. */
export function reportedCells(noise, answers, stream = new ByteStream()) {
  const drawn = lawOf(noise).shifts(answers.map(([, cells]) => cells), stream); // whatever the answers are
  return answers.map(([cell, cells], place) => drawn[place].map((shift) => (cell + shift) % cells).sort((a, b) => a - b));
}
