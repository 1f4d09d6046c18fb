// Shared by several views.

import { choiceText } from "./answer.js";
import { levelText } from "./comparison.js";
import { button, h } from "./dom.js";
import { stepsAsText } from "./exact.js";
import { decimal, figure, knows, moment, say, spokenTag, withUnit } from "./language.js";
import { textOf } from "./manifest.js";
import { spokenTask } from "./task-fields.js";

const main = document.querySelector("main");

/** Show a view. Focus moves to its top, unless it is the first one or the same again. */
export function show(title, ...content) {
  const whole = `${title} · Sottovoce`;
  const isNew = !main.firstElementChild.matches("noscript, .loading") && document.title !== whole;
  document.title = whole;
  fill(main, content.flat().filter(Boolean));
  if (!isNew) return;
  main.focus();
  scrollTo(0, 0);
}

/** Give an element these children. Existing ones do not move, so they keep focus, selection and a tap that has begun. */
function fill(element, children) {
  for (const old of [...element.childNodes]) if (!children.includes(old)) old.remove();
  for (const [place, child] of children.entries())
    if (element.childNodes[place] !== child) element.insertBefore(child, element.childNodes[place] ?? null);
}

/** Keeps elements as they are while the data they are made from stay the same: `same(name, of, make)`. */
export function keeper() {
  const made = new Map();
  return (name, of, make) => {
    const key = JSON.stringify([of, spokenTag()]);
    if (made.get(name)?.key !== key) made.set(name, { key, element: make() });
    return made.get(name).element;
  };
}

let again;

/** The function that draws the current view; called when the language changes. */
export const redrawnBy = (draw) => (again = draw);
export const showAgain = () => again();
export const isShown = (draw) => again === draw;

/** Announce something to people who use a screen reader. */
export const announce = (words) => (document.querySelector("#news").textContent = words);

/** What happened, and what to do. */
function wordsFor(code) {
  const known = knows(`problem.${code}.title`) ? code : "other";
  return { title: say(`problem.${known}.title`, { code }), fix: say(`problem.${known}.fix`) };
}
export const problemText = (code) => say("problem.both", wordsFor(code));

export function showProblem(problem, retry) {
  if (!problem.code) throw problem;
  redrawnBy(() => showProblem(problem, retry));
  const { title, fix } = wordsFor(problem.code);
  const { reason, limit, ...figures } = problem.detail;
  const gaps = Object.entries(figures).map(([name, one]) => [name, typeof one === "number" ? figure(one) : one]);
  const why = reason && say(`reason.${reason}`, { ...Object.fromEntries(gaps), limit: limit && say(`card.row.${limit}`) });
  show(title, h("section.problem", { role: "alert" }, h("h1", title), why && h("p", why),
    h("p", h("b", say("whatNow")), " ", fix), problem.later && button(say("retry"), retry)));
}

export const table = (rows) => h("dl", rows.map(([name, row]) => h("div", h("dt", name), h("dd", row))));
export const nameOf = ({ title, id }) => title || id;
export const sentText = ({ value, cuts }, task) =>
  task.kind === "choice" ? choiceText(value, task) : cuts ? levelText(value, cuts, task) : withUnit(decimal(stepsAsText(value, task.grid)), task.unit);

const CONTACTS = [["mailto:", /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/], ["tel:", /^\+?\d[\d ()/-]{4,30}$/], ["", /^https:\/\/[^\s<>]+$/]];

/** Whom to ask, as a link where the whole text is an e-mail or web address, or a telephone number. */
export function contactLink(contact) {
  const [scheme] = CONTACTS.find(([, kind]) => kind.test(contact)) ?? [];
  return scheme === undefined ? contact : h("a", { href: scheme + contact, rel: "noreferrer", target: !scheme && "_blank" }, contact);
}

/** A manifest with its texts in the page's language, for display only: what counts is the manifest itself. */
export function shown(manifest) {
  const said = (text) => textOf(manifest, text, spokenTag());
  const { title, asked_by, purpose, contact, tasks } = manifest;
  return { ...manifest, title: said(title), asked_by: said(asked_by), purpose: said(purpose), contact: contact && said(contact), tasks: tasks.map((task) => spokenTask(task, said)) };
}

/** One release: when, what, and its state. A campaign's whole cost counts once, with its first release. */
export function releaseCard({ state, problem, readings, released_at: when, epsilon, delta }, manifest, isFirst) {
  const { title, tasks } = shown(manifest);
  const row = (reading) => tasks.filter(({ id }) => id === reading.task).map((task) => [nameOf(task), sentText(reading, task)]);
  return h("li.card", h("p.quiet", h(`span.chip.${state}`, say(`state.${state}`)), " ", moment(when)), h("p", h("b", title)),
    problem && h("p", problemText(problem)), state === "queued" && h("p", say("queued")),
    h("details", h("summary", say("sentValues", { count: readings.length })), table(readings.flatMap(row)),
      h("p.quiet", isFirst ? say("ledger.cost", { epsilon: figure(epsilon), delta: figure(delta) }) : say("ledger.paid"))));
}
