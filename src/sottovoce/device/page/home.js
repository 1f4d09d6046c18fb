// The views of the device itself: its campaigns, its ledger, the participant's limits, and how it works.

import { codeForm } from "./code.js";
import { changes, flush } from "./device.js";
import { button, h } from "./dom.js";
import { guessed } from "./guess.js";
import { editable, figure, say, typedNumber } from "./language.js";
import { PRESETS, USUAL_LIMITS } from "./promise.js";
import { change, read, spentBy } from "./store.js";
import { announce, releaseCard, show, shown } from "./views.js";

export const VIEWS = { campaigns, ledger, limits, how };
let current;

export function showHome(view) {
  current = view === "code" ? campaigns : VIEWS[view];
  return current?.(view);
}
changes.addEventListener("change", () => current === ledger && ledger());

const empty = (words) => h("p.empty", h("img", { src: "icon.svg", alt: "", width: 56 }), words);

async function campaigns(view) {
  const title = say("campaigns.title");
  const link = ({ invitation, manifest_sha256: hash, manifest }) => {
    const { title, asked_by: who } = shown(manifest);
    return h("li", h("a.card", { href: `./${invitation}#sha256=${hash}` }, h("b", title), h("span.quiet", say("askedBy", { who }))));
  };
  const joined = Object.values((await read()).memberships);
  show(title, h("h1", title), joined.length ? h("ul", joined.map(link)) : empty(say("campaigns.none")), codeForm());
  if (view === "code") document.querySelector("#code")?.focus();
}

async function ledger() {
  const title = say("ledger.title");
  const record = await read();
  const { releases, memberships, limits } = record;
  const spent = spentBy(record);
  const isFirst = (release) => releases.find(({ campaign }) => campaign === release.campaign) === release;
  const cards = releases.map((release) => releaseCard(release, memberships[release.campaign].manifest, isFirst(release))).reverse();
  const bar = (name) => h("label.spent", say(`ledger.spent.${name}`, { spent: figure(spent[name]), limit: figure(limits[`total_${name}`]) }), h("progress", { value: spent[name], max: limits[`total_${name}`] || 1 }));
  show(title, h("h1", title), h("p", say("ledger.intro")),
    bar("epsilon"), spent.delta > 0 && bar("delta"),
    h("p.quiet", say("ledger.scope")), releases.some(({ state }) => state === "queued") && button(say("tryNow"), flush),
    cards.length ? h("ul", cards) : empty(say("ledger.none")));
}

/** The name of these limits among the presets, if they have one. */
const presetOf = (limits) => Object.keys(PRESETS).find((name) => Object.entries(PRESETS[name]).every(([limit, most]) => limits[limit] === most));

async function limits() {
  const title = say("limits.title");
  const { limits: own } = await read();
  const save = async (chosen) => {
    await change((record) => (record.limits = chosen));
    await limits();
    announce(say("limits.saved"));
    document.querySelector("#saved").textContent = say("limits.saved");
  };
  const preset = (name) =>
    h("label.choice", h("input", { type: "radio", name: "preset", id: `preset-${name}`, checked: presetOf(own) === name && "", onchange: () => save(PRESETS[name]) }),
      h("span", h("b", say(`limits.preset.${name}`)), " ", h("span.quiet", say("limits.means", { share: guessed(PRESETS[name]) }))));
  show(title, h("h1", title), h("p", say("limits.intro")),
    h("fieldset.field", h("legend", say("limits.choose")), h("div.choices", Object.keys(PRESETS).map(preset))),
    h("p", { id: "saved", role: "status" }),
    h("details", { open: !presetOf(own) && "" }, h("summary", say("limits.expert")), !presetOf(own) && h("p", say("limits.own")), figures(own, save)));
}

/** A field for each limit. */
function figures(own, keep) {
  const field = (id) =>
    h("div.field", h("label", { for: id }, say(`limits.field.${id}`)), h("p.quiet", { id: `${id}-hint` }, say(`limits.hint.${id}`, { factor: 20.1 })),
      h("input", { id, value: editable(String(own[id])), inputmode: "decimal", "aria-describedby": `${id}-hint` }));
  const mistake = h("p.error", { role: "alert" });
  function save(event) {
    event.preventDefault();
    const inputs = [...event.target.querySelectorAll("input")];
    const chosen = Object.fromEntries(inputs.map(({ id, value }) => [id, Number(typedNumber(value).reading)]));
    const wrong = inputs.find(({ id, value }) => !value.trim() || !isLimit(id, chosen[id]));
    wrong?.focus();
    mistake.textContent = wrong ? say("limits.wrong", { typed: wrong.value }) : "";
    return wrong ? null : keep(chosen);
  }
  return h("form", { onsubmit: save }, Object.keys(USUAL_LIMITS).map(field), mistake, h("p.actions", h("button", say("limits.save"))));
}

const isLimit = (name, number) =>
  name.endsWith("delta") ? number >= 0 && number < 1 : number > 0 && number <= (name === "distance" ? 1 : Number.MAX_VALUE);

function how() {
  const title = say("how.title");
  const part = (name) => h("section", h("h2", say(`how.${name}.title`)), h("p", say(`how.${name}.text`)));
  show(title, h("h1", title), ["stays", "once", "compare", "crowd", "terms", "cannot"].map(part));
}
