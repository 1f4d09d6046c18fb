// A length, measured by walking: steps counted by the motion sensor, times the length of a stride. The stride is calibrated
// once over a known distance and kept in this browser.

import { button, h } from "./dom.js";
import { exactNumber } from "./exact.js";
import { display, holder, message, shown, stayAwake, watch } from "./instruments.js";
import { keep, kept } from "./kept.js";
import { number, say, typedNumber, withUnit } from "./language.js";
import { StepCounter } from "./instrument-step-counter.js";

const METRES = { m: 1, cm: 0.01, km: 1000, ft: 0.3048 };
const NO_SENSOR_AFTER = 3000; // milliseconds without a reading

/** Whether motion may be measured; iPhones ask the participant. */
async function isAllowed() {
  return !DeviceMotionEvent.requestPermission || (await DeviceMotionEvent.requestPermission().catch(() => "denied")) === "granted";
}

export function panel(task, take) {
  const unit = Object.hasOwn(METRES, task.unit) ? task.unit : "m";
  let [counter, end, corrected] = [null, null, 0];
  const count = display("steps");
  const news = message();
  const stride = () => Number(kept("stride")) || 0;
  const steps = () => Math.max(0, (counter?.steps ?? 0) + corrected);
  const show = () => (count.textContent = say("steps.count", { count: steps() }));
  const toggle = button("", () => (end ? end() : begin()), ".large");
  const name = () => (toggle.textContent = say(end ? "instrument.stop" : "instrument.start"));

  async function begin() {
    if (typeof DeviceMotionEvent === "undefined") return news.say("instrument.missing");
    news.say(null);
    toggle.disabled = true; // a second tap would count every step twice
    const isOpen = await isAllowed();
    toggle.disabled = false;
    if (!isOpen) return news.say("instrument.denied");
    [counter, corrected] = [new StepCounter(), 0];
    let isHeard = false;
    const listen = ({ timeStamp, accelerationIncludingGravity: felt }) => {
      if (felt?.x == null) return;
      isHeard = true;
      counter.add(timeStamp / 1000, felt.x, felt.y, felt.z);
      show();
    };
    addEventListener("devicemotion", listen);
    const sleep = stayAwake();
    const missing = setTimeout(() => isHeard || end?.("instrument.missing"), NO_SENSOR_AFTER);
    const unwatch = watch(count, () => end?.("instrument.interrupted"));
    end = (why) => {
      removeEventListener("devicemotion", listen);
      [clearTimeout(missing), unwatch(), sleep()];
      end = null;
      name();
      finish(why);
    };
    show();
    name();
  }

  function finish(why) {
    if (why) news.say(why);
    else if (!stride()) news.say("steps.calibrateFirst");
    else {
      const [count, length] = [steps(), steps() * stride()];
      news.say("steps.result", () => ({ count, stride: withUnit(shown(stride(), 2), "m"), length: withUnit(shown(length, 2), "m") }));
      take((length / METRES[unit]).toFixed(3));
    }
    show();
  }

  const known = h("input", { id: `known-${task.id}`, inputmode: "decimal", autocomplete: "off" });
  function calibrate() {
    const metres = Number(typedNumber(known.value).reading);
    if (!exactNumber(typedNumber(known.value).reading ?? "") || !(metres > 0) || !steps()) return news.say("steps.cannotCalibrate");
    keep("stride", String(metres / steps()));
    return finish();
  }
  const correct = (by) => {
    corrected += by;
    if (end) show();
    else finish();
  };

  return holder(() => {
    show();
    name();
    news.say();
    return [h("p.quiet", say("steps.why")), count, toggle, news.element,
      h("p.actions", button("−1", () => correct(-1), ".plain"), button("+1", () => correct(1), ".plain")),
      h("details", { open: !stride() && "" }, h("summary", say("steps.stride", { length: stride() ? withUnit(number(stride()), "m") : "–" })),
        h("p.quiet", say("steps.calibration")),
        h("div.field", h("label", { for: known.id }, say("steps.known")), h("div.reading", known, h("span", "m"))),
        button(say("steps.calibrate"), calibrate, ".plain"))];
  });
}
