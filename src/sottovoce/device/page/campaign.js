// The view of a campaign: what is asked and promised; after joining, the readings, the state of their reports, and withdrawing.

import { privacyCard } from "./card.js";
import { isFull } from "./comparing.js";
import { confirmed } from "./confirmation.js";
import { answeredIn, changes, endOf, enrol, flush, join, joinedBy, judged, offered, refreshCuts, release, tasksInOrder, withdraw, workerFailure } from "./device.js";
import { button, h } from "./dom.js";
import { Drafts } from "./drafts.js";
import { form, rangeOf } from "./form.js";
import { keepForLater } from "./instruments.js";
import { isKiosk, startOver } from "./kiosk.js";
import { moment, say, spokenTag } from "./language.js";
import { deviceDraws, mostReadings, readingsComeAtOnce } from "./manifest.js";
import { pairsCard } from "./pairs.js";
import { people, person, read, usePerson } from "./store.js";
import { announce, contactLink, isShown, keeper, nameOf, problemText, redrawnBy, releaseCard, show, shown, showProblem } from "./views.js";

const TYPED_STAYS = ["no_cuts", "bad_cuts", "quota_reached", "no_worker"]; // nothing was drawn, so it can be sent later
const ENDED = ["campaign_not_open", "deadline_passed"];

export async function showCampaign(link) {
  show(say("invitation"), h("p.loading", { role: "status" }, say("loading")));
  try {
    await choosePerson(link);
    const record = await read();
    const joined = joinedBy(link, record);
    if (joined) return await showJoined(joined);
    const offer = await offered(link);
    const before = record.memberships[offer.campaign];
    if (before?.manifest_sha256 === offer.manifest_sha256) return await showJoined(before);
    return offer.end ? showEnd(offer) : showOffer(offer, judged(offer, record), record.limits);
  } catch (problem) {
    return showProblem(problem, () => showCampaign(link));
  }
}

/** Choose the record that a link belongs to: that of the person who joined with it, or of whoever says that it is theirs. */
async function choosePerson(link) {
  if (isKiosk) return;
  const known = await Promise.all((await people()).map(async (name) => [name, await read(name)]));
  const owner = known.find(([, record]) => joinedBy(link, record));
  if (owner) return usePerson(owner[0]);
  const before = known.filter(([, { memberships }]) => Object.keys(memberships).length);
  if (before.length) usePerson(await (await import("./person.js")).whoIsIt(before));
}

function heading(eyebrow, manifest) {
  const { campaign, title, asked_by: who, deadline, purpose, contact } = shown(manifest);
  const ends = deadline && new Date(deadline);
  return [
    logoOf(manifest), h("p.eyebrow", eyebrow), h("h1", title),
    h("p.quiet", { title: Boolean(ends) && ends.toUTCString() }, deadline ? say("askedUntil", { who, when: moment(deadline, true) }) : say("askedBy", { who }),
      ends > new Date() && !isKiosk && [" · ", h("a", { href: `../api/campaigns/${campaign}/deadline.ics?lang=${spokenTag()}`, download: "" }, say("deadline.calendar"))]),
    purpose && h("p.purpose", purpose), contact && h("p", say("contact"), " ", contactLink(contact)),
  ];
}

/** The logo, as soon as it is loaded and checked; without a network there is none. */
function logoOf({ campaign, logo }) {
  if (!logo) return null;
  keepForLater(["pictures.js"]);
  const image = h("img.logo", { alt: "", hidden: "" });
  import("./pictures.js").then(({ addressOf }) => addressOf(campaign, "logo", logo))
    .then((address) => Object.assign(image, { src: address, hidden: false })).catch(() => {});
  return image;
}

const results = (campaign) => h("a", { href: `../c/${campaign}?lang=${spokenTag()}` }, say("crowd"));

/** An invitation that comes too late. */
function showEnd({ campaign, manifest, end }) {
  redrawnBy(() => showEnd({ campaign, manifest, end }));
  show(shown(manifest).title, h("p.banner", { role: "alert" }, problemText(end)), heading(say("invitation"), manifest),
    manifest.public_results !== false && h("p.actions", results(campaign)));
}

