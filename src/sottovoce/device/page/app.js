// Routes, the header of all views, and updates of the page itself.

import { showCampaign } from "./campaign.js";
import { changes, flush, readLink } from "./device.js";
import { button, h } from "./dom.js";
import { showHome, VIEWS } from "./home.js";
import { isKiosk, startOverWhenIdle } from "./kiosk.js";
import { say } from "./language.js";
import { choice, languageChanges, spoken } from "./language-switch.js";
import { read } from "./store.js";
import { redrawnBy, show, showAgain, showProblem } from "./views.js";

const [FIRST_PAUSE, LONGEST_PAUSE] = [2_000, 300_000]; // milliseconds
const skip = button("", () => document.querySelector("main").focus(), ".skip");
const queue = h("a.queue", { href: "./#ledger", hidden: "" });
const links = Object.keys(VIEWS).map((view) => [view, h("a", { href: `./#${view}` })]);
const offline = h("p.banner", { hidden: "" });
const notLoaded = h("p.banner", { role: "alert", hidden: "" });
const newVersion = h("span");
const useNewVersion = button("", () => {
  navigator.serviceWorker.addEventListener("controllerchange", () => location.reload());
  registration.waiting.postMessage("use");
});
const update = h("p.banner", { hidden: "" }, newVersion, " ", useNewVersion);
let registration;

function nameHeader() {
  skip.textContent = say("header.skip");
  for (const [view, link] of links) link.textContent = say(`nav.${view}`);
  offline.textContent = say("header.offline");
  notLoaded.hidden = true;
  newVersion.textContent = say("header.newVersion");
  useNewVersion.textContent = say("header.useNewVersion");
}

function route() {
  redrawnBy(route);
  try {
    const link = readLink(location);
    const view = location.hash.slice(1) || "campaigns";
    for (const [name, one] of links) one.ariaCurrent = !link && name === view ? "page" : null;
    return link ? showCampaign(link) : showHome(view);
  } catch (problem) {
    return showProblem(problem);
  }
}

async function showQueue() {
  const count = (await read()).releases.filter(({ state }) => state === "queued").length;
  queue.textContent = say("header.waiting", { count });
  queue.hidden = !count;
}

const showConnection = () => (offline.hidden = navigator.onLine);

/** Keep the page's files for use without a network. What fails, on a bad network, is tried again with longer pauses. */
async function keepUpdated(pause = FIRST_PAUSE) {
  const workers = navigator.serviceWorker;
  if (!workers) return; // a private window of some browsers, which stores no files
  const later = () => setTimeout(keepUpdated, pause, Math.min(2 * pause, LONGEST_PAUSE));
  registration = await workers.register("service-worker.js", { updateViaCache: "none" }).catch(() => null);
  if (!registration) return void later(); // the page works with a network
  const offer = () => (update.hidden = !(registration.waiting && registration.active));
  registration.onupdatefound = ({ target: { installing } }) =>
    installing.addEventListener("statechange", () => {
      if (installing.state === "redundant" && !workers.controller) later();
      offer();
    });
  offer();
  if (workers.controller || !registration.active) return;
  // A page that was loading while the worker took over, or was loaded past it, is not in its charge yet. It belongs in the
  // charge of a worker of its own version only.
  if (!(await registration.update().catch(() => null))) return void later();
  if (!registration.installing && !registration.waiting) registration.active.postMessage("claim");
}

function showInsecure() {
  const title = say("insecure.title");
  show(title, h("section.problem", { role: "alert" }, h("h1", title), h("p", say("insecure.why")), h("p", say("insecure.fix"))));
}

languageChanges.addEventListener("failure", () => {
  notLoaded.hidden = false;
  notLoaded.textContent = say("header.languageFailed");
});

await spoken;
document.querySelector("header").prepend(skip);
document.querySelector("header").append(offline, notLoaded, update);
choice.before(queue);
if (!isKiosk) choice.after(h("nav", { "aria-label": "Sottovoce" }, links.map(([, link]) => link)));
nameHeader();

if (isSecureContext) {
  languageChanges.addEventListener("change", () => {
    nameHeader();
    showQueue();
    showAgain();
  });
  // Whether the device is shared, so that nothing is kept, is decided when the page is loaded.
  addEventListener("hashchange", () => (isKiosk === location.hash.endsWith("&kiosk") ? route() : location.reload()));
  if (isKiosk) startOverWhenIdle(async () => (await read()).releases.some(({ state }) => state === "queued"));
  // Send whenever that may succeed: now, when the network is back, and when the page becomes visible again.
  document.addEventListener("visibilitychange", () => document.hidden || flush());
  addEventListener("online", flush);
  for (const event of ["online", "offline"]) addEventListener(event, showConnection);
  changes.addEventListener("change", showQueue);
  showConnection();
  showQueue();
  flush();
  Promise.resolve(route()).finally(keepUpdated); // the view first: storing the page for later loads everything once more
} else {
  languageChanges.addEventListener("change", () => {
    nameHeader();
    showInsecure();
  });
  showInsecure();
}
