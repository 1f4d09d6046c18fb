// Exact numbers: ratios of whole numbers of any size, as {n, d} in lowest terms with d > 0. No floating point.

const DECIMAL = /^([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?$/;

export const size = (n) => (n < 0n ? -n : n);

export function ratio(n, d = 1n) {
  let [a, b] = [size(n), d];
  while (b) [a, b] = [b, a % b];
  return { n: n / a, d: d / a };
}

/** The ratio that a decimal text stands for; null if it is not a decimal, or its exponent is too large. */
export function exactNumber(text) {
  const [, sign, digits, power = "0"] = DECIMAL.exec(text) ?? [];
  if (digits === undefined || size(BigInt(power)) > 400n) return null;
  const [whole, part = ""] = digits.split(".");
  const exponent = BigInt(power) - BigInt(part.length);
  const n = BigInt(sign + whole + part);
  return exponent < 0n ? ratio(n, 10n ** -exponent) : ratio(n * 10n ** exponent);
}

export const times = (a, b) => ratio(a.n * b.n, a.d * b.d);
export const over = (a, b) => ratio(a.n * b.d, a.d * b.n); // b must be positive
export const plus = (a, b) => ratio(a.n * b.d + b.n * a.d, a.d * b.d);
export const minus = (a, b) => plus(a, { n: -b.n, d: b.d });
export const isLess = (a, b) => a.n * b.d < b.n * a.d;
export const floor = ({ n, d }) => (n < 0n && n % d ? n / d - 1n : n / d);
export const ceil = ({ n, d }) => -floor({ n: -n, d });

/** The square root of a whole number, rounded down. */
export function root(n) {
  if (n < 2n) return n;
  let guess = 1n << BigInt((bits(n) + 1) >> 1);
  for (;;) {
    const better = (guess + n / guess) >> 1n;
    if (better >= guess) return guess;
    guess = better;
  }
}

/** The number of bits of a whole number; 0 has none. */
export function bits(n) {
  const text = n.toString(16);
  return n ? 4 * text.length + 28 - Math.clz32(parseInt(text[0], 16)) : 0;
}

/** The smallest double that is not below a ratio of at least 0; Infinity if there is none. */
export const roundedUp = (exact) => asDouble(exact, ceil);

/** The largest double that is not above a ratio of at least 0. */
export const roundedDown = (exact) => Math.min(asDouble(exact, floor), Number.MAX_VALUE);

function asDouble({ n, d }, toWhole) {
  let shift = Math.min(53 - bits(n) + bits(d), 1074); // a double has 53 bits, and none below 2^-1074
  const scaled = () => toWhole(shift < 0 ? { n, d: d << BigInt(-shift) } : { n: n << BigInt(shift), d });
  if (bits(scaled()) > 53) shift -= 1;
  return Number(scaled()) * 2 ** -shift;
}

/** Whether a text is a positive double in Python's spelling: always with a point or an exponent, which has two digits. */
export const isParameter = (text) =>
  /^[\d.]+(e[+-]\d+)?$/.test(text) && text > 0 && text < Infinity && spelled(Number(text)) === text;

function spelled(number) {
  const [digits, power] = number.toExponential().split("e");
  if (power > -5 && power < 16) return Number.isInteger(number) ? `${number}.0` : String(number);
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** This many steps of a grid, or of its tenth if there is one `more` digit, as decimal text. */
export function stepsAsText(steps, grid, more = 0) {
  const places = (grid.split(".")[1] ?? "").length + more;
  const total = BigInt(steps) * BigInt(grid.replace(".", ""));
  const digits = String(size(total)).padStart(places + 1, "0");
  const point = digits.length - places;
  return (total < 0n ? "−" : "") + digits.slice(0, point) + (places ? `.${digits.slice(point)}` : "");
}
