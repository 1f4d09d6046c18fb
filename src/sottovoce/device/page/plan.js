// The plan of the place, to choose a task on. Which task somebody looks at or chooses stays here.

import { button, h } from "./dom.js";
import { say } from "./language.js";
import { addressOf } from "./pictures.js";
import { nameOf } from "./views.js";

const [WHOLE, LARGEST] = [10_000, 4];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const sizes = new Map(); // the chosen size of each plan, by hash
let isStyled = false;

function style() {
  if (!isStyled) document.head.append(h("link", { rel: "stylesheet", href: new URL("plan.css", import.meta.url) }));
  isStyled = true;
}

const pathOf = (place) => `M${(place.length > 1 ? place : [place[0], place[0]]).map((point) => point.join(" ")).join("L")}`;
const middleOf = (place) => [0, 1].map((axis) => place.reduce((sum, point) => sum + point[axis], 0) / place.length);

/** The next mark in a direction: one that is a little farther away is preferred to one that is far to the side. */
function next(marks, from, [dx, dy]) {
  const far = ({ middle: [x, y] }) => {
    const [right, down] = [x - from.middle[0], y - from.middle[1]];
    const along = right * dx + down * dy;
    return along > 0 ? along + 2 * Math.abs(right * dy - down * dx) : Infinity;
  };
  const best = marks.reduce((one, other) => (far(other) < far(one) ? other : one), from);
  return far(best) < Infinity ? best : from;
}

/** Fill an element with the plan. Resolves to a function that marks a task as chosen. */
export async function plan(element, manifest, tasks, choose, isDone) {
  style();
  const { sha256 } = manifest.plan;
  const address = await addressOf(manifest.campaign, "plan", sha256);
  const note = h("p.quiet", { role: "status" });
  const marks = tasks.map((task) => {
    const d = pathOf(task.place);
    const [edge, line] = [h("path.mark-edge", { d }), h("path.mark", { d })];
    const area = h("path.area", { d, role: "button", tabindex: -1, onclick: () => pick(mark), onfocus: () => name(mark), onpointerenter: () => name(mark) });
    const mark = { task, line, area, parts: [edge, line, area], middle: middleOf(task.place) };
    return mark;
  });
  let current = marks[0];

  const name = ({ task }) => (note.textContent = isDone(task) ? say("plan.done", { name: nameOf(task) }) : nameOf(task));
  function draw() {
    for (const mark of marks) {
      mark.line.setAttribute("class", `mark ${mark === current ? "chosen" : isDone(mark.task) ? "done" : "open"}`);
      mark.area.setAttribute("tabindex", mark === current ? 0 : -1);
      mark.area.setAttribute("aria-label", isDone(mark.task) ? say("plan.done", { name: nameOf(mark.task) }) : nameOf(mark.task));
    }
  }
  function point(mark) {
    current = mark;
    draw();
    name(mark);
  }
  function pick(mark) {
    point(mark);
    choose(mark.task);
  }
  function move(event) {
    const direction = ARROWS[event.key];
    if (direction) {
      point(next(marks, current, direction));
      current.area.focus();
    } else if (event.key === "Enter" || event.key === " ") pick(current);
    else return;
    event.preventDefault();
  }

  const overlay = h("svg", { viewBox: `0 0 ${WHOLE} ${WHOLE}`, preserveAspectRatio: "none", role: "group", "aria-label": say("plan.label"), onkeydown: move }, marks.flatMap(({ parts }) => parts));
  const inner = h("div.plan-picture", h("img", { src: address, alt: "" }), overlay);
  const [smaller, larger] = [[say("plan.smaller"), 1 / 1.5], [say("plan.larger"), 1.5]].map(([words, factor]) => button(words, () => resize((sizes.get(sha256) ?? 1) * factor), ".plain"));
  function resize(size) {
    const kept = Math.min(Math.max(size, 1), LARGEST);
    sizes.set(sha256, kept);
    inner.style.width = `${100 * kept}%`;
    [smaller.disabled, larger.disabled] = [kept <= 1, kept >= LARGEST];
  }
  resize(sizes.get(sha256) ?? 1);
  draw();
  note.textContent = say("plan.help");
  element.replaceChildren(h("div.plan-window", inner), h("p.actions", smaller, larger), note);
  element.closest("form")?.addEventListener("input", draw);
  return (task) => {
    const mark = marks.find(({ task: { id } }) => id === task.id);
    if (mark && mark !== current) point(mark);
  };
}
