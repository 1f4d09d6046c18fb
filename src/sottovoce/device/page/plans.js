// The plan of the place beside a form: loaded only for campaigns that have one. The list of tasks works without it.

import { h } from "./dom.js";
import { keepForLater } from "./instruments.js";
import { say } from "./language.js";

const FILES = ["plan.js", "plan.css", "pictures.js"];

/**
 * The plan with these tasks on it. `choose(task)` is called when somebody chooses one, `isDone(task)` tells whether there
 * is a reading. Returns an element to show, and `mark(task)`, to be called when the task is chosen elsewhere.
 */
export function planBeside(manifest, tasks, choose, isDone) {
  if (!manifest.plan || !tasks.some(({ place }) => place)) return { element: null, mark() {} };
  keepForLater(FILES);
  const element = h("div.plan");
  const shown = import("./plan.js").then(({ plan }) => plan(element, manifest, tasks.filter(({ place }) => place), choose, isDone));
  const failed = (problem) => element.replaceChildren(h("p.quiet", problem.code === "plan_mismatch" ? say("plan.mismatch") : say("plan.notLoaded")));
  shown.catch(failed);
  return { element, mark: (task) => shown.then((mark) => mark(task), () => {}) };
}
