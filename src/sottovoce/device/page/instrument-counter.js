// Counting people, vehicles or anything else: one tap each.

import { button, h } from "./dom.js";
import { display, holder } from "./instruments.js";
import { number, say } from "./language.js";

export function panel(task, take) {
  let count = 0;
  const total = display("counter");
  total.ariaLive = "polite";
  const set = (next) => {
    count = Math.max(0, next);
    total.textContent = number(count);
    take(String(count));
  };
  return holder(() => {
    total.textContent = number(count);
    return [total, button("+1", () => set(count + 1), ".large"),
      h("p.actions", button(say("instrument.undo"), () => set(count - 1), ".plain"), button(say("instrument.reset"), () => set(0), ".plain"))];
  });
}
