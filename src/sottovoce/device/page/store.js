// The participant's record: consents, releases, and what is still to be sent. One document in IndexedDB.
//
// Everything is stored before it leaves the device. A change sees the current record, whichever tab wrote it last, and is
// atomic: so each task is released once.

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

async function transact(mode, work) {
  const transaction = (await opened).transaction("record", mode, { durability: "strict" });
  const store = transaction.objectStore("record");
  return new Promise((resolve, reject) => {
    let result;
    store.get("own").onsuccess = ({ target }) => {
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

export const read = () => transact("readonly", (record) => record);

/** Change the record; returns what `work` does, once it is on the disk. If it throws, nothing has changed. */
export const change = (work) =>
  transact("readwrite", (record, store) => {
    const result = work(record);
    store.put(record, "own");
    return result;
  });

/** What all campaigns together may have learnt: each counts once, for everything it may ask. ε and δ add up. */
export function spentBy({ releases }) {
  const campaigns = [...new Map(releases.map((release) => [release.campaign, release])).values()];
  const total = (figure) => campaigns.reduce((sum, release) => sum + release[figure], 0);
  return { epsilon: total("epsilon"), delta: total("delta") };
}
