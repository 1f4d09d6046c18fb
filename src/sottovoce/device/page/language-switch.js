// Which language the page speaks: the one chosen here, else the first of the browser's languages that there is. The
// server lists the languages in the page itself, so that the switch is there before anything is loaded.

import { keep, kept } from "./kept.js";
import { say, speak } from "./language.js";

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

async function use(tag) {
  const answer = await fetch(new URL(`texts/${tag}.json`, import.meta.url));
  speak(tag, await answer.json(), own());
  choice.value = tag;
  choice.ariaLabel = say("header.language");
  Object.assign(document.documentElement, { lang: tag, dir: say("language.direction") });
}

export const languageChanges = new EventTarget();

choice.addEventListener("change", async () => {
  keep("language", choice.value);
  await use(choice.value);
  languageChanges.dispatchEvent(new Event("change"));
});

export const spoken = use(offered.find((tag) => tag === kept("language")) ?? preferred());

// What was loaded before the service worker took over is not in its cache yet.
navigator.serviceWorker?.addEventListener("controllerchange", () => spoken.then(() => use(choice.value)));
