// What several views share.

import { button, figure, h, moment, withUnit } from "./dom.js";
import { stepsAsText } from "./exact.js";
import { lawOf } from "./laws.js";
import { distanceOf } from "./manifest.js";
import { noisePicture } from "./picture.js";
import { sentence } from "./promise.js";
import { texts } from "./texts.js";

const main = document.querySelector("main");

/** Show a view. Focus moves to its top, unless it is the first one or the same again. */
export function show(title, ...content) {
  const whole = `${title} · ${texts.name}`;
  const isNew = !main.firstElementChild.matches("noscript, .loading") && document.title !== whole;
  document.title = whole;
  main.replaceChildren(...content.flat().filter(Boolean));
  if (!isNew) return;
  main.focus();
  scrollTo(0, 0);
}

/** Announce something to people who use a screen reader. */
export const tell = (words) => (document.querySelector("#news").textContent = words);

export const wordsFor = (code) => texts.problems[code] ?? texts.otherProblem(code);

export function showProblem(problem, retry) {
  if (!problem.code) throw problem;
  const [title, fix] = wordsFor(problem.code);
  const { limit, ...rest } = problem.detail;
  const named = Object.entries(rest).map(([name, one]) => [name, typeof one === "number" ? figure(one) : one]);
  const why = texts.reasons[problem.code]?.({ ...Object.fromEntries(named), limit: texts.card.rows[limit] });
  show(title, h("section.problem", { role: "alert" }, h("h1", title), why && h("p", why),
    h("p", h("b", texts.whatNow), fix), problem.later && button(texts.retry, retry)));
}

const table = (rows) => h("dl", rows.map(([name, row]) => h("div", h("dt", name), h("dd", row))));
export const nameOf = ({ title, id }) => title || id;
export const sentText = (value, { grid, unit }) => withUnit(stepsAsText(value, grid), unit);

/** What is promised: in words, in a picture and in figures. */
export function privacyCard({ manifest, manifest_sha256: hash }, { epsilon, delta }, limits) {
  const { card } = texts;
  const noise = `${manifest.noise}: ${lawOf(manifest.noise).words}`;
  const limit = card.limits(figure(limits.epsilon), figure(limits.delta));
  const [distance, unit] = [distanceOf(manifest), card.units[manifest.unit]];
  const rows = { epsilon: figure(epsilon), delta: figure(delta), distance, unit, noise, limit, hash };
  return h("section.card", h("h2", card.title), noisePicture(manifest),
    h("p", sentence(manifest, { epsilon, delta })),
    h("p.quiet", card.seen), h("p.chip.delivered", card.ok),
    h("details", h("summary", card.details), table(Object.entries(rows).map(([name, row]) => [card.rows[name], row]))));
}

/** One release: when, what, and its state. */
export function releaseCard({ state, problem, readings, released_at: when, epsilon, delta }, { title, tasks }) {
  const row = ({ task: id, value }) => tasks.filter((task) => task.id === id).map((task) => [nameOf(task), sentText(value, task)]);
  return h("li.card", h("p.quiet", h(`span.chip.${state}`, texts.states[state]), " ", moment(when)), h("p", h("b", title)),
    problem && h("p", wordsFor(problem).join(". ")), state === "queued" && h("p", texts.queued),
    h("details", h("summary", texts.sentValues(readings.length)), table(readings.flatMap(row)),
      h("p.quiet", texts.ledger.cost(figure(epsilon), figure(delta)))));
}
