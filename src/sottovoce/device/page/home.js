// The views of the device itself: its campaigns, its ledger, the participant's limits, and how it works.

import { changes, flush } from "./device.js";
import { button, figure, h } from "./dom.js";
import { USUAL_LIMITS } from "./promise.js";
import { change, read, spentBy } from "./store.js";
import { texts } from "./texts.js";
import { releaseCard, show, tell } from "./views.js";

export const VIEWS = { campaigns, ledger, limits, how };
let current;

export function showHome(view) {
  current = VIEWS[view];
  current?.();
}
changes.addEventListener("change", () => current === ledger && ledger());

const empty = (words) => h("p.empty", h("img", { src: "icon.svg", alt: "", width: 56 }), words);

async function campaigns() {
  const { title, none } = texts.campaigns;
  const link = ({ invitation, manifest_sha256: hash, manifest }) =>
    h("li", h("a.card", { href: `./${invitation}#sha256=${hash}` }, h("b", manifest.title), h("span.quiet", texts.askedBy(manifest.asked_by))));
  const joined = Object.values((await read()).memberships);
  show(title, h("h1", title), joined.length ? h("ul", joined.map(link)) : empty(none));
}

async function ledger() {
  const { title, intro, none, spent, scope } = texts.ledger;
  const record = await read();
  const { releases, memberships, limits } = record;
  const { epsilon } = spentBy(record);
  const card = (release) => releaseCard(release, memberships[release.campaign].manifest);
  show(title, h("h1", title), h("p", intro),
    h("label.spent", spent(figure(epsilon), figure(limits.total_epsilon)), h("progress", { value: epsilon, max: limits.total_epsilon })),
    h("p.quiet", scope), releases.some(({ state }) => state === "queued") && button(texts.tryNow, flush),
    releases.length ? h("ul", releases.reverse().map(card)) : empty(none));
}

async function limits() {
  const words = texts.limits;
  const { limits: own } = await read();
  const field = ([id, [label, hint]]) =>
    h("div.field", h("label", { for: id }, label), h("p.quiet", { id: `${id}-hint` }, hint),
      h("input", { id, value: own[id], inputmode: "decimal", "aria-describedby": `${id}-hint` }));
  const said = h("p", { role: "alert" });
  async function save(event) {
    event.preventDefault();
    const inputs = [...event.target.querySelectorAll("input")];
    const chosen = Object.fromEntries(inputs.map(({ id, value }) => [id, Number(value.replace(",", "."))]));
    const wrong = inputs.find(({ id, value }) => !value.trim() || !isLimit(id, chosen[id]));
    wrong?.focus();
    if (!wrong) await change((record) => (record.limits = chosen));
    said.textContent = wrong ? words.wrong(wrong.value) : words.saved;
  }
  async function reset() {
    await change((record) => (record.limits = USUAL_LIMITS));
    await limits();
    tell(words.saved);
  }
  show(words.title, h("h1", words.title), h("p", words.intro),
    h("form", { onsubmit: save }, Object.entries(words.fields).map(field), said, h("p.actions", h("button", words.save), button(words.usual, reset, ".plain"))));
}

const isLimit = (name, number) =>
  name.endsWith("delta") ? number >= 0 && number < 1 : number > 0 && number <= (name === "distance" ? 1 : 1e9);

function how() {
  const { title, parts } = texts.how;
  show(title, h("h1", title), parts.map(([heading, body]) => h("section", h("h2", heading), h("p", body))));
}