/** What somebody who was invited sees first. */
export function showOffer(offer, promise, limits) {
  redrawnBy(() => showOffer(offer, promise, limits));
  const { manifest } = offer;
  const [{ title, tasks }, most] = [shown(manifest), mostReadings(manifest)];
  async function agree({ target }) {
    target.disabled = true;
    try {
      await join(offer);
    } catch (problem) {
      if (!problem.later) return showProblem(problem);
    }
    return showJoined(offer, { isNew: true });
  }
  const line = (task) => h("li", nameOf(task), h("span.quiet", task.choices ? task.choices.join(" · ") : say("offer.range", rangeOf(task))));
  const free = tasks.filter((task) => !isFull(offer, task));
  show(title, isKiosk && kioskBanner(), heading(say("invitation"), manifest),
    offer.isFromCode && h("p.banner", say("code.unpinned", { hash: offer.manifest_sha256.slice(0, 16) })),
    free.length < tasks.length && h("p.quiet", say("form.full", { count: tasks.length - free.length })),
    h("section.card", h("h2", say("offer.asked", { count: tasks.length })), most < tasks.length && h("p", deviceDraws(manifest) ? say("offer.drawn", { count: most }) : say("offer.atMost", { count: most })), h("ul.tasks", tasks.map(line))),
    privacyCard(offer, promise, limits), h("section.card", h("h2", say("terms.title")), termsOf(manifest).map((words) => h("p", words))),
    h("p.actions", button(say("offer.join"), agree)), h("p.quiet", say("offer.joinNote")));
}

/** Who sees the results, and when values are erased. In the first format results are public. */
function termsOf({ public_results: isPublic = true, retention: days }) {
  const seen = isPublic ? say("terms.public") : say("terms.private");
  if (days === undefined) return [seen, isKiosk ? say("terms.keptHere") : say("terms.kept")];
  return [seen, days ? say("terms.erased", { count: days }) : say("terms.erasedAtOnce")];
}

