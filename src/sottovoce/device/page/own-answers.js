// A participant's own readings beside what the crowd found: only if they asked to keep them, and only on this device.
// The results are public, and the request for them is anonymous.

import { choiceText } from "./answer.js";
import * as client from "./client.js";
import { button, h } from "./dom.js";
import { decimal, say, withUnit } from "./language.js";
import { change } from "./store.js";
import { nameOf, shown } from "./views.js";

/** What the crowd found about a task, as text; empty while there is no result. */
function foundText(result, task, manifest) {
  const { truth, low, high } = Object(result);
  if (task.choices) {
    // Results contain the answer in the campaign's own language.
    const place = manifest.tasks.find(({ id }) => id === task.id).choices.map((choice) => (typeof choice === "string" ? choice : choice[manifest.language])).indexOf(truth);
    return place < 0 ? null : task.choices[place];
  }
  if (!Number.isFinite(truth)) return null;
  const places = (task.grid.split(".")[1] ?? "").length;
  const text = (number) => decimal(number.toFixed(Math.min(places, 15)));
  const known = Number.isFinite(low) && Number.isFinite(high);
  return withUnit(text(truth), task.unit) + (known ? ` (${say("own.between", { low: text(low), high: text(high) })})` : "");
}

/** A section with each kept reading and its result. `draw` redraws the view after they were erased. */
export async function ownAnswers({ campaign, manifest, own }, draw) {
  const results = await client.results(campaign).catch(() => []);
  const { tasks } = shown(manifest);
  const line = (task) => {
    const mine = task.choices ? choiceText(own.get(task.id), task) : withUnit(decimal(own.get(task.id)), task.unit);
    const found = foundText(results.find((one) => Object(one).task === task.id), task, manifest);
    return h("li", h("h3", nameOf(task)), h("p.stays", h("span", say("own.mine")), h("b", mine), h("small", say("own.stays"))),
      h("p.sent", h("span", say("crowd")), h("b", found ?? "–"), !found && h("small", say("own.notYet"))));
  };
  async function erase() {
    await change(({ memberships }) => delete memberships[campaign].own);
    await draw();
  }
  return [h("h2", say("own.title")), h("ul.pairs", tasks.filter(({ id }) => own.has(id)).map(line)), h("p.actions", button(say("own.erase"), erase, ".plain"))];
}
