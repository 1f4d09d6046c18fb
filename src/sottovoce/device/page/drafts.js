// What was typed or measured and not sent yet, by task. It is kept in this browser, so that a reload costs nothing, until
// it is sent; then it is erased.

import { forget, keep, kept } from "./kept.js";

export class Drafts {
  #entries;
  #key;
  place = 0; // where questions come one after the other

  /** `isKept`: whether they survive a reload; on a device that several people share they must not. `who`: whose they are. */
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

  /** Forget all others: they were sent, perhaps by another tab. */
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

/** Only pairs of a task and what was typed: whatever else is there was not written by this page. */
function stored(key) {
  try {
    const pairs = JSON.parse(kept(key) ?? "[]");
    return pairs.filter(([task, entry]) => typeof task === "string" && (typeof entry === "string" || Number.isInteger(entry)));
  } catch {
    return [];
  }
}
