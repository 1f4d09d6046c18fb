// The A-weighted sound level over the time that the task states, from the microphone. The offset from the microphone's scale to decibels is
// calibrated beside a sound level meter and kept in this browser.

import { button, h } from "./dom.js";
import { exactNumber } from "./exact.js";
import { display, holder, message, shown, stayAwake, watch } from "./instruments.js";
import { keep, kept } from "./kept.js";
import { duration, say, typedNumber, withUnit } from "./language.js";

const USUAL_SECONDS = 10;
const USUAL_OFFSET = 100; // of phones, give or take ten

const asTheyAre = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

export function panel(task, take) {
  let [end, level] = [null, null]; // the level on the microphone's own scale
  const shownLevel = display("sound-level");
  const news = message();
  const seconds = Number(task.instrument?.split(":")[1] ?? USUAL_SECONDS);
  const progress = h("progress", { max: seconds, value: 0 });
  const offset = () => (kept("sound-offset") === null ? USUAL_OFFSET : Number(kept("sound-offset")));
  const show = () => (shownLevel.textContent = level === null ? "–" : withUnit(shown(level + offset(), 1), "dB(A)"));
  const toggle = button("", () => (end ? end() : begin()), ".large");
  const name = () => (toggle.textContent = say(end ? "instrument.stop" : "instrument.start"));

  async function begin() {
    news.say(null);
    toggle.disabled = true; // a second tap would start another recording
    const sound = await navigator.mediaDevices?.getUserMedia({ audio: asTheyAre }).catch(({ name }) => name);
    toggle.disabled = false;
    if (!sound?.getTracks) return news.say(sound === "NotAllowedError" ? "instrument.denied" : "instrument.missing");
    const context = new AudioContext();
    let [sum, count] = [0, 0];
    const sleep = stayAwake();
    const interrupt = () => end?.("instrument.interrupted");
    const unwatch = watch(shownLevel, interrupt);
    for (const track of sound.getTracks()) track.onended = interrupt; // a call came in, or the permission was revoked
    end = (why = "instrument.stopped") => {
      end = null;
      [...sound.getTracks().map((track) => track.stop()), context.close(), unwatch(), sleep()];
      name();
      news.say(why);
      progress.value = 0;
    };
    name();
    news.say("sound.measuring");
    const worklet = new URL("instrument-sound-worklet.js", import.meta.url);
    if (!(await context.audioWorklet.addModule(worklet).then(() => true, () => false))) return end?.("instrument.notLoaded");
    if (!end) return null; // stopped in the meantime
    const loudness = new AudioWorkletNode(context, "loudness", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
    loudness.port.onmessage = ({ data: [more, samples] }) => {
      if (!end) return;
      [sum, count] = [sum + more, count + samples];
      level = 10 * Math.log10(sum / count || 1e-12);
      progress.value = count / context.sampleRate;
      show();
      if (count < seconds * context.sampleRate) return;
      end("sound.done");
      finish();
    };
    return context.createMediaStreamSource(sound).connect(loudness);
  }

  function finish() {
    show();
    take((level + offset()).toFixed(1));
  }

  const known = h("input", { id: `known-${task.id}`, inputmode: "decimal", autocomplete: "off" });
  const accuracy = h("p.quiet");
  const describe = () => (accuracy.textContent = say(kept("sound-offset") === null ? "sound.uncalibrated" : "sound.calibrated"));
  function calibrate() {
    const { reading = "" } = typedNumber(known.value);
    if (level === null || !exactNumber(reading)) return news.say("sound.cannotCalibrate");
    keep("sound-offset", String(Number(reading) - level));
    describe();
    return finish();
  }

  return holder(() => {
    show();
    name();
    describe();
    news.say();
    return [h("p.quiet", say("sound.why", { time: duration(seconds) })), shownLevel, progress, toggle, news.element, accuracy,
      h("details", h("summary", say("sound.calibration")), h("p.quiet", say("sound.howToCalibrate")),
        h("div.field", h("label", { for: known.id }, say("sound.known")), h("div.reading", known, h("span", "dB(A)"))),
        button(say("sound.calibrate"), calibrate, ".plain"))];
  });
}
