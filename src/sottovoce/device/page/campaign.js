// The view of a campaign: what is asked and promised; after joining, the readings, the state of their reports, and withdrawing.

import { answeredIn, changes, enrol, flush, join, joinedBy, judged, offered, release, withdraw } from "./device.js";
import { button, h, moment, withUnit } from "./dom.js";
import { exactNumber, isLess } from "./exact.js";
import { mostReadings, readingsComeAtOnce } from "./manifest.js";
import { read } from "./store.js";
import { texts } from "./texts.js";
import { nameOf, privacyCard, releaseCard, sentText, show, showProblem, tell, wordsFor } from "./views.js";

const COMMA_IS_POINT = (1.5).toLocaleString().includes(",");

export async function showCampaign(link) {
  show(texts.invitation, h("p.loading", { role: "status" }, texts.loading));
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
  h("p.quiet", texts.askedBy(who), deadline && texts.until(moment(deadline))), purpose && h("p.purpose", purpose),
];

function showOffer(offer, promise, limits) {
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
  const line = (task) => h("li", nameOf(task), h("span.quiet", texts.range(task.low, withUnit(task.high, task.unit))));
  show(manifest.title, heading(texts.invitation, manifest),
    h("section.card", h("h2", texts.asked(tasks.length)), most < tasks.length && h("p", texts.atMost(most)), h("ul.tasks", tasks.map(line))),
    privacyCard(offer, promise, limits),
    h("p.actions", button(texts.join, agree)), h("p.quiet", texts.joinNote));
}

async function showJoined({ campaign }) {
  const drafts = new Map(); // typed readings are kept only here
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
    show(manifest.title, heading(texts.campaign, manifest),
      withdrawn ? h("p.banner", wordsFor("withdrawn")[0], ". ", texts.withdraw[told ? "told" : "untold"]) : !token && h("p.banner", texts.notConfirmed),
      pairs && pairsCard(manifest, pairs),
      !withdrawn && left > 0 && form(joined, open, left, drafts, send),
      released.length && [
        h("h2", texts.releases), h("ul", released.map((one) => releaseCard(one, manifest))),
        h("p.actions", released.some(({ state }) => state === "queued") && button(texts.tryNow, flush), h("a", { href: `../c/${campaign}` }, texts.results)),
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
    } catch (problem) {
      tell(wordsFor(problem.code).join(". "));
      if (problem.code !== "already_released") return showProblem(problem);
    }
    await draw();
    return document.getElementById("pairs")?.focus();
  }

  changes.addEventListener("change", draw);
  await draw();
  const { participant_token: token, withdrawn_at: withdrawn } = (await read()).memberships[campaign];
  if (!token && !withdrawn) await enrol(campaign).then(draw, (problem) => problem.later || showProblem(problem));
}

function form(joined, tasks, left, drafts, send) {
  const words = texts.form;
  const summary = h("p.error", { role: "alert" });
  const sender = h("button", { id: "send" }, words.send);
  const fields = tasks.map((task, place) => {
    const id = `reading-${place}`;
    const input = h("input", {
      id, maxlength: 40, autocomplete: "off", "aria-describedby": `${id}-hint ${id}-error`, value: drafts.get(task.id) ?? "",
      inputmode: task.low.startsWith("-") ? "text" : "decimal", // the decimal keypad has no minus key
      oninput: () => drafts.set(task.id, input.value),
    });
    const error = h("p.error", { id: `${id}-error` });
    const element = h("div.field", h("label", { for: id }, nameOf(task)), h("div.reading", input, h("span", task.unit)),
      h("p.quiet", { id: `${id}-hint` }, words.hint(task.low, withUnit(task.high, task.unit), task.grid)), error);
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
    const tooMany = readings.size > left ? wordsFor("too_many_readings").join(". ") : "";
    summary.textContent = wrong.length ? words.errors(wrong.length) : readings.size ? tooMany : words.none;
    if (summary.textContent) return (wrong[0] ?? fields[0]).input.focus();
    sender.disabled = true;
    return send(joined, readings);
  }

  return h("form.card", { onsubmit: submit, autocomplete: "off" }, h("h2", words.title),
    h("p.quiet", readingsComeAtOnce(joined.manifest) ? words.once : words.optional, left < tasks.length && words.left(left)),
    fields.map(({ element }) => element), summary, h("p.actions", sender));
}

/** A reading as exact decimal text, or what is wrong with it. */
function readInput(typed, { low, high, unit }) {
  const words = texts.form;
  const text = typed.trim().replace(/^[−–]/, "-");
  if (!text) return {};
  if (!COMMA_IS_POINT && /^[+-]?\d{1,3},\d{3}$/.test(text)) return { mistake: words.comma(text) };
  const reading = text.replace(/^([^.,]*),([^.,]*)$/, "$1.$2");
  const exact = exactNumber(reading);
  if (!exact) return { mistake: words.notNumber(text) };
  const end = isLess(exact, exactNumber(low)) ? low : isLess(exactNumber(high), exact) && high;
  return end ? { mistake: words.outside(text, low, withUnit(high, unit), end) } : { reading };
}

function pairsCard({ tasks }, pairs) {
  const words = texts.pairs;
  const line = ({ task: id, value, measured }) => {
    const task = tasks.find((one) => one.id === id);
    return h("li", h("h3", nameOf(task)),
      h("p.stays", h("span", words.measured), h("b", withUnit(measured, task.unit)), h("small", words.stays)),
      h("p.sent", h("span", words.sent), h("b", sentText(value, task))));
  };
  return h("section.card", { id: "pairs", tabindex: -1 }, h("h2", words.title), h("ul.pairs", pairs.map(line)));
}

function withdrawal(campaign) {
  const { title, body, no, yes, open } = texts.withdraw;
  const dialog = h("dialog", { "aria-labelledby": "leave" }, h("h2", { id: "leave" }, title), h("p", body),
    h("form.actions", { method: "dialog" }, h("button.plain", no), h("button.danger", { onclick: () => withdraw(campaign) }, yes)));
  return h("div", button(open, () => dialog.showModal(), ".plain"), dialog);
}
