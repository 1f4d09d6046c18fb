// Instruments that measure in the page. Each is a module of its own. It is loaded, and requests its sensor, only when
// somebody wants to measure a task that names it. It has one function:
//
// panel(task, take)   an element to measure with; take(text) hands over a reading, as decimal text
//
// Sensor data stay in the module's memory. Only the reading leaves it, and is treated as if it had been typed. Calibrations
// are kept in this browser. Typing remains possible, with or without a sensor.

import { button, h } from "./dom.js";
import { INSTRUMENTS } from "./known-instruments.js";
import { decimal, say, spokenTag } from "./language.js";

/** Store files for later, when there may be no network. */
export function keepForLater(files) {
  const workers = navigator.serviceWorker;
  const load = () => files.map((file) => fetch(new URL(file, import.meta.url)).catch(() => null));
  if (workers?.controller) load();
  else workers?.addEventListener("controllerchange", load, { once: true });
}

/** A button that opens the instrument of a task, if it has one. */
export function opener(task, panels, take) {
  const { id } = task;
  const [instrument] = task.instrument?.split(":") ?? [];
  if (!INSTRUMENTS.has(instrument)) return null;
  const module = `instrument-${instrument}.js`;
  const inUse = panels.get(id);
  if (inUse) return renamed(Object.assign(inUse, { take }).place);
  keepForLater([module, ...(INSTRUMENTS.get(instrument).files ?? [])]);
  const place = h("div.instrument");
  const open = button(say(`instrument.open.${instrument}`), async () => {
    open.disabled = true;
    const { panel } = await import(`./${module}`).catch(() => ({}));
    open.disabled = false;
    if (!panel) return place.append(h("p.error", { role: "alert" }, say("instrument.notLoaded")));
    const started = { place, take }; // a later form may replace these
    panels.set(id, started);
    place.lang = spokenTag();
    return place.replaceChildren(panel(task, (text) => started.take(text)));
  }, ".plain");
  place.append(open);
  return place;
}

/** An open instrument, in the page's current language; what it has measured stays. */
function renamed(place) {
  if (place.lang !== spokenTag()) place.firstElementChild.dispatchEvent(new Event("language"));
  place.lang = spokenTag();
  return place;
}

/** The element of an instrument. `parts` returns its contents, now and whenever the language changes. */
export function holder(parts) {
  const element = h("div");
  const fill = () => element.replaceChildren(...parts().flat().filter(Boolean));
  element.addEventListener("language", fill);
  fill();
  return element;
}

/** An instrument's message: say(key, gaps) changes it, say() repeats it in the current language. */
export function message() {
  const element = h("p", { role: "status" });
  let [said, gapsOf] = [null, () => ({})];
  return {
    element,
    say(key = said, gaps = gapsOf) {
      [said, gapsOf] = [key, gaps];
      element.textContent = key ? say(key, gaps()) : "";
    },
  };
}

/** The large display of an instrument. */
export const display = (id) => h("output.display", { "aria-live": "off", "data-instrument": id });

/** Stop measuring when the page is hidden or left, the phone sleeps, or the instrument is no longer on the page.
 * Returns a function that ends this. */
export function watch(element, stop) {
  const over = new AbortController();
  const look = () => (document.hidden || !element.isConnected) && stop();
  const timer = setInterval(look, 500);
  document.addEventListener("visibilitychange", look, over);
  document.addEventListener("freeze", stop, over); // not every browser hides a page before it freezes it
  addEventListener("pagehide", stop, over);
  return () => {
    clearInterval(timer);
    over.abort();
  };
}

/** Keep the screen on while measuring, where the browser can. Returns a function that lets it sleep again. */
export function stayAwake() {
  const asked = navigator.wakeLock?.request("screen").catch(() => null); // measuring does not wait for it
  return () => asked?.then((lock) => lock?.release());
}

export const shown = (number, places) => decimal(number.toFixed(places));
