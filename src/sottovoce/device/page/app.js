// Routes, the header of all views, and updates of the page itself.

import { showCampaign } from "./campaign.js";
import { changes, flush, readLink } from "./device.js";
import { button, h } from "./dom.js";
import { showHome, VIEWS } from "./home.js";
import { read } from "./store.js";
import { texts } from "./texts.js";
import { show, showProblem } from "./views.js";

const queue = h("a.queue", { href: "./#ledger", hidden: "" });
const offline = h("p.banner", { hidden: "" }, texts.offline);
const update = h("p.banner", { hidden: "" }, texts.newVersion);
const links = Object.keys(VIEWS).map((view) => h("a", { href: `./#${view}` }, texts.nav[view]));

function route() {
  try {
    const link = readLink(location);
    const view = location.hash.slice(1) || "campaigns";
    links.forEach((one) => (one.ariaCurrent = !link && one.hash === `#${view}` ? "page" : null));
    return link ? showCampaign(link) : showHome(view);
  } catch (problem) {
    return showProblem(problem);
  }
}

async function showQueue() {
  const waiting = (await read()).releases.filter(({ state }) => state === "queued").length;
  queue.textContent = texts.waiting(waiting);
  queue.hidden = !waiting;
}

const showConnection = () => (offline.hidden = navigator.onLine);

async function keepUpdated() {
  const workers = navigator.serviceWorker;
  const registration = await workers.register("service-worker.js", { updateViaCache: "none" });
  const offer = () => (update.hidden = !(registration.waiting && workers.controller));
  registration.addEventListener("updatefound", () => registration.installing.addEventListener("statechange", offer));
  offer();
  update.append(" ", button(texts.useNewVersion, () => {
    workers.addEventListener("controllerchange", () => location.reload());
    registration.waiting.postMessage("use");
  }));
}

document.querySelector("header").append(
  button(texts.skip, () => document.querySelector("main").focus(), ".skip"),
  h("div.bar", h("a.brand", { href: "./" }, h("img", { src: "icon.svg", alt: "", width: 28 }), texts.name), queue, h("nav", { "aria-label": texts.name }, links)),
  offline, update);

if (isSecureContext) {
  addEventListener("hashchange", route);
  // Send whenever it may succeed: now, when the network is back, when the page becomes visible again.
  document.addEventListener("visibilitychange", () => document.hidden || flush());
  addEventListener("online", flush);
  for (const event of ["online", "offline"]) addEventListener(event, showConnection);
  changes.addEventListener("change", showQueue);
  showConnection();
  route();
  showQueue();
  flush();
  keepUpdated();
} else {
  const [title, ...body] = texts.insecure;
  show(title, h("section.problem", { role: "alert" }, h("h1", title), body.map((words) => h("p", words))));
}
