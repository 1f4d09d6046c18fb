// What was typed or measured but not sent yet, by task. It is kept in this browser, so that a reload loses nothing, and
// erased once it is sent.

import { forget, keep, kept } from "./kept.js";

export class Drafts {
  #entries;
  #key;
  place = 0; // of the current question, if they come one after the other

  /** `isKept`: whether drafts survive a reload, which they must not on a shared device. `who`: whose drafts they are. */
  constructor({ manifest_sha256: hash }, isKept = true, who = "own") {
    this.#key = isKept && (who === "own" ? `draft-${hash}` : `draft-${who}-${hash}`);
    this.#entries = new Map(this.#key ? stored(this.#key) : []);
  }

  get areKept() {
    return Boolean(this.#key);
  }

  get(task) {
    return this.#entries.get(task);
  }

  has(task) {
    return this.#entries.has(task);
  }

  set(task, entry) {
    this.#entries.set(task, entry);
    this.#write();
  }

  delete(task) {
    this.#entries.delete(task);
    this.#write();
  }

  /** Erase all other drafts: they were sent, perhaps by another tab. */
  keepOnly(tasks) {
    this.#entries = new Map([...this.#entries].filter(([task]) => tasks.includes(task)));
    this.#write();
  }

  #write() {
    if (!this.#key) return;
    if (this.#entries.size) keep(this.#key, JSON.stringify([...this.#entries]));
    else forget(this.#key);
  }
}

/** Only pairs of a task and what was typed: anything else was not written by this page. */
function stored(key) {
  try {
    const pairs = JSON.parse(kept(key) ?? "[]");
    return pairs.filter(([task, entry]) => typeof task === "string" && (typeof entry === "string" || Number.isInteger(entry)));
  } catch {
    return [];
  }
}