async function showJoined({ campaign }, { isNew = false } = {}) {
  const panels = new Map(); // instruments in use, by task
  const kept = h("section.card", { id: "own" });
  const same = keeper(); // the page is drawn again while somebody types
  let joined;
  let drafts;
  let pairs; // what was measured and what was sent, until the page is left
  let hindrance; // why nothing was sent last time
  let end; // why nothing more can be sent

  async function draw() {
    const record = await read();
    joined = record.memberships[campaign];
    const { manifest, manifest_sha256: hash, participant_token: token, withdrawn_at: withdrawn, withdrawal_told: isConfirmed } = joined;
    const released = record.releases.filter((one) => one.campaign === campaign);
    const answered = answeredIn(record, campaign);
    const left = readingsComeAtOnce(manifest) && answered.length ? 0 : mostReadings(manifest) - answered.length;
    const isAnswered = ({ id }) => answered.includes(id);
    const notFull = tasksInOrder(joined).filter((task) => isAnswered(task) || !isFull(joined, task));
    // If the device draws the tasks that it answers, only these are shown: what is left out must not depend on readings.
    const asked = deviceDraws(manifest) ? notFull.slice(0, mostReadings(manifest)) : notFull;
    const isOver = withdrawn || end || left <= 0;
    const open = shown({ ...manifest, tasks: isOver ? [] : asked.filter((task) => !isAnswered(task)) });
    const full = manifest.tasks.length - notFull.length;
    drafts ??= new Drafts(joined, !isKiosk, person());
    const ids = open.tasks.map(({ id }) => id);
    drafts.keepOnly(ids);
    const sent = pairs && released.find(({ readings }) => readings.some(({ task }) => task === pairs[0].task)).state;
    const focused = document.activeElement.id;
    show(open.title, isKiosk && kioskBanner(), end && h("p.banner", { role: "alert" }, problemText(end)),
      withdrawn && h("p.banner", isConfirmed ? say("withdraw.confirmed") : say("withdraw.unconfirmed")),
      heading(say("campaign"), manifest),
      !withdrawn && (token ? isNew && h("p.banner", say("joined")) : h("p.banner", say("notConfirmed"))),
      hindrance && h("p.banner", problemText(hindrance)), !isOver && full > 0 && h("p.quiet", say("form.full", { count: full })),
      pairs && !withdrawn && pairsCard(joined, pairs, sent),
      isKiosk && sent === "delivered" && h("p.actions", button(say("kiosk.next"), startOver)),
      ids.length > 0 && same("form", [hash, ids, left], () => form(joined, open.tasks, left, { drafts, panels }, (...confirmed) => send(hash, ...confirmed))),
      joined.own && kept,
      released.length && [
        h("h2", say("releases")), h("ul", released.map((one) => releaseCard(one, manifest, one === released[0]))),
        h("p.actions", released.some(({ state }) => state === "queued") && button(say("tryNow"), flush), manifest.public_results !== false && results(campaign)),
      ],
      same("promise", [hash, record.limits], () => privacyCard(joined, joined, record.limits)),
      !withdrawn && same("withdrawal", [], () => withdrawal(campaign)));
    document.getElementById(focused)?.focus();
    if (joined.own) await showKept();
  }

  /** Readings that the participant kept, beside the results, which are fetched again for every view. */
  async function showKept() {
    const { ownAnswers } = await import("./own-answers.js").catch(() => ({}));
    if (ownAnswers) kept.replaceChildren(...(await ownAnswers(joined, draw)));
  }

  async function send(hash, readings, options) {
    [hindrance, isNew] = [null, false];
    try {
      const noisy = await release({ ...joined, manifest_sha256: hash }, readings, options); // on the terms that were confirmed
      pairs = noisy.map((one) => ({ ...one, measured: readings.get(one.task) }));
      drafts.place = 0;
      panels.clear();
    } catch (problem) {
      announce(problemText(problem.code));
      if (TYPED_STAYS.includes(problem.code)) hindrance = problem.code;
      else if (ENDED.includes(problem.code)) end = problem.code;
      else if (problem.code !== "already_released") return showProblem(problem);
    }
    await draw();
    return document.getElementById("pairs")?.focus();
  }

  function confirmJoining() {
    if (isNew) announce(say("joined"));
    return draw();
  }

  redrawnBy(draw);
  changes.addEventListener("change", () => isShown(draw) && draw());
  await draw();
  workerFailure.catch(({ code }) => {
    hindrance = code;
    return draw();
  });
  const { participant_token: token, withdrawn_at: withdrawn } = joined;
  if (isNew) welcome(token);
  const refused = !token && !withdrawn && (await enrol(campaign).then(confirmJoining, (problem) => !problem.later && problem));
  if (refused) return showProblem(refused);
  [end] = await Promise.all([
    !withdrawn && endOf(joined).catch(() => null),
    joined.manifest.levels && refreshCuts(joined).catch(() => {}), // for a phone that has no network when its reading is sent
  ]);
  return draw(); // some tasks may have enough readings by now
}

/** Shown on a device that people share. */
const kioskBanner = () => h("p.banner", say("kiosk.banner"), " ", button(say("kiosk.over"), startOver, ".plain"));

/** Lead those who have just joined to the first question. */
function welcome(token) {
  announce(token ? say("joined") : say("notConfirmed"));
  const first = document.querySelector("#reading-0");
  first?.focus({ preventScroll: true });
  first?.closest(".field").scrollIntoView({ block: "center" });
}

function withdrawal(campaign) {
  const ask = async () => {
    const [title, body, no, yes] = ["title", "body", "no", "yes"].map((part) => say(`withdraw.${part}`));
    if (await confirmed({ title, body: h("p", body), no, yes, kind: ".danger" })) await withdraw(campaign);
  };
  return h("div", button(say("withdraw.open"), ask, ".plain"));
}
