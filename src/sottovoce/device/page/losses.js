// An upper bound on δ(ε) for laws with a pure ε, when many readings change. Their privacy losses are independent, so the
// law of the sum is a convolution. docs/reference/page-promises.md explains why every step errs upwards.
//
// A law of losses is {top, spacing, chances}: a loss of top - i·spacing has the chance chances[i].

const MOST_LEVELS = 1536; // of a sum: more are halved
const MOST_CELLS = 1024; // of one reading
const HAIR = 1e-12; // more than the rounding errors of any one term
const TINY = 1e-300; // added to every δ, for what is too small for a double

/** A function from ε to an upper bound on δ(ε), when this many readings with the same losses change. */
export function composed(one, moved, delta, work) {
  const sum = sumOf(one, moved, 1e-7 * delta, work);
  return (epsilon) => {
    if (!sum) return 1; // it would take too long
    const { top, spacing, chances } = sum;
    let total = sum.lost + TINY;
    for (let place = 0; place < chances.length; place += 1) {
      const excess = top - spacing * place - epsilon + HAIR * (Math.abs(top) + spacing * place + epsilon);
      if (excess <= 0) break;
      total -= chances[place] * Math.expm1(-excess);
    }
    return total * (1 + 1e-7);
  };
}

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
  return { top: width * cells * h, spacing: 2 * width * h, chances: chances.map((chance) => chance / (1 + Math.exp(-h))) };
}

/** The law of a sum of losses, by squaring. What is cut off at its ends is `lost`; null if it takes too long. */
function sumOf(one, moved, negligible, work) {
  let [sum, unit, count, lost] = [one, one, 1, 0];
  const add = (more) => {
    sum = convolved(sum, more);
    work.products -= sum.products;
  };
  for (const bit of moved.toString(2).slice(1)) {
    add(sum);
    if (bit === "1") add(unit);
    count = 2 * count + Number(bit);
    const { from, to, cut } = ends(sum.chances, (negligible * count) / (64 * moved));
    lost += (cut * moved) / count;
    sum = { ...sum, top: sum.top - sum.spacing * from, chances: sum.chances.subarray(from, to) };
    while (sum.chances.length > MOST_LEVELS) [sum, unit] = [halved(sum), halved(unit)];
    if (work.products < 0) return null;
  }
  return { ...sum, lost };
}

/** The law of the sum of two losses with the same spacing. */
export function convolved(a, b) {
  const chances = new Float64Array(a.chances.length + b.chances.length - 1);
  for (let i = 0; i < a.chances.length; i += 1) {
    for (let j = 0; j < b.chances.length; j += 1) chances[i + j] += a.chances[i] * b.chances[j];
  }
  return { top: a.top + b.top, spacing: a.spacing, chances, products: a.chances.length * b.chances.length };
}

/** Where to cut a law such that at most this chance is lost at either end, and how much is lost. */
function ends(chances, most) {
  let [from, to, cut] = [0, chances.length, 0];
  for (let sum = chances[from]; sum <= most && from < to - 1; sum += chances[from]) cut += chances[from++];
  for (let sum = chances[to - 1]; sum <= most && to > from + 1; sum += chances[to - 1]) cut += chances[--to];
  return { from, to, cut };
}

/** Half as many levels: what lies between two goes to both, such that the chances before and after a move remain. */
function halved({ top, spacing, chances }) {
  const [up, half] = [1 / (1 + Math.exp(-spacing)), new Float64Array((chances.length >> 1) + 1)];
  chances.forEach((chance, place) => {
    if (place % 2) {
      half[place >> 1] += chance * up;
      half[(place >> 1) + 1] += chance * (1 - up);
    } else half[place >> 1] += chance;
  });
  return { top, spacing: 2 * spacing, chances: half };
}
