// How far a sent value may be from the real one, drawn as a curve over a scale.

import { h } from "./dom.js";
import { decimal, say, withUnit } from "./language.js";
import { lawOf } from "./laws.js";

const [WIDTH, BASE, TOP] = [340, 96, 24];
const PARTS = 200; // a drawn variance is approximated by this many equally likely ones

/** The density of the noise, and the distance within which nine tenths of it lie. */
export function spread(noise) {
  const variances = lawOf(noise).variances(PARTS);
  const normal = (x, variance) => Math.exp((-x * x) / (2 * variance)) / Math.sqrt(2 * Math.PI * variance);
  const density = (x) => variances.reduce((sum, variance) => sum + normal(x, variance), 0) / variances.length;
  const step = Math.sqrt(variances.at(-1)) / 100;
  let reach = 0;
  for (let inside = 0; inside < 0.9; reach += step) inside += 2 * step * density(reach + step / 2);
  return { density, reach };
}

/** The picture, and the words for it. */
export function noisePicture({ noise, tasks: [{ low, high, grid, unit }] }) {
  const { density, reach } = spread(noise);
  const shown = (number) => decimal(String(Number(number.toFixed(Math.max(0, 1 - Math.floor(Math.log10(reach)))))));
  const real = Math.round((Number(low) + Number(high)) / 2 / grid) * grid;
  const marks = [0, -reach, reach];
  const words = marks.map((mark) => withUnit(shown(real + mark), unit));
  const gaps = { reading: words[0], low: words[1], high: words[2] };
  const place = (x) => (WIDTH / 2) * (1 + x / (1.9 * reach));
  const hill = (reach) => {
    const points = Array.from({ length: 81 }, (_, point) => reach * (point / 40 - 1));
    return `M${place(-reach)} ${BASE}${points.map((x) => `L${place(x)} ${BASE - ((BASE - TOP) * density(x)) / density(0)}`).join("")}V${BASE}Z`;
  };
  const svg = h("svg.hill", { viewBox: `0 0 ${WIDTH} 122`, role: "img", "aria-label": say("card.picture", gaps) },
    h("path", { d: hill(1.9 * reach) }),
    h("path.most", { d: hill(reach) }),
    h("line", { x2: WIDTH, y1: BASE, y2: BASE }),
    h("line.real", { x1: WIDTH / 2, x2: WIDTH / 2, y1: TOP, y2: BASE }),
    h("circle", { cx: WIDTH / 2, cy: BASE, r: 4.5 }),
    h("text.real", { x: WIDTH / 2, y: 14 }, say("card.real")),
    marks.map((mark, which) => h("text", { x: place(mark), y: BASE + 20 }, words[which])));
  return [h("p", say("card.say", gaps)), svg];
}
