// What was measured and what was sent instead, side by side. It is shown once: readings are stored only if the participant
// asked for that.

import { choiceText } from "./answer.js";
import { levelOf } from "./comparing.js";
import { ownLevelText, questionText } from "./comparison.js";
import { h } from "./dom.js";
import { decimal, say, withUnit } from "./language.js";
import { stepsOf } from "./noisy.js";
import { nameOf, sentText, shown } from "./views.js";

/** Whether chance left a reading as it was: no noise, the true answer, or a set with the true one in it. */
function isUnchanged({ value, cuts }, measured, task) {
  if (task.choices) return [value].flat().includes(measured);
  const steps = stepsOf(measured, task);
  return cuts ? value === levelOf(steps, cuts) : BigInt(value) === steps;
}

/** `state` is the state of the release, which is done only when the server has it. */
export function pairsCard({ manifest, own }, pairs, state) {
  const { tasks } = shown(manifest);
  const staysFor = ({ id }) => h("small", own?.has(id) ? say("own.stays") : say("pairs.stays"));
  const line = ({ measured, ...reading }) => {
    const task = tasks.find(({ id }) => id === reading.task);
    const { cuts } = reading;
    return h("li", h("h3", nameOf(task)),
      h(`p.stays${cuts ? ".wide" : ""}`, h("span", task.choices ? say("pairs.answered") : say("pairs.measured")),
        h("b", task.choices ? choiceText(measured, task) : withUnit(decimal(measured), task.unit)), staysFor(task)),
      cuts && [h("p.wide", h("span", say("pairs.asked")), h("b", questionText(cuts, task))),
        h("p.stays", h("span", say("pairs.ownAnswer")), h("b", ownLevelText(measured, cuts, task)), staysFor(task))],
      h("p.sent", h("span", say("pairs.sent")), h("b", sentText(reading, task))),
      isUnchanged(reading, measured, task) && h("small.wide.same", task.choices || cuts ? say("pairs.same.answer") : say("pairs.same.number")));
  };
  return h("section.card", { id: "pairs", tabindex: -1 }, h("h2", say(`pairs.title.${state}`)), h("ul.pairs", pairs.map(line)));
}
