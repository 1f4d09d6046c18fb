// The page's language: the one chosen here, or else the first of the browser's languages that is available. The server
// lists the languages in the page itself, so that the switch is there before anything is loaded.

import { keep, kept } from "./kept.js";
import { say, speak, spokenTag } from "./language.js";

const PAUSES = [500, 2000]; // milliseconds
export const choice = document.querySelector("#language");

const offered = Array.from(choice.options, ({ value }) => value);
const own = () => navigator.languages ?? [navigator.language];

/** The best of the offered languages: the same script first (zh-CN is zh-Hans, zh-TW is not), then the same language. */
function preferred() {
  const parts = (tag) => {
    const { language, script } = new Intl.Locale(tag).maximize();
    return [`${language}-${script}`, language];
  };
  for (const [which] of ["script", "language"].entries())
    for (const one of own()) {
      const found = offered.find((tag) => parts(tag)[which] === parts(one)[which]);
      if (found) return found;
    }
  return "en";
}

/** The texts of a language. Networks can fail briefly, so the request is repeated, after longer and longer pauses. */
async function textsIn(tag, pauses = PAUSES) {
  const answer = await fetch(new URL(`texts/${tag}.json`, import.meta.url)).catch(() => null);
  const texts = answer?.ok && (await answer.json().catch(() => null));
  if (texts) return texts;
  if (!pauses.length) throw new TypeError(tag);
  await new Promise((done) => setTimeout(done, pauses[0]));
  return textsIn(tag, pauses.slice(1));
}

async function use(tag) {
  speak(tag, await textsIn(tag), own());
  choice.value = tag;
  choice.ariaLabel = say("header.language");
  Object.assign(document.documentElement, { lang: tag, dir: say("language.direction") });
}

export const languageChanges = new EventTarget();

choice.addEventListener("change", async () => {
  const tag = choice.value;
  try {
    await use(tag);
  } catch {
    choice.value = spokenTag(); // the page stays in its current language
    return languageChanges.dispatchEvent(new Event("failure"));
  }
  keep("language", tag);
  return languageChanges.dispatchEvent(new Event("change"));
});

/** The chosen language, or else the browser's; if it cannot be loaded, English, which may have been stored for later. */
const first = offered.find((tag) => tag === kept("language")) ?? preferred();
export const spoken = use(first).catch(() => use("en"));
spoken.catch(() => (document.querySelector("#broken").hidden = false));

// What was loaded before the service worker took over is not in its cache yet.
navigator.serviceWorker?.addEventListener("controllerchange", () => spoken.then(() => use(choice.value)).catch(() => {}));
