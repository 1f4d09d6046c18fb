// Who is using this browser: a second invitation may be for the same person, whose ledger and limits continue, or for
// somebody else, who gets their own.

import { joinedBy } from "./device.js";
import { button, h } from "./dom.js";
import { isKiosk } from "./kiosk.js";
import { say } from "./language.js";
import { newPerson, people, read, usePerson } from "./store.js";
import { redrawnBy, show } from "./views.js";

/** Choose whose record a link belongs to; asks only if that is not clear. */
export async function choosePerson(link) {
  if (isKiosk) return;
  const known = await Promise.all((await people()).map(async (name) => [name, await read(name)]));
  const owner = known.find(([, record]) => joinedBy(link, record));
  if (owner) return usePerson(owner[0]);
  const before = known.filter(([, { memberships }]) => Object.keys(memberships).length);
  if (before.length) usePerson(await new Promise((resolve) => ask(before, resolve)));
}

function ask(before, answer) {
  redrawnBy(() => ask(before, answer));
  const titles = ({ memberships }) => Object.values(memberships).map(({ manifest: { title, language } }) => (typeof title === "string" ? title : title[language]));
  const one = ([name, record]) => h("li.card", h("p", titles(record).join(" · ")), button(say("person.same"), () => answer(name)));
  show(say("person.title"), h("h1", say("person.title")), h("p", say("person.text")), h("ul", before.map(one)),
    h("p.actions", button(say("person.other"), () => answer(newPerson()), ".plain")));
}
