// The form of a campaign: fields for readings and answers, and sending them after a confirmation.

import { choiceField } from "./answer.js";
import { confirmed } from "./confirmation.js";
import { button, h } from "./dom.js";
import { exactNumber, isLess } from "./exact.js";
import { opener } from "./instruments.js";
import { decimal, editable, say, typedNumber, withUnit } from "./language.js";
import { protectedDistance, readingsComeAtOnce } from "./manifest.js";
import { planBeside } from "./plans.js";
import { nameOf, problemText } from "./views.js";

const MOST_AT_ONCE = 5; // with more tasks than this, questions come one after the other

/**
 * A form for these tasks; `left` of them may still be answered. `send(readings, options)` is called with a Map of readings
 * by task, once they are valid and confirmed.
 */
export function form({ manifest }, tasks, left, { drafts, panels }, send) {
  const summary = h("p.error", { role: "alert" });
  const hasQuestions = tasks.some(({ kind }) => kind === "choice");
  const noiseless = !tasks.some((task) => protectedDistance(manifest, task));
  const sendWords = noiseless ? say("form.sendAnswers") : say("form.send");
  const sender = button(sendWords, submit);
  sender.id = "send";
  const sending = h("span.sending", sender, h("span.quiet", say("form.final")));
  const fields = tasks.map((task, place) => {
    const id = `reading-${place}`;
    const help = task.help && h("p.quiet.help", { id: `${id}-help` }, task.help);
    return task.kind === "choice" ? choiceField(task, id, help, drafts) : numberField(task, id, help, place);
  });
  const steps = fields.length > MOST_AT_ONCE && tasks.some(({ kind }) => kind === "choice") ? stepper(fields, sending, drafts) : null;

  const plan = planBeside(manifest, tasks, goToTask, ({ id }) => drafts.has(id));

  /** From the plan to the field of a task. */
  function goToTask({ id }) {
    const field = fields.find(({ task }) => task.id === id);
    steps?.goTo(fields.indexOf(field));
    field.input.focus({ preventScroll: true });
    field.element.scrollIntoView({ block: "center" });
  }

  function showOnPlan({ target }) {
    const field = fields.find(({ element }) => element.contains(target));
    if (field) plan.mark(field.task);
  }

  function numberField(task, id, help, place) {
    const input = h("input", {
      id, maxlength: 40, autocomplete: "off", enterkeyhint: "next", "aria-describedby": `${help ? help.id : ""} ${id}-hint ${id}-error`, value: drafts.get(task.id) ?? "",
      inputmode: task.low.startsWith("-") ? "text" : "decimal", // the decimal keypad has no minus key
      oninput: () => (input.value ? drafts.set(task.id, input.value) : drafts.delete(task.id)),
      onkeydown: (event) => event.key === "Enter" && !event.isComposing && goOn(event, place),
    });
    const error = h("p.error", { id: `${id}-error` });
    const element = h("div.field", h("label", { for: id }, nameOf(task)), help, h("div.reading", input, h("span", task.unit)),
      h("p.quiet", { id: `${id}-hint` }, say("form.hint", { ...rangeOf(task), grid: decimal(task.grid) })), error,
      opener(task, panels, (text) => {
        input.value = editable(text);
        input.dispatchEvent(new Event("input", { bubbles: true })); // as if it had been typed
      }));
    return { task, input, error, element, read: () => readInput(input.value, task) };
  }

  /** Enter moves to the next field, and from the last one to the button, without pressing it. */
  function goOn(event, place) {
    event.preventDefault();
    if (place === fields.length - 1) return sender.focus();
    steps?.goTo(place + 1);
    return fields[place + 1].input.focus();
  }

  /** The readings, if all are valid. */
  function checked() {
    const readings = new Map();
    const wrong = fields.filter(({ task, input, error, read }) => {
      const { reading, mistake = "" } = read();
      error.textContent = mistake;
      input.ariaInvalid = mistake ? "true" : null;
      if (reading !== undefined) readings.set(task.id, reading);
      return mistake;
    });
    const tooMany = readings.size > left ? problemText("too_many_readings") : "";
    summary.textContent = wrong.length ? say("form.errors", { count: wrong.length }) : readings.size ? tooMany : say("form.none");
    if (!summary.textContent) return readings;
    const first = wrong[0] ?? fields[0];
    steps?.goTo(fields.indexOf(first));
    first.input.focus();
    return null;
  }

  async function submit() {
    const readings = checked();
    if (!readings || document.querySelector("dialog")) return;
    // If results are not public, only the operator sees them, so there is nothing to compare with.
    const keeping = drafts.areKept && manifest.public_results !== false && h("input", { type: "checkbox", id: "keep" });
    const once = readingsComeAtOnce(manifest) && readings.size < tasks.length && h("p", say("form.once"));
    const isSure = await confirmed({
      title: hasQuestions ? say("form.sure.answers", { count: readings.size }) : say("form.sure.readings", { count: readings.size }),
      body: [h("p", say("form.finalWhy")), once, keeping && h("label.choice", keeping, h("span", say("form.keep")))], yes: sendWords, no: say("form.checkAgain"),
    });
    if (!isSure) return;
    sender.disabled = true;
    await send(readings, { isKept: Boolean(keeping) && keeping.checked });
    sender.disabled = false; // if sending failed, the readings are still here
  }

  return h("form.card", { onsubmit: (event) => event.preventDefault(), onfocusin: showOnPlan, autocomplete: "off" }, h("h2", hasQuestions ? say("form.answers") : say("form.title")),
    h("p.quiet", readingsComeAtOnce(manifest) ? say("form.once") : say("form.optional"), left < tasks.length && [" ", say("form.left", { count: left })], drafts.areKept && [" ", say("form.drafts")]),
    plan.element, steps?.place, fields.map(({ element }) => element), summary, h("p.actions", steps?.buttons, sending));
}

/** One field after the other, with its number and buttons to go on and back. On the last one, all are sent. */
function stepper(fields, sending, drafts) {
  const place = h("p.eyebrow", { role: "status" });
  let current = 0;
  const goTo = (number) => {
    current = number;
    drafts.place = number; // survives a redraw of the page
    fields.forEach(({ element }, other) => (element.hidden = other !== number));
    place.textContent = say("form.step", { place: number + 1, count: fields.length });
    [back.hidden, next.hidden, sending.hidden] = [!number, number === fields.length - 1, number < fields.length - 1];
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

export const rangeOf = ({ low, high, unit }) => ({ low: decimal(low), high: withUnit(decimal(high), unit) });
