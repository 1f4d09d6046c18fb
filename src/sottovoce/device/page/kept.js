// Small things that this browser keeps for the page and that never leave it: the language, what instruments need,
// and what was typed and not sent yet.

import { isKiosk } from "./kiosk.js";

const name = (key) => `sottovoce-${key}`;

export function kept(key) {
  if (isKiosk) return null;
  try {
    return localStorage.getItem(name(key));
  } catch {
    return null; // this browser keeps nothing for the page
  }
}

export function keep(key, text) {
  if (isKiosk) return; // nothing stays for the next person
  try {
    localStorage.setItem(name(key), text);
  } catch {
    // asked again next time
  }
}

export function forget(key) {
  try {
    localStorage.removeItem(name(key));
  } catch {
    // it was never kept
  }
}
