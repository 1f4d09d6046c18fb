// What the page's own modules say, for tests in Python: questions as JSON on the standard input, answers on the output.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const { folder, questions } = JSON.parse(readFileSync(0, "utf8"));
const load = (name) => import(`${folder}/${name}.js`);
const sampler = await load("sampler");
const { isLaw, lawOf } = await load("laws");
const { answerWords } = await load("answer");
const { compare, drawnOrder, noisyReadings, reportedCells, steps } = await load("noisy");
const { alternativesOf, areCuts } = await load("comparing");
const { comparisonWords, levelText, ownLevelText, questionText } = await load("comparison");
const exact = await load("exact");
const { canonicalText, movedReadings, parseManifest } = await load("manifest");
const { judge, promiseOf, PRESETS, sentence, USUAL_LIMITS } = await load("promise");
const language = await load("language");
const { aWeighting, powerAt } = await load("instrument-a-weighting");
const { StepCounter } = await load("instrument-step-counter");
const { guessWords } = await load("guess");
const { spread } = await load("picture");
const sanity = await load("sanity");
const { mills } = await load("profile");
const { fieldsOf, spokenTask } = await load("task-fields");

/** SHA-256(seed ‖ counter), one digest after the other. */
function seeded(seed) {
  let [counter, kept] = [0, Buffer.alloc(0)];
  return new sampler.ByteStream((count) => {
    while (kept.length < count) {
      const place = Buffer.alloc(4);
      place.writeUInt32BE(counter++);
      kept = Buffer.concat([kept, createHash("sha256").update(seed).update(place).digest()]);
    }
    const taken = kept.subarray(0, count);
    kept = kept.subarray(count);
    return taken;
  });
}

const speak = (tag = "en") => language.speak(tag, JSON.parse(readFileSync(`${folder}/texts/${tag}.json`, "utf8")));
speak();

const PRIMITIVES = {
  uniform: sampler.uniform,
  bernoulli_exp: sampler.bernoulliExp,
  geometric: sampler.geometric,
  discrete_laplace: sampler.discreteLaplace,
  discrete_gaussian: sampler.discreteGaussian,
  subset: sampler.subset,
  response_shifts: sampler.responseShifts,
  urn: sampler.urn,
};

const manifestOf = (base64) => parseManifest(Buffer.from(base64, "base64"));

/** What the page sends for these readings, all of one kind of task. */
function sent(noise, kind, readings, stream) {
  const ids = readings.map((_, place) => `task ${String(place).padStart(4, "0")}`);
  const tasks = ids.map((id) => ({ id, ...kind }));
  const noisy = noisyReadings(noise, tasks, new Map(ids.map((id, place) => [id, readings[place]])), stream);
  return noisy.map(({ value }) => value);
}

/** The code of the problem that an answer ends with, or the answer. */
function outcomeOf(answer) {
  try {
    return answer();
  } catch (problem) {
    if (!problem.code) throw problem;
    return problem.code;
  }
}

