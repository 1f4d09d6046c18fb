// The view of a campaign: what is asked and promised; after joining, the readings, the state of their reports, and withdrawing.

import { answeredIn, changes, enrol, flush, join, joinedBy, judged, offered, release, withdraw } from "./device.js";
import { button, h } from "./dom.js";
import { exactNumber, isLess } from "./exact.js";
import { opener } from "./instruments.js";
import { decimal, editable, moment, say, typedNumber, withUnit } from "./language.js";
import { mostReadings, readingsComeAtOnce } from "./manifest.js";
import { read } from "./store.js";
import { nameOf, privacyCard, problemText, redrawnBy, releaseCard, sentText, show, showProblem, tell } from "./views.js";

export async function showCampaign(link) {
  show(say("invitation"), h("p.loading", { role: "status" }, say("loading")));
  try {
    const record = await read();
    const joined = joinedBy(link, record);
    if (joined) return await showJoined(joined);
    const offer = await offered(link);
    const before = record.memberships[offer.campaign];
    if (before?.manifest_sha256 === offer.manifest_sha256) return await showJoined(before);
    return showOffer(offer, judged(offer, record), record.limits);
  } catch (problem) {
    return showProblem(problem, () => showCampaign(link));
  }
}

const heading = (eyebrow, { title, asked_by: who, deadline, purpose }) => [
  h("p.eyebrow", eyebrow), h("h1", title),
  h("p.quiet", deadline ? say("askedUntil", { who, when: moment(deadline) }) : say("askedBy", { who })), purpose && h("p.purpose", purpose),
];

function showOffer(offer, promise, limits) {
  redrawnBy(() => showOffer(offer, promise, limits));
  const { manifest } = offer;
  const [{ tasks }, most] = [manifest, mostReadings(manifest)];
  async function agree({ target }) {
    target.disabled = true;
    try {
      await join(offer);
    } catch (problem) {
      if (!problem.later) return showProblem(problem);
    }
    return showJoined(offer);
  }
  const line = (task) => h("li", nameOf(task), h("span.quiet", say("offer.range", rangeOf(task))));
  show(manifest.title, heading(say("invitation"), manifest),
    h("section.card", h("h2", say("offer.asked", { count: tasks.length })), most < tasks.length && h("p", say("offer.atMost", { count: most })), h("ul.tasks", tasks.map(line))),
    privacyCard(offer, promise, limits),
    h("p.actions", button(say("offer.join"), agree)), h("p.quiet", say("offer.joinNote")));
}

async function showJoined({ campaign }) {
  const drafts = new Map(); // typed readings are kept only here
  const panels = new Map(); // instruments in use, by task
  let pairs; // what was measured and what was sent, until the page is left

  async function draw() {
    const record = await read();
    const joined = record.memberships[campaign];
    const { manifest, participant_token: token, withdrawn_at: withdrawn, withdrawal_told: told } = joined;
    const released = record.releases.filter((one) => one.campaign === campaign);
    const answered = answeredIn(record, campaign);
    const left = readingsComeAtOnce(manifest) && answered.length ? 0 : mostReadings(manifest) - answered.length;
    const open = manifest.tasks.filter(({ id }) => !answered.includes(id));
    const focused = document.activeElement.id;
    show(manifest.title, heading(say("campaign"), manifest),
      withdrawn ? h("p.banner", told ? say("withdraw.confirmed") : say("withdraw.unconfirmed")) : !token && h("p.banner", say("notConfirmed")),
      pairs && pairsCard(manifest, pairs),
      !withdrawn && left > 0 && form(joined, open, left, { drafts, panels, draw }, send),
      released.length && [
        h("h2", say("releases")), h("ul", released.map((one) => releaseCard(one, manifest))),
        h("p.actions", released.some(({ state }) => state === "queued") && button(say("tryNow"), flush), h("a", { href: `../c/${campaign}` }, say("crowd"))),
      ],
      privacyCard(joined, joined, record.limits),
      !withdrawn && withdrawal(campaign));
    document.getElementById(focused)?.focus();
  }

  async function send(joined, readings) {
    try {
      const noisy = await release(joined, readings);
      pairs = noisy.map((sent) => ({ ...sent, measured: readings.get(sent.task) }));
      drafts.clear();
      panels.clear();
    } catch (problem) {
      tell(problemText(problem.code));
      if (problem.code !== "already_released") return showProblem(problem);
    }
    await draw();
    return document.getElementById("pairs")?.focus();
  }

  redrawnBy(draw);
  changes.addEventListener("change", draw);
  await draw();
  const { participant_token: token, withdrawn_at: withdrawn } = (await read()).memberships[campaign];
  if (!token && !withdrawn) await enrol(campaign).then(draw, (problem) => problem.later || showProblem(problem));
}

