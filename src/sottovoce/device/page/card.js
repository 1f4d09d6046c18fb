// What leaves the device and what that reveals: in words, in a picture and in figures.

import { answersPicture } from "./answer.js";
import { comparisonPicture } from "./comparison.js";
import { h } from "./dom.js";
import { guessWords } from "./guess.js";
import { figure, say } from "./language.js";
import { lawOf } from "./laws.js";
import { isCompared, noiseOf, protectedDistance } from "./manifest.js";
import { noisePicture } from "./picture.js";
import { distanceText, sentence } from "./promise.js";
import { shown, table } from "./views.js";

/** What is sent, one sentence for each kind of task. */
function sentWords(manifest) {
  const ofAnswer = (task) => (lawOf(noiseOf(manifest, task)).cellsReported > 1 ? "set" : "answer");
  const kinds = new Set(manifest.tasks.map((task) => (task.choices ? ofAnswer(task) : isCompared(manifest, task) ? "compared" : "number")));
  return [...kinds].map((kind) => say(`card.sent.${kind}`)).join(" ");
}

export function privacyCard({ manifest, manifest_sha256: hash }, promise, limits) {
  const { epsilon, delta } = promise;
  const laws = new Set(manifest.tasks.map((task) => noiseOf(manifest, task)));
  const noise = [...laws].map((law) => h("div", say("card.noise", { law, words: say(`law.${lawOf(law).constructor.name}`) })));
  const spoken = shown(manifest);
  const numbers = spoken.tasks.filter((task) => protectedDistance(manifest, task));
  const limit = say("card.limits", { epsilon: figure(limits.epsilon), delta: figure(limits.delta) });
  const [distance, unit] = [distanceText(manifest) ?? say("card.anyValue"), say(`card.unit.${manifest.unit}`)];
  const rows = { epsilon: figure(epsilon), delta: figure(delta), distance, unit, noise, limit, hash };
  const part = (name, ...content) => [h("h3", say(`card.part.${name}`)), content];
  return h("section.card.promise", h("h2", say("card.title")),
    part("sent", h("p", sentWords(manifest))),
    part("off", numbers.length && noisePicture({ ...manifest, noise: noiseOf(manifest, numbers[0]), tasks: numbers }), comparisonPicture(manifest), answersPicture(manifest)),
    part("hidden", h("p", guessWords(manifest, promise))),
    part("seen", h("p", say("promise.seen"))),
    h("p.chip.delivered", say("card.ok")),
    h("details", h("summary", say("card.details")), h("p", sentence(manifest, promise)), table(Object.entries(rows).map(([name, row]) => [say(`card.row.${name}`), row]))));
}