const ANSWERS = {
  primitive({ seed, primitive, parameters, outputs }) {
    const stream = seeded(seed);
    const drawn = outputs.map(() => PRIMITIVES[primitive](stream, ...parameters.map(BigInt)));
    const spelled = (one) => (Array.isArray(one) ? one.map(spelled) : typeof one === "boolean" ? one : String(one));
    return { outputs: drawn.map(spelled), bytes_used: stream.used };
  },
  sampler({ seed, law, grid, low, high, readings }) {
    const stream = seeded(seed);
    const [step, from, to] = [grid, low, high].map((text) => text && exact.exactNumber(text));
    const rounded = readings.map((reading) => String(steps(reading, step, from, to)));
    if (!readings.length) lawOf(law).onGrid(step).draw(0, stream); // the page never sends nothing
    const outputs = sent(law, { grid, low, high }, readings, stream).map(String);
    return { steps: rounded, outputs, bytes_used: stream.used };
  },
  answers({ seed, law, answers }) {
    const stream = seeded(seed);
    return { outputs: reportedCells(law, answers, stream), bytes_used: stream.used };
  },
  comparisons({ seed, law, readings }) {
    const stream = seeded(seed);
    return { outputs: compare(law, readings.map(([steps, cuts]) => [BigInt(steps), cuts]), stream), bytes_used: stream.used };
  },
  are_cuts: ([cuts, levels]) => areCuts(cuts, levels),
  alternatives: ({ manifest, content }) => outcomeOf(() => [...alternativesOf(manifestOf(manifest), Object(JSON.parse(content)))]),
  comparison_words({ tag, law, levels }) {
    speak(tag);
    return comparisonWords(lawOf(law), levels);
  },
  compared: ({ cuts, reading, ...task }) => [questionText(cuts, task), ownLevelText(reading, cuts, task), ...[...cuts, 0].map((_, level) => levelText(level, cuts, task))],
  answer_law({ law: text, cells, readings, moved, delta }) {
    const law = lawOf(text);
    const figures = [law.pureEpsilon(moved, readings), law.leastEpsilon(cells, readings, moved, delta), law.chanceOfTruth(cells)];
    return [...Object.values(law.channel(cells)), ...figures].map(String);
  },
  answer_words({ law, cells, tag }) {
    speak(tag);
    return answerWords(lawOf(law), cells);
  },
  is_law: (text) => isLaw(text),
  order: ({ count, seed }) => drawnOrder(count, seeded(seed)),
  noisy({ manifest, readings, seed, cuts = {} }) {
    const { noise, tasks } = manifestOf(manifest);
    const noisy = noisyReadings(noise, tasks, new Map(Object.entries(readings)), seeded(seed), new Map(Object.entries(cuts)));
    return noisy.map(({ value, ...others }) => ({ ...others, value: Array.isArray(value) ? value : Number(value) }));
  },
  draws({ noise, grid, low, high, readings, samples }) {
    const stream = new sampler.ByteStream();
    return Array.from({ length: samples }, (_, release) =>
      sent(noise, { grid, low, high }, readings[release % readings.length], stream).map(Number));
  },
  task_fields: (kind) => fieldsOf(kind),
  spoken: (task) => spokenTask(task, (text) => text.de ?? text),
  parsed: (base64) => outcomeOf(() => canonicalText(manifestOf(base64))),
  promise: ({ manifest, delta, enough }) => outcomeOf(() => String(promiseOf(manifestOf(manifest), delta, enough).epsilon)),
  timed_promise(asked) {
    const start = performance.now();
    return [ANSWERS.promise(asked), performance.now() - start];
  },
  judgement: ({ manifest, limits }) => outcomeOf(() => judge(manifestOf(manifest), { ...USUAL_LIMITS, ...limits })),
  limits: () => USUAL_LIMITS,
  shown: ([steps, grid]) => exact.stepsAsText(steps, grid),
  rounded([n, d]) {
    const number = exact.ratio(BigInt(n), BigInt(d));
    return [exact.roundedDown(number), exact.roundedUp(number)].map(String);
  },
  mills: (x) => mills(x),
  checked({ manifest, ...promise }) {
    const asked = manifestOf(manifest);
    return outcomeOf(() => sanity.checkPromise(asked, promise)) ?? "possible";
  },
  lower({ manifest, grid, delta }) {
    const asked = manifestOf(manifest);
    const law = lawOf(asked.noise);
    return [law.leastEpsilon(Number(asked.distance), movedReadings(asked), grid, delta), law.chanceOfNoNoise(grid)].map(String);
  },
  sentence({ manifest, epsilon, delta, tag }) {
    speak(tag);
    const words = sentence(manifestOf(manifest), { epsilon: Number(epsilon), delta });
    const both = { sentence: words, seen: language.say("promise.seen") };
    return epsilon === "Infinity" ? words : language.say("promise.whole", both);
  },
  guess({ manifest, epsilon, delta, tag }) {
    speak(tag);
    return guessWords(manifestOf(manifest), { epsilon: Number(epsilon), delta });
  },
  reach: (noise) => spread(noise).reach,
  presets: () => PRESETS,
  words: (noise) => language.say(`law.${lawOf(noise).constructor.name}`),
  typed({ tag, typed }) {
    speak(tag);
    return language.typedNumber(typed);
  },
  written({ tag, name, values }) {
    speak(tag);
    return values.map((value) => language[name](value));
  },
  weighting({ hertz, rate }) {
    return 10 * Math.log10(powerAt(hertz, aWeighting(rate), rate));
  },
  steps(moments) {
    const counter = new StepCounter();
    for (const moment of moments) counter.add(...moment);
    return counter.steps;
  },
  plural: ({ tag, count }) => new Intl.PluralRules(tag).select(count),
  number: (text) => exact.exactNumber(text) && Object.values(exact.exactNumber(text)).map(String),
};

process.stdout.write(JSON.stringify(questions.map(([name, asked]) => ANSWERS[name](asked))));
