// Answers to questions with choices: large buttons to choose with, and what happens to an answer, in words and dots.

import { h } from "./dom.js";
import { number, say } from "./language.js";
import { lawOf } from "./laws.js";
import { noiseOf } from "./manifest.js";

const [FEWEST_CASES, MOST_CASES, LITTLE, MUCH] = [10, 1e6, 25, 1e6];
const [ROWS, COLUMNS, STEP] = [5, 20, 16];

/** A question as a group of choices, below its `help`. The browser's own radio buttons work with keyboards and screen readers. */
export function choiceField(task, id, help, drafts) {
  const error = h("p.error", { id: `${id}-error` });
  const chosen = () => task.choices.map((_, place) => place).find((place) => place === drafts.get(task.id)); // what is stored may not be one of the choices
  const inputs = task.choices.map((_, place) =>
    h("input", {
      type: "radio", name: id, value: place, id: place ? `${id}-${place}` : id, checked: chosen() === place && "",
      onchange() {
        drafts.set(task.id, place);
        clear.hidden = false;
      },
    }));
  const clear = h("button.plain", {
    type: "button", hidden: chosen() === undefined && "",
    onclick() {
      drafts.delete(task.id);
      for (const input of inputs) input.checked = false;
      clear.hidden = true;
      inputs[0].focus();
    },
  }, say("form.clear"));
  const options = inputs.map((input, place) => h("label.choice", input, h("span", task.choices[place])));
  const element = h("fieldset.field", { "aria-describedby": `${help ? help.id : ""} ${id}-error` }, h("legend", task.title || task.id),
    help, h("div.choices", options), clear, error);
  return { task, input: inputs[0], error, element, read: () => ({ reading: chosen() }) };
}

/** The choice of a participant, or what is sent for it. */
export const choiceText = (value, { choices }) => [value].flat().map((place) => choices[place]).join(", ");

/** What happens to an answer out of this many, as in the installed client: how often another one is sent, and what that hides. */
export const answerWords = (law, cells) => say(`answer.${law.cellsReported > 1 ? "set" : cells === 2 ? "two" : "many"}`, answerGaps(law, cells));

export function answerGaps(law, cells) {
  const { hit, miss } = law.channel(cells);
  const size = law.cellsReported;
  const away = size > 1 ? 1 - hit : (cells - 1) * miss;
  const odds = (hit * (cells - size)) / (away * size);
  const so = say(`answer.so.${size > 1 ? "set" : "one"}.${odds <= LITTLE ? "hidden" : odds <= MUCH ? "likely" : "open"}`);
  return { share: shareText(away), size, cells, so };
}

function shareText(chance) {
  let base = 100;
  while (base * chance < FEWEST_CASES && base < MOST_CASES) base *= 10;
  const times = Math.round(base * chance);
  return say(`answer.share.${times ? "about" : "below"}`, { times: times || 1, base });
}

/** For each number of choices in a campaign: the words, and a hundred dots, some of which stand for another answer. */
export function answersPicture(manifest) {
  const questions = manifest.tasks.filter(({ kind }) => kind === "choice");
  const counts = [...new Set(questions.map(({ choices }) => choices.length))].sort((one, other) => one - other);
  return counts.flatMap((cells) => {
    const law = lawOf(noiseOf(manifest, questions[0]));
    const words = answerWords(law, cells);
    return [h("p", counts.length > 1 ? say("answer.of", { cells, words }) : words), counts.length > 3 ? [] : dots(law.channel(cells).hit)].flat();
  });
}

export function dots(hit) {
  const kept = Math.round(100 * hit);
  const dot = (_, place) => h(`circle${place < kept ? "" : ".other"}`, { cx: STEP * ((place % COLUMNS) + 0.5), cy: STEP * (Math.floor(place / COLUMNS) + 0.5), r: 5 });
  return h("svg.dots", { viewBox: `0 0 ${STEP * COLUMNS} ${STEP * ROWS}`, role: "img", "aria-label": say("answer.dots", { kept: number(kept), other: number(100 - kept) }) },
    Array.from({ length: 100 }, dot));
}
