// Small items that this browser keeps for the page and that never leave it: the language, calibrations of instruments, and
// what was typed but not sent yet. On a device that people share, they are gone when the page is loaded again.

import { isKiosk } from "./kiosk.js";

const name = (key) => `sottovoce-${key}`;
const memory = new Map(); // of a device that people share: nothing stays for the next person

export function kept(key) {
  if (isKiosk) return memory.get(key) ?? null;
  try {
    return localStorage.getItem(name(key));
  } catch {
    return null; // this browser keeps nothing for the page
  }
}

export function keep(key, text) {
  if (isKiosk) return void memory.set(key, text);
  try {
    localStorage.setItem(name(key), text);
  } catch {
    // not kept, so it has to be entered again next time
  }
}

export function forget(key) {
  memory.delete(key);
  try {
    localStorage.removeItem(name(key));
  } catch {
    // it was never kept
  }
}
