// The view of a campaign: what is asked and promised; after joining, the readings, the state of their reports, and withdrawing.

import { choiceField, choiceText } from "./answer.js";
import { isFull } from "./comparing.js";
import { ownLevelText, questionText } from "./comparison.js";
import { answeredIn, changes, enrol, flush, join, joinedBy, judged, offered, refreshCuts, release, tasksInOrder, withdraw } from "./device.js";
import { button, h } from "./dom.js";
import { exactNumber, isLess } from "./exact.js";
import { opener } from "./instruments.js";
import { decimal, editable, moment, say, typedNumber, withUnit } from "./language.js";
import { deviceDraws, mostReadings, protectedDistance, readingsComeAtOnce } from "./manifest.js";
import { read } from "./store.js";
import { nameOf, privacyCard, problemText, redrawnBy, releaseCard, sentText, show, shown, showProblem, tell } from "./views.js";

const MOST_AT_ONCE = 5; // with more tasks than this, questions come one after the other
const TYPED_STAYS = ["no_cuts", "bad_cuts", "quota_reached"]; // nothing was drawn, so it can be sent later

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

function heading(eyebrow, manifest) {
  const { title, asked_by: who, deadline, purpose } = shown(manifest);
  return [
    h("p.eyebrow", eyebrow), h("h1", title),
    h("p.quiet", deadline ? say("askedUntil", { who, when: moment(deadline) }) : say("askedBy", { who })), purpose && h("p.purpose", purpose),
  ];
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
    return showJoined(offer);
  }
  const line = (task) => h("li", nameOf(task), h("span.quiet", task.choices ? task.choices.join(" · ") : say("offer.range", rangeOf(task))));
  show(title, heading(say("invitation"), manifest),
    h("section.card", h("h2", say("offer.asked", { count: tasks.length })), most < tasks.length && h("p", deviceDraws(manifest) ? say("offer.drawn", { count: most }) : say("offer.atMost", { count: most })), h("ul.tasks", tasks.map(line))),
    privacyCard(offer, promise, limits),
    h("p.actions", button(say("offer.join"), agree)), h("p.quiet", say("offer.joinNote")));
}

async function showJoined({ campaign }) {
  const drafts = new Map(); // typed readings are kept only here
  const panels = new Map(); // instruments in use, by task
  let pairs; // what was measured and what was sent, until the page is left
  let hindrance; // why the last tap sent nothing

  async function draw() {
    const record = await read();
    const joined = record.memberships[campaign];
    const { manifest, participant_token: token, withdrawn_at: withdrawn, withdrawal_told: told } = joined;
    const released = record.releases.filter((one) => one.campaign === campaign);
    const answered = answeredIn(record, campaign);
    const left = readingsComeAtOnce(manifest) && answered.length ? 0 : mostReadings(manifest) - answered.length;
    const isAnswered = ({ id }) => answered.includes(id);
    const notFull = tasksInOrder(joined).filter((task) => isAnswered(task) || !isFull(joined, task));
    // Where the device draws which tasks it answers, only these are asked: what is left out must not depend on readings.
    const asked = deviceDraws(manifest) ? notFull.slice(0, mostReadings(manifest)) : notFull;
    const open = shown({ ...manifest, tasks: asked.filter((task) => !isAnswered(task)) });
    const full = manifest.tasks.length - notFull.length;
    const focused = document.activeElement.id;
    show(open.title, heading(say("campaign"), manifest),
      withdrawn ? h("p.banner", told ? say("withdraw.confirmed") : say("withdraw.unconfirmed")) : !token && h("p.banner", say("notConfirmed")),
      hindrance && h("p.banner", problemText(hindrance)), !withdrawn && full > 0 && h("p.quiet", say("form.full", { count: full })),
      pairs && pairsCard(manifest, pairs),
      !withdrawn && left > 0 && open.tasks.length > 0 && form(joined, open.tasks, left, { drafts, panels, draw }, send),
      released.length && [
        h("h2", say("releases")), h("ul", released.map((one) => releaseCard(one, manifest))),
        h("p.actions", released.some(({ state }) => state === "queued") && button(say("tryNow"), flush), h("a", { href: `../c/${campaign}` }, say("crowd"))),
      ],
      privacyCard(joined, joined, record.limits),
      !withdrawn && withdrawal(campaign));
    document.getElementById(focused)?.focus();
  }

  async function send(joined, readings) {
    hindrance = null;
    try {
      const noisy = await release(joined, readings);
      pairs = noisy.map((sent) => ({ ...sent, measured: readings.get(sent.task) }));
      drafts.clear();
      drafts.place = 0;
      panels.clear();
    } catch (problem) {
      tell(problemText(problem.code));
      if (TYPED_STAYS.includes(problem.code)) hindrance = problem.code;
      else if (problem.code !== "already_released") return showProblem(problem);
    }
    await draw();
    return document.getElementById("pairs")?.focus();
  }

  redrawnBy(draw);
  changes.addEventListener("change", draw);
  await draw();
  const joined = (await read()).memberships[campaign];
  const { participant_token: token, withdrawn_at: withdrawn } = joined;
  const refused = !token && !withdrawn && (await enrol(campaign).then(draw, (problem) => !problem.later && problem));
  if (refused) return showProblem(refused);
  // For a phone that has no network when its reading is sent.
  return joined.manifest.levels && refreshCuts(joined).then(draw, () => {});
}

