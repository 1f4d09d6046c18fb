// Privacy losses and their chances. Those of independent readings add up, so the law of the sum is a convolution. docs/reference/page-promises.md explains why every step errs upwards.
//
// A law of losses is {top, spacing, chances, lost}: a loss of top - i·spacing has the chance chances[i], an infinite one
// the chance `lost`.

const MOST_LEVELS = 2048; // of a sum: more are halved
const MOST_CELLS = 1024; // of one reading
const ROUNDING = 1e-12; // more than the rounding errors of any one term
const SLACK = 1 + 1e-7; // more than those of products and sums of positive terms
const TINY = 1e-300; // added to every δ, for what is too small for a double

/** A function from ε to an upper bound on δ(ε), when this many readings with the same losses change. */
export function composed(one, moved, delta, work) {
  const sum = repeated(one, moved, 1e-7 * delta, work);
  return (epsilon) => (sum ? deltaOf(sum, epsilon) : 1); // it would take too long
}

/** An upper bound on δ(ε) of a law of losses. */
export function deltaOf({ top, spacing, chances, lost }, epsilon) {
  let total = lost + TINY;
  for (let place = 0; place < chances.length; place += 1) {
    const excess = top - spacing * place - epsilon + ROUNDING * (Math.abs(top) + spacing * place + epsilon);
    if (excess <= 0) break;
    total -= chances[place] * Math.expm1(-excess);
  }
  return total * SLACK;
}

/** The largest finite loss, rounded up such that `deltaOf` counts only infinite losses there. */
export const largestOf = ({ top }) => top + 3 * ROUNDING * Math.abs(top);

/** The losses of one reading with discrete Laplace noise of this scale that moves by this many steps, or by a few more. */
export function laplaceLosses(scale, steps) {
  const width = Math.ceil(steps / MOST_CELLS);
  const [h, cells] = [1 / scale, Math.ceil(steps / width)];
  const chances = new Float64Array(cells + 1);
  // A step within a cell is divided between the losses at the cell's ends; `up` goes to the larger one.
  const up = Math.expm1(-(width - 1) * h) / Math.expm1(-2 * width * h);
  for (let cell = 0; cell < cells; cell += 1) {
    const whole = -Math.expm1(-width * h) * Math.exp(-h - width * h * cell);
    chances[cell] += whole * up;
    chances[cell + 1] += whole * (1 - up);
  }
  chances[0] += 1;
  chances[cells] += Math.exp(-(width * cells + 1) * h);
  return { top: width * cells * h, spacing: 2 * width * h, chances: chances.map((chance) => chance / (1 + Math.exp(-h))), lost: 0 };
}

/** The law of this many readings' losses together, by squaring. What is cut off at its ends is lost; null if it takes too long. */
export function repeated(one, times, negligible, work) {
  let [sum, unit, count, lost] = [one, one, 1, times * one.lost * SLACK];
  const add = (more) => {
    sum = convolved(sum, more);
    work.products -= sum.products;
  };
  for (const bit of times.toString(2).slice(1)) {
    add(sum);
    if (bit === "1") add(unit);
    count = 2 * count + Number(bit);
    const { from, to, cut } = ends(sum.chances, (negligible * count) / (64 * times));
    lost += (cut * times) / count;
    sum = { ...sum, top: sum.top - sum.spacing * from, chances: sum.chances.subarray(from, to) };
    while (sum.chances.length > MOST_LEVELS) [sum, unit] = [halved(sum), halved(unit)];
    if (work.products < 0) return null;
  }
  return { ...sum, lost };
}

/** The law of the sum of two independent losses; rare sums with at most this chance are lost. */
export function plus(one, other, negligible, work) {
  const widths = [one, other].map(({ spacing, chances }) => spacing * (chances.length - 1));
  const spacing = (Math.hypot(...widths) / MOST_LEVELS) * 1.5 || 1; // less than this many levels in all
  const [a, b] = [one, other].map((law) => inSteps(valuesOf(law), law.chances, law.lost, spacing));
  const sum = convolved(a, b);
  work.products -= sum.products;
  const { from, to, cut } = ends(sum.chances, negligible);
  const lost = (a.lost * (total(b.chances) + b.lost) + total(a.chances) * b.lost + cut) * SLACK;
  return { ...sum, top: sum.top - sum.spacing * from, chances: sum.chances.subarray(from, to), lost };
}

/** The same law where larger losses count as infinite, and smaller ones as the smallest of these. */
export function within({ top, spacing, chances, lost }, low, high) {
  const first = Math.floor(Math.max(0, (top - high) / spacing));
  const after = Math.min(Math.ceil((top - low) / spacing) + 1, chances.length);
  if (first >= after) return { top, spacing, chances, lost };
  const kept = chances.slice(first, after);
  kept[kept.length - 1] += total(chances.subarray(after)) * SLACK;
  return { top: top - first * spacing, spacing, chances: kept, lost: (lost + total(chances.subarray(0, first))) * SLACK };
}

const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** The losses of a law, rounded up. */
export const valuesOf = ({ top, spacing, chances }) =>
  Array.from(chances, (_, place) => top - spacing * place + ROUNDING * (Math.abs(top) + spacing * place));

/** A law with these losses, the largest first. What lies between two steps goes to both, such that the chances before and after a move remain. */
export function inSteps(values, chances, lost, spacing) {
  const [top, last] = [values[0], values.at(-1)];
  const stepped = new Float64Array(Math.floor(Math.max(0, (top - last) / spacing)) + 2);
  values.forEach((value, index) => {
    const place = Math.max(0, (top - value) / spacing);
    const above = Math.floor(place);
    const up = Math.expm1(-(above + 1 - place) * spacing) / Math.expm1(-spacing);
    stepped[above] += chances[index] * up * SLACK;
    stepped[above + 1] += chances[index] * Math.max(0, 1 - up) * SLACK;
  });
  return { top, spacing, chances: stepped, lost };
}

/** The law of the sum of two losses with the same spacing. */
function convolved(a, b) {
  const products = a.chances.length * b.chances.length;
  return { top: a.top + b.top, spacing: a.spacing, chances: convolution(a.chances, b.chances), products };
}

/** The chances of a sum of two independent numbers. */
export function convolution(a, b) {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  const chances = new Float64Array(a.length + b.length - 1);
  for (let i = 0; i < short.length; i += 1) {
    const chance = short[i];
    if (chance) for (let j = 0; j < long.length; j += 1) chances[i + j] += chance * long[j];
  }
  return chances;
}

/** Where to cut a law such that at most this chance is lost at either end, and how much is lost. */
export function ends(chances, most) {
  let [from, to, cut] = [0, chances.length, 0];
  for (let sum = chances[from]; sum <= most && from < to - 1; sum += chances[from]) cut += chances[from++];
  for (let sum = chances[to - 1]; sum <= most && to > from + 1; sum += chances[to - 1]) cut += chances[--to];
  return { from, to, cut };
}

/** Half as many levels: a loss between two goes to both, such that the chances before and after a move remain. */
function halved({ top, spacing, chances, lost }) {
  const [up, half] = [1 / (1 + Math.exp(-spacing)), new Float64Array((chances.length >> 1) + 1)];
  chances.forEach((chance, place) => {
    if (place % 2) {
      half[place >> 1] += chance * up;
      half[(place >> 1) + 1] += chance * (1 - up);
    } else half[place >> 1] += chance;
  });
  return { top, spacing: 2 * spacing, chances: half, lost };
}
