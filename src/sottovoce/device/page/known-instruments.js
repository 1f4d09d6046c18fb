// The instruments that this page has, by name. Each is a module of its own, instrument-NAME.js. This table lists the other
// files that it loads, and whether a task can state how long to measure, in seconds, as in sound-level:60.

export const INSTRUMENTS = new Map([
  ["steps", { files: ["instrument-step-counter.js"] }],
  ["sound-level", { isTimed: true, files: ["instrument-sound-worklet.js", "instrument-a-weighting.js"] }],
  ["stopwatch", {}],
  ["counter", {}],
]);
const LONGEST = 3600; // seconds

/** Whether a text names an instrument, with a time only where one can be stated. */
export function isInstrument(text) {
  const [, name, seconds] = /^([a-z-]+)(?::([1-9]\d{0,3}))?$/.exec(typeof text === "string" ? text : "") ?? [];
  if (seconds === undefined) return name === "typed" || INSTRUMENTS.has(name);
  return INSTRUMENTS.get(name)?.isTimed === true && seconds <= LONGEST;
}
