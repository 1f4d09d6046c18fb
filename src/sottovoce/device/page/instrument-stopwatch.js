// How long something takes, in the unit of the task.

import { button, h } from "./dom.js";
import { display, holder, shown } from "./instruments.js";
import { say, withUnit } from "./language.js";

const SECONDS = { ms: 0.001, s: 1, min: 60, h: 3600 };

export function panel(task, take) {
  let [start, before, timer] = [null, 0, null];
  const unit = Object.hasOwn(SECONDS, task.unit) ? task.unit : "s";
  const time = display("stopwatch");
  const elapsed = () => before + (start === null ? 0 : performance.now() - start); // from a clock, not from ticks, so that it keeps running when the page is hidden
  const show = () => (time.textContent = withUnit(shown(elapsed() / 1000, start === null ? 2 : 1), "s"));
  const begin = () => {
    start = performance.now();
    timer = setInterval(() => (time.isConnected ? show() : end()), 100);
    name();
  };
  function end() {
    clearInterval(timer);
    [before, start] = [elapsed(), null];
    show();
    name();
    take((before / 1000 / SECONDS[unit]).toFixed(3));
  }
  function reset() {
    clearInterval(timer);
    [before, start] = [0, null];
    show();
    name();
  }
  const toggle = button("", () => (start === null ? begin() : end()), ".large");
  const name = () => (toggle.textContent = say(start === null ? "instrument.start" : "instrument.stop"));
  return holder(() => {
    show();
    name();
    return [time, toggle, h("p.actions", button(say("instrument.reset"), reset, ".plain"))];
  });
}