/** The questions of a campaign that somebody has joined. */
export function form(joined, tasks, left, { drafts, panels, draw }, send) {
  const summary = h("p.error", { role: "alert" });
  const areQuestions = tasks.every(({ kind }) => kind === "choice");
  const noiseless = !tasks.some((task) => protectedDistance(joined.manifest, task));
  const sender = h("button", { id: "send" }, noiseless ? say("form.sendAnswers") : say("form.send"));
  const fields = tasks.map((task, place) => {
    const id = `reading-${place}`;
    if (task.kind === "choice") return choiceField(task, id, drafts);
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
    return { task, input, error, element, read: () => readInput(input.value, task) };
  });
  const steps = fields.length > MOST_AT_ONCE && tasks.some(({ kind }) => kind === "choice") ? stepper(fields, sender, drafts) : null;

  function submit(event) {
    event.preventDefault();
    const readings = new Map();
    const wrong = fields.filter(({ task, input, error, read: readField }) => {
      const { reading, mistake = "" } = readField();
      error.textContent = mistake;
      input.ariaInvalid = mistake ? "true" : null;
      if (reading !== undefined) readings.set(task.id, reading);
      return mistake;
    });
    const tooMany = readings.size > left ? problemText("too_many_readings") : "";
    summary.textContent = wrong.length ? say("form.errors", { count: wrong.length }) : readings.size ? tooMany : say("form.none");
    const first = wrong[0] ?? fields[0];
    if (summary.textContent) steps?.goTo(fields.indexOf(first));
    if (summary.textContent) return first.input.focus();
    sender.disabled = true;
    return send(joined, readings);
  }

  return h("form.card", { onsubmit: submit, autocomplete: "off" }, h("h2", areQuestions ? say("form.answers") : say("form.title")),
    h("p.quiet", readingsComeAtOnce(joined.manifest) ? say("form.once") : say("form.optional"), left < tasks.length && [" ", say("form.left", { count: left })]),
    steps?.place, fields.map(({ element }) => element), summary, h("p.actions", steps?.buttons, sender));
}

/** One field after the other: where it is, and buttons to go on and back. The last one is sent with all the others. */
function stepper(fields, sender, drafts) {
  const place = h("p.eyebrow", { role: "status" });
  let current = 0;
  const goTo = (number) => {
    current = number;
    drafts.place = number; // survives drawing the page again
    fields.forEach(({ element }, other) => (element.hidden = other !== number));
    place.textContent = say("form.step", { place: number + 1, count: fields.length });
    [back.hidden, next.hidden, sender.hidden] = [!number, number === fields.length - 1, number < fields.length - 1];
  };
  const move = (by) => () => {
    goTo(current + by);
    fields[current].input.focus();
  };
  const [back, next] = [button(say("form.back"), move(-1), ".plain"), button(say("form.next"), move(1))];
  goTo(Math.min(drafts.place ?? 0, fields.length - 1));
  return { place, goTo, buttons: [back, next] };
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

function pairsCard(manifest, pairs) {
  const { tasks } = shown(manifest);
  const line = ({ measured, ...reading }) => {
    const task = tasks.find(({ id }) => id === reading.task);
    const { cuts } = reading;
    return h("li", h("h3", nameOf(task)),
      h(`p.stays${cuts ? ".wide" : ""}`, h("span", task.choices ? say("pairs.answered") : say("pairs.measured")),
        h("b", task.choices ? choiceText(measured, task) : withUnit(decimal(measured), task.unit)), h("small", say("pairs.stays"))),
      cuts && [h("p.wide", h("span", say("pairs.asked")), h("b", questionText(cuts, task))),
        h("p.stays", h("span", say("pairs.ownAnswer")), h("b", ownLevelText(measured, cuts, task)), h("small", say("pairs.stays")))],
      h("p.sent", h("span", say("pairs.sent")), h("b", sentText(reading, task))));
  };
  return h("section.card", { id: "pairs", tabindex: -1 }, h("h2", say("pairs.title")), h("ul.pairs", pairs.map(line)));
}

function withdrawal(campaign) {
  const dialog = h("dialog", { "aria-labelledby": "leave" }, h("h2", { id: "leave" }, say("withdraw.title")), h("p", say("withdraw.body")),
    h("form.actions", { method: "dialog" }, h("button.plain", say("withdraw.no")), h("button.danger", { onclick: () => withdraw(campaign) }, say("withdraw.yes"))));
  return h("div", button(say("withdraw.open"), () => dialog.showModal(), ".plain"), dialog);
}
