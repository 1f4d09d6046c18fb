// The participant's record: consents, releases, and what is still to be sent. One document in IndexedDB.
//
// Everything is stored before it leaves the device. A change starts from the current record, whichever tab wrote it last,
// and is atomic, so each task is released once.

import { keep, kept } from "./kept.js";
import { isKiosk } from "./kiosk.js";
import { Problem } from "./manifest.js";
import { USUAL_LIMITS } from "./promise.js";

// memberships by campaign; consents, never changed; releases: the ledger, and by their state the outbox
const EMPTY = { limits: USUAL_LIMITS, memberships: {}, consents: [], releases: [] };

const opened = new Promise((resolve, reject) => {
  const request = indexedDB.open("sottovoce", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("record");
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(new Problem("no_storage"));
});
opened.catch(() => {}); // reported to every caller

let memory = structuredClone(EMPTY); // of a device that people share

async function transact(mode, work, person) {
  if (isKiosk) return inMemory(work);
  const transaction = (await opened).transaction("record", mode, { durability: "strict" });
  const store = transaction.objectStore("record");
  return new Promise((resolve, reject) => {
    let result;
    store.get(person).onsuccess = ({ target }) => {
      try {
        result = work(target.result ?? structuredClone(EMPTY), store);
      } catch (problem) {
        reject(problem);
        transaction.abort();
      }
    };
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = () => reject(new Problem("no_storage"));
  });
}

function inMemory(work) {
  const record = structuredClone(memory);
  return work(record, { put: (changed) => (memory = changed) });
}

// Several people may use one browser. Each has a record; the first person's has had this name from the beginning.
const FIRST = "own";
let current = kept("person") ?? FIRST;

/** The person whose record is read and changed. */
export const person = () => current;
export function usePerson(name) {
  current = name;
  keep("person", name);
}
/** A name for somebody who has no record here yet. */
export const newPerson = () => `person-${crypto.randomUUID()}`;

/** Everybody who has a record here. */
export async function people() {
  if (isKiosk) return [FIRST];
  const store = (await opened).transaction("record").objectStore("record");
  return new Promise((resolve, reject) => {
    const request = store.getAllKeys();
    request.onsuccess = () => resolve(request.result.length ? request.result : [FIRST]);
    request.onerror = () => reject(new Problem("no_storage"));
  });
}

export const read = (name = current) => transact("readonly", (record) => record, name);

/** Change the record; returns what `work` does, once it is on the disk. If it throws, nothing has changed. */
export const change = (work, name = current) =>
  transact(
    "readwrite",
    (record, store) => {
      const result = work(record);
      store.put(record, name);
      return result;
    },
    name,
  );

/** What all campaigns together may have learnt. Each counts once, for everything it may ask; ε and δ add up. */
export function spentBy({ releases }) {
  const campaigns = [...new Map(releases.map((release) => [release.campaign, release])).values()];
  const total = (figure) => campaigns.reduce((sum, release) => sum + release[figure], 0);
  return { epsilon: total("epsilon"), delta: total("delta") };
}