function form(joined, tasks, left, { drafts, panels, draw }, send) {
  const summary = h("p.error", { role: "alert" });
  const sender = h("button", { id: "send" }, say("form.send"));
  const fields = tasks.map((task, place) => {
    const id = `reading-${place}`;
    const input = h("input", {
      id, maxlength: 40, autocomplete: "off", "aria-describedby": `${id}-hint ${id}-error`, value: drafts.get(task.id) ?? "",
      inputmode: task.low.startsWith("-") ? "text" : "decimal", // the decimal keypad has no minus key
      oninput: () => drafts.set(task.id, input.value),
    });
    const error = h("p.error", { id: `${id}-error` });
    const element = h("div.field", h("label", { for: id }, nameOf(task)), h("div.reading", input, h("span", task.unit)),
      h("p.quiet", { id: `${id}-hint` }, say("form.hint", { ...rangeOf(task), grid: decimal(task.grid) })), error,
      opener(task, panels, (text) => {
        drafts.set(task.id, editable(text));
        draw();
      }));
    return { task, input, error, element };
  });

  function submit(event) {
    event.preventDefault();
    const readings = new Map();
    const wrong = fields.filter(({ task, input, error }) => {
      const { reading, mistake = "" } = readInput(input.value, task);
      error.textContent = mistake;
      input.ariaInvalid = mistake ? "true" : null;
      if (reading) readings.set(task.id, reading);
      return mistake;
    });
    const tooMany = readings.size > left ? problemText("too_many_readings") : "";
    summary.textContent = wrong.length ? say("form.errors", { count: wrong.length }) : readings.size ? tooMany : say("form.none");
    if (summary.textContent) return (wrong[0] ?? fields[0]).input.focus();
    sender.disabled = true;
    return send(joined, readings);
  }

  return h("form.card", { onsubmit: submit, autocomplete: "off" }, h("h2", say("form.title")),
    h("p.quiet", readingsComeAtOnce(joined.manifest) ? say("form.once") : say("form.optional"), left < tasks.length && [" ", say("form.left", { count: left })]),
    fields.map(({ element }) => element), summary, h("p.actions", sender));
}

/** A reading as exact decimal text, or what is wrong with it. */
function readInput(text, task) {
  const typed = text.trim();
  if (!typed) return {};
  const { reading, whole, part } = typedNumber(typed);
  if (whole) return { mistake: say("form.ambiguous", { typed, whole: editable(whole), part: editable(part) }) };
  const exact = exactNumber(reading);
  if (!exact) return { mistake: say("form.notNumber", { typed, example: 12.5 }) };
  const { low, high } = task;
  const end = isLess(exact, exactNumber(low)) ? low : isLess(exactNumber(high), exact) && high;
  return end ? { mistake: say("form.outside", { typed, ...rangeOf(task), end: editable(end) }) } : { reading };
}

const rangeOf = ({ low, high, unit }) => ({ low: decimal(low), high: withUnit(decimal(high), unit) });

function pairsCard({ tasks }, pairs) {
  const line = ({ task: id, value, measured }) => {
    const task = tasks.find((one) => one.id === id);
    return h("li", h("h3", nameOf(task)),
      h("p.stays", h("span", say("pairs.measured")), h("b", withUnit(decimal(measured), task.unit)), h("small", say("pairs.stays"))),
      h("p.sent", h("span", say("pairs.sent")), h("b", sentText(value, task))));
  };
  return h("section.card", { id: "pairs", tabindex: -1 }, h("h2", say("pairs.title")), h("ul.pairs", pairs.map(line)));
}

function withdrawal(campaign) {
  const dialog = h("dialog", { "aria-labelledby": "leave" }, h("h2", { id: "leave" }, say("withdraw.title")), h("p", say("withdraw.body")),
    h("form.actions", { method: "dialog" }, h("button.plain", say("withdraw.no")), h("button.danger", { onclick: () => withdraw(campaign) }, say("withdraw.yes"))));
  return h("div", button(say("withdraw.open"), () => dialog.showModal(), ".plain"), dialog);
}
