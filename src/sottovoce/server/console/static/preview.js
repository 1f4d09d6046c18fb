// The participant's page showing a draft: the same modules, but without a device behind them, so nothing is joined,
// stored or sent.

import { showOffer } from "/j/campaign.js";
import { h } from "/j/dom.js";
import { form } from "/j/form.js";
import { languageChanges, spoken } from "/j/language-switch.js";
import { mostReadings, parseManifest } from "/j/manifest.js";
import { judge, USUAL_LIMITS } from "/j/promise.js";
import { show, shown, showProblem } from "/j/views.js";

const answer = await fetch(document.body.dataset.manifest);
const bytes = new Uint8Array(await answer.arrayBuffer());
// Browsers compute hashes only on secure pages (HTTPS or localhost).
const digest = new Uint8Array(crypto.subtle ? await crypto.subtle.digest("SHA-256", bytes) : 32);
// Nobody but the operator sees the plan and the logo of a draft.
const { plan, logo } = answer.ok ? JSON.parse(new TextDecoder().decode(bytes)) : {}; // the draft may have been opened meanwhile
if (plan || logo) {
  const { usePicture } = await import("/j/pictures.js");
  if (plan) usePicture(plan.sha256, document.body.dataset.picture);
  if (logo) usePicture(logo, document.body.dataset.logo);
}
const manifest_sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Draws the page before joining, or the questions after it. */
function draw() {
  try {
    const manifest = parseManifest(bytes);
    const promise = judge(manifest, USUAL_LIMITS);
    if (location.hash !== "#questions") return showOffer({ manifest, manifest_sha256 }, promise, USUAL_LIMITS);
    const { title, tasks } = shown(manifest);
    const typed = { drafts: new Map(), panels: new Map() };
    return show(title, h("h1", title), form({ manifest }, tasks, mostReadings(manifest), typed, () => {}));
  } catch (problem) {
    return showProblem(problem); // what somebody with the default limits would read
  }
}

/** Fields can be tried, but links and buttons do nothing: they would lead away from here or send something. */
function hold(event) {
  if (event.type === "submit" || event.target.closest("main :is(a, button)")) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}

for (const kind of ["click", "submit"]) addEventListener(kind, hold, { capture: true });
addEventListener("hashchange", draw);
languageChanges.addEventListener("change", draw);
await spoken;
draw();
