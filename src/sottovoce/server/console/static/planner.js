/** The planner's chart: expected error against the strength of the promise, a line for each kind of noise. The server computes the lines. */
const form = document.querySelector("#planner");
const holder = document.querySelector("#plot");
const waits = document.querySelector("#plot-waits");
const laws = form.dataset.laws.split(" ").filter(Boolean);
const words = document.querySelector("#plan");
const field = (name) => form.elements[name];
const number = (name) => Number(String(field(name).value).replace(",", "."));
let epsilons = [];
let errors = {}; // by law, for one participant; null where the law cannot keep the promise
let plot = null;
let asked = "";

/** Sliders next to the fields, on a logarithmic scale. */
for (const slider of form.querySelectorAll("input[type=range]")) {
  const low = Math.log(slider.dataset.low);
  const high = Math.log(slider.dataset.high);
  const target = field(slider.dataset.for);
  const follow = () => (slider.value = (100 * (Math.log(number(target.name) || 1) - low)) / (high - low));
  slider.hidden = false;
  slider.addEventListener("input", () => {
    const found = Math.exp(low + (slider.value / 100) * (high - low));
    target.value = "whole" in slider.dataset ? Math.round(found) : Number(found.toPrecision(2));
    target.dispatchEvent(new Event("input", { bubbles: true }));
  });
  target.addEventListener("input", follow);
  follow();
}

/** The text waits until the operator stops typing; the chart follows the number of participants at once. */
let pause = 0;
form.addEventListener("input", () => {
  draw();
  words.ariaBusy = "true"; // until the text of this promise arrives
  clearTimeout(pause);
  pause = setTimeout(() => {
    pause = 0;
    form.dispatchEvent(new Event("plan"));
    load();
  }, 250);
});
document.body.addEventListener("htmx:afterSwap", () => {
  if (!pause) words.ariaBusy = "false"; // otherwise the text is that of an earlier entry
  draw();
});

const chosenLaw = () => form.querySelector("input[name=law]:checked")?.value;

async function load() {
  const query = new URLSearchParams();
  for (const name of ["distance", "unit", "readings", "error", "delta"]) query.set(name, field(name).value);
  if (asked === String(query)) return;
  asked = String(query);
  errors = {};
  waits.hidden = false;
  waits.textContent = "Drawing …";
  const wanted = asked;
  let failed = false;
  await Promise.all(
    laws.map(async (law) => {
      const answer = await fetch(`${form.dataset.address}/line/${law}?${query}`);
      if (wanted !== asked) return;
      if (!answer.ok || !answer.headers.get("content-type").includes("json")) {
        failed = true;
        return;
      }
      const line = await answer.json();
      epsilons = line.epsilons;
      errors[law] = line.errors;
      draw();
    }),
  );
  if (wanted !== asked) return;
  waits.hidden = !failed;
  if (failed) waits.textContent = "Some lines cannot be drawn for these settings.";
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const found = (name) => style.getPropertyValue(name).trim();
  return { quiet: found("--quiet"), line: found("--line"), sheet: found("--sheet") };
}

/** Colour and dashes of a law's line, the same as in the legend. */
function styleOf(law) {
  const { color, strokeDasharray } = getComputedStyle(form.querySelectorAll(".key")[laws.indexOf(law)]);
  return { stroke: color, dash: (strokeDasharray.match(/[\d.]+/g) ?? []).map(Number) };
}

function data() {
  const crowd = Math.sqrt(Math.max(1, number("participants") || 1));
  return [epsilons, ...laws.map((law) => errors[law]?.map((error) => error && error / crowd) ?? epsilons.map(() => null))];
}

/** The error at one strength of the promise, interpolated on a line; both scales are logarithmic. */
function errorAt(law, epsilon) {
  const line = data()[laws.indexOf(law) + 1];
  if (!line || !(epsilon > 0)) return null;
  const x = epsilons.map(Math.log);
  const at = Math.min(Math.max(Math.log(epsilon), x[0]), x.at(-1));
  const next = Math.max(1, x.findIndex((entry) => entry >= at));
  if (!line[next - 1] || !line[next]) return null; // not drawn yet, or no such noise keeps the promise
  const share = (at - x[next - 1]) / (x[next] - x[next - 1]);
  return Math.exp(Math.log(line[next - 1]) * (1 - share) + Math.log(line[next]) * share);
}

function mark(chart) {
  const law = chosenLaw();
  const error = law && errorAt(law, number("epsilon"));
  if (!error) return;
  const shown = colours();
  const epsilon = Math.min(Math.max(number("epsilon"), epsilons[0]), epsilons.at(-1));
  const [x, y] = [chart.valToPos(epsilon, "x", true), chart.valToPos(error, "y", true)];
  const pen = chart.ctx;
  pen.save();
  pen.strokeStyle = shown.quiet;
  pen.setLineDash([4, 4]);
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x, chart.bbox.top + chart.bbox.height);
  pen.moveTo(x, y);
  pen.lineTo(chart.bbox.left, y);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = styleOf(law).stroke;
  pen.strokeStyle = shown.sheet;
  pen.lineWidth = 3 * devicePixelRatio;
  pen.beginPath();
  pen.arc(x, y, 7 * devicePixelRatio, 0, 7);
  pen.fill();
  pen.stroke();
  pen.restore();
}

const short = (value) => String(Number(value.toPrecision(2)));

function make() {
  const shown = colours();
  const font = `13px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: shown.quiet, font, grid: { stroke: shown.line, width: 1 }, ticks: { stroke: shown.line } };
  const few = (chart, splits) => splits.map((value) => (value !== null && /^[125]/.test(value.toExponential()) ? short(value) : ""));
  const options = {
    width: holder.clientWidth,
    height: 300,
    scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
    axes: [
      { ...axis, label: holder.clientWidth < 480 ? "strength of the promise (ε)" : "strength of the promise (ε): a smaller ε protects more", labelFont: font, labelSize: 26, values: few },
      { ...axis, label: "expected error", labelFont: font, labelSize: 26, size: 56, values: few },
    ],
    series: [
      {},
      ...laws.map((law) => ({
        ...styleOf(law),
        width: 2,
        points: { show: false },
        paths: uPlot.paths.spline(),
      })),
    ],
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    legend: { show: false },
    hooks: { draw: [mark], ready: [listen] },
  };
  plot = new uPlot(options, data(), holder);
}

/** A click chooses the strength of the promise; the kind of noise stays the operator's choice. */
function listen(chart) {
  chart.over.addEventListener("click", (event) => {
    field("epsilon").value = Number(chart.posToVal(event.offsetX, "x").toPrecision(2));
    field("epsilon").dispatchEvent(new Event("input", { bubbles: true }));
  });
}

function draw() {
  if (!epsilons.length) return;
  if (!plot) make();
  else plot.setData(data());
}

function again() {
  plot?.destroy();
  plot = null;
  draw();
}

form.querySelector(".plot").hidden = false;
new ResizeObserver(() => plot?.setSize({ width: holder.clientWidth, height: 300 })).observe(holder);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
load();
