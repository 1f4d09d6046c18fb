// Asks, at a second invitation in one browser, whether it is for the same person, whose ledger and limits continue, or for
// somebody else, who gets their own. Loaded when needed.

import { button, h } from "./dom.js";
import { say } from "./language.js";
import { newPerson } from "./store.js";
import { redrawnBy, show, shown } from "./views.js";

/** The name of the record to use; `before` are the existing ones. */
export const whoIsIt = (before) => new Promise((resolve) => ask(before, resolve));

function ask(before, answer) {
  redrawnBy(() => ask(before, answer));
  const titles = ({ memberships }) => Object.values(memberships).map(({ manifest }) => shown(manifest).title);
  const one = ([name, record]) => h("li.card", h("p", titles(record).join(" · ")), button(say("person.same"), () => answer(name)));
  show(say("person.title"), h("h1", say("person.title")), h("p", say("person.text")), h("ul", before.map(one)),
    h("p.actions", button(say("person.other"), () => answer(newPerson()), ".plain")));
}
