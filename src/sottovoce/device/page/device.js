// The device in the browser: joining, releasing, sending, withdrawing, as in the installed client.

import * as client from "./client.js";
import { alternativesOf, isFull } from "./comparing.js";
import { exactNumber } from "./exact.js";
import { withoutMark } from "./kiosk.js";
import { canonicalBytes, comparesWithSets, deviceDraws, isCompared, mostReadings, parseManifest, Problem, readingsComeAtOnce } from "./manifest.js";
import { drawnOrder } from "./noisy.js";
import { checkLimits, checkTotal, judge } from "./promise.js";
import { checkPromise } from "./sanity.js";
import { change, people, person, read, spentBy } from "./store.js";

const SENT_AFTER = 1000; // milliseconds after the draw begins, so that the time it takes is not visible
const [FIRST_PAUSE, LONGEST_PAUSE] = [2000, 60_000];

const FROM_CODE = "#code"; // in place of a hash

const now = () => new Date().toISOString();

/** Notifies this tab that the record has changed, here or in another tab. */
export const changes = new EventTarget();
const otherTabs = new BroadcastChannel("sottovoce");
otherTabs.onmessage = () => changes.dispatchEvent(new Event("change"));
function changed() {
  otherTabs.onmessage();
  otherTabs.postMessage("");
}

/** Token and hash of an invitation link; empty if the address is not one. */
export function readLink({ pathname, hash: fragment }) {
  const token = pathname.split("/").at(-1);
  const [, hash] = /^#sha256=([0-9a-f]{64})$/.exec(withoutMark(fragment)) ?? [];
  const isFromCode = fragment === FROM_CODE; // a code was typed, which does not fix the terms
  if (token && (!/^[\w-]{16,128}$/.test(token) || (fragment && !hash && !isFromCode))) throw new Problem("bad_link");
  return token && { token, hash, isFromCode };
}

/** What the participant has already agreed to through this link. */
export const joinedBy = ({ token, hash }, { memberships }) =>
  Object.values(memberships).find((one) => one.invitation === token && (!hash || one.manifest_sha256 === hash));

/** SHA-256, in hexadecimal. */
export async function hashOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The campaign that a link invites to. This does not spend the invitation. */
export async function offered({ token, hash, isFromCode }) {
  if (!hash && !isFromCode) throw new Problem("link_without_hash");
  const { campaign, isOpen } = await client.lookUp(token);
  const [bytes, { full }] = await Promise.all([client.manifestBytes(campaign), client.stateOf(campaign).catch(() => ({ full: [] }))]);
  const found = await hashOf(bytes);
  if (hash && found !== hash) throw new Problem("manifest_mismatch");
  const manifest = parseManifest(bytes);
  if (comparesWithSets(manifest)) throw new Problem("bad_manifest");
  if (manifest.campaign !== campaign) throw new Problem("bad_answer");
  const end = !isOpen ? endIn(manifest) : manifest.tasks.every(({ id }) => full.includes(id)) ? "campaign_full" : null;
  return { campaign, manifest, manifest_sha256: found, invitation: token, full, ...(end && { end }), ...(isFromCode && { isFromCode }) };
}

const endIn = ({ deadline }) => (deadline && Date.parse(deadline) <= Date.now() ? "deadline_passed" : "campaign_not_open");

/**
 * Why a campaign accepts no more readings; null if it does, or without a network. The request is anonymous. Which tasks have
 * enough readings is stored.
 */
export async function endOf({ campaign, manifest }) {
  const state = await client.stateOf(campaign).catch(() => null);
  if (!state) return null;
  await change(({ memberships: { [campaign]: joined } }) => {
    if (joined) joined.full = state.full;
  });
  return state.isOpen ? null : endIn(manifest);
}

/** What an offer promises; a problem if it exceeds the participant's limits, alone or together with earlier campaigns. */
export function judged({ manifest }, record) {
  const promise = judge(manifest, record.limits);
  checkTotal(spentBy(record), promise, record.limits);
  return promise;
}

/** Agree to an offer, store the consent, and enrol. Only this spends the invitation; a repeated call has the same outcome. */
export async function join(offer) {
  const { campaign, manifest_sha256: hash, invitation } = offer;
  await change((record) => {
    const before = record.memberships[campaign];
    const same = before?.manifest_sha256 === hash;
    if (before?.withdrawn_at) throw new Problem("withdrawn");
    if (same && (before.participant_token || before.invitation === invitation)) return;
    if (before && !same && answeredIn(record, campaign).length) throw new Problem("manifest_changed");
    const enrolment_key = crypto.randomUUID() + crypto.randomUUID();
    const drawn = deviceDraws(offer.manifest) ? drawnOrder(offer.manifest.tasks.length) : null; // before any reading is known
    const task_order = same ? before.task_order : drawn;
    record.memberships[campaign] = { ...offer, ...judged(offer, record), enrolment_key, task_order };
    record.consents.push({ ...offer, given_at: now() });
  });
  navigator.storage.persist(); // a full disk must not delete the ledger
  await enrol(campaign).finally(changed);
}

/** The participant's token, from the server if it is not stored yet. */
export function enrol(campaign, who = person()) {
  return navigator.locks.request("enrolment", async () => {
    const { participant_token: known, invitation, enrolment_key: key } = (await read(who)).memberships[campaign];
    if (known) return known;
    const [enrolled, token] = await client.enrol(invitation, key);
    if (enrolled !== campaign) throw new Problem("bad_answer");
    await change(({ memberships }) => Object.assign(memberships[campaign], { participant_token: token, enrolment_key: null }), who);
    return token;
  });
}

// Started with the page, so that both have the same version.
const worker = new Worker(new URL("noise-worker.js", import.meta.url), { type: "module" });

/** Rejects if noise cannot be drawn, because the worker could not be loaded or has failed. */
export const workerFailure = new Promise((_, reject) => {
  worker.onerror = (event) => {
    event.preventDefault(); // it is explained on the page
    reject(new Problem("no_worker"));
  };
});
workerFailure.catch(() => {}); // reported to whoever wants to send

function drawn(...asked) {
  const { port1, port2 } = new MessageChannel();
  worker.postMessage(asked, [port2]);
  const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
  return Promise.race([answer, workerFailure]);
}

/**
 * Update the stored cuts; without a network they stay as they are. A list that a device must not answer is refused, and the
 * earlier one stays.
 */
export async function refreshCuts({ campaign, manifest, manifest_sha256: hash, withdrawn_at: withdrawn }) {
  if (withdrawn || !manifest.levels) return;
  const listed = await client.cuts(campaign).catch((problem) => {
    if (!isNoAnswer(problem)) throw problem;
  });
  if (!listed) return;
  const cuts = alternativesOf(manifest, listed);
  await change(({ memberships: { [campaign]: joined } }) => {
    if (joined.manifest_sha256 === hash) joined.cuts = cuts;
  });
}

/** The readings (a Map) of tasks that do not have enough yet, and the alternatives to compare them with. */
async function answerable({ campaign, manifest }, readings) {
  const joined = (await read()).memberships[campaign];
  const asked = manifest.tasks.filter(({ id }) => readings.has(id));
  if (!joined.cuts && asked.some((task) => isCompared(manifest, task))) throw new Problem("no_cuts");
  const open = asked.filter((task) => !isFull(joined, task));
  if (asked.length && !open.length) throw new Problem("quota_reached");
  return [new Map(open.map(({ id }) => [id, readings.get(id)])), joined.cuts];
}

/**
 * Draw noise for these readings (a Map), only once. When this returns, the release is stored and queued. `isKept`: the
 * participant asked to keep the readings on this device, to see them beside the results.
 */
export async function release(membership, measured, { isKept = false } = {}) {
  const { campaign, manifest, manifest_sha256, epsilon, delta } = membership;
  const [end] = await Promise.all([endOf(membership), refreshCuts(membership)]);
  if (end) throw new Problem(end); // before anything is spent
  const [readings, cuts] = await answerable(membership, measured);
  const begun = performance.now();
  const noisy = await drawn(manifest.noise, manifest.tasks, readings, undefined, cuts); // the worker draws its own random bytes
  const report_id = crypto.randomUUID();
  const body = canonicalBytes({ report_id, manifest_sha256, readings: noisy });
  await change((record) => {
    check(campaign, manifest_sha256, readings, record); // if this throws, nobody has seen the noise
    const joined = record.memberships[campaign];
    if (isKept) joined.own = new Map([...(joined.own ?? []), ...readings]);
    record.releases.push({ report_id, campaign, epsilon, delta, readings: noisy, body, released_at: now(), state: "queued" });
  });
  changed();
  setTimeout(flush, begun + SENT_AFTER - performance.now());
  return noisy;
}

export const answeredIn = ({ releases }, campaign) =>
  releases.flatMap((one) => (one.campaign === campaign ? one.readings.map(({ task }) => task) : []));

/** The tasks in the order in which this device answers them: the order that it drew, if it draws tasks. */
export const tasksInOrder = ({ manifest: { tasks }, task_order: order }) => (order ? order.map((place) => tasks[place]) : tasks);

/** Whether this can be the reading of a task: a number as text, or the number of a choice. */
function isReading({ tasks }, id, reading) {
  const task = tasks.find((one) => one.id === id);
  return task?.kind === "choice" ? reading in task.choices && Number.isInteger(reading) : Boolean(task && exactNumber(reading));
}

function check(campaign, hash, readings, record) {
  const joined = record.memberships[campaign];
  const answered = answeredIn(record, campaign);
  if (joined.withdrawn_at) throw new Problem("withdrawn");
  if (joined.manifest_sha256 !== hash) throw new Problem("manifest_changed"); // joined again in another tab, under other terms
  if (!readings.size || ![...readings].every((one) => isReading(joined.manifest, ...one))) throw new Problem("bad_reading");
  if (answered.some((task) => readings.has(task))) throw new Problem("already_released");
  if (answered.length && readingsComeAtOnce(joined.manifest)) throw new Problem("one_release_only");
  if (answered.length + readings.size > mostReadings(joined.manifest)) throw new Problem("too_many_readings");
  if (comparesWithSets(joined.manifest)) throw new Problem("bad_manifest");
  checkLimits(joined, record.limits); // they may have been tightened since joining
  checkPromise(joined.manifest, joined); // an older version of this page may have computed wrong figures
  if (!answered.length) checkTotal(spentBy(record), joined, record.limits);
}

let [pause, timer] = [FIRST_PAUSE];

/** Send everything that is queued, including withdrawals: the same bytes at every attempt, by one tab at a time. */
export async function flush() {
  clearTimeout(timer);
  const hindrance = await navigator.locks.request("sending", sendAll);
  if (hindrance) timer = setTimeout(flush, Math.max(pause * (0.5 + Math.random() / 2), hindrance.retryAfter * 1000));
  pause = hindrance ? Math.min(2 * pause, LONGEST_PAUSE) : FIRST_PAUSE;
}

/** A temporary problem that prevents sending, if there is one. */
async function sendAll() {
  let hindrance;
  for (const who of await people()) {
    for (const joined of Object.values((await read(who)).memberships)) {
      await (joined.withdrawn_at ? reportWithdrawal : deliver)(joined, who).catch((problem) => {
        if (isNoAnswer(problem)) hindrance = problem;
      });
    }
  }
  return hindrance;
}

/** A response outside the protocol counts as none: the report itself is fine, so it waits. */
const isNoAnswer = ({ later, code }) => later || code === "bad_answer";

async function deliver({ campaign }, who) {
  for (;;) {
    const next = (await read(who)).releases.find((one) => one.campaign === campaign && one.state === "queued");
    if (!next) return;
    const token = await enrol(campaign, who);
    const refusal = await client.report(campaign, token, next.body).then(() => null, (problem) => problem);
    if (refusal && isNoAnswer(refusal)) throw refusal;
    await change(({ releases }) => {
      const sent = releases.find((one) => one.report_id === next.report_id);
      if (sent.state === "queued") Object.assign(sent, { state: refusal ? "refused" : "delivered", problem: refusal?.code });
    }, who);
    changed();
  }
}

/** Stop taking part at once; the server is informed now or later. What was released stays in the ledger. */
export async function withdraw(campaign) {
  await change(({ memberships, releases }) => {
    memberships[campaign].withdrawn_at ??= now();
    delete memberships[campaign].own;
    for (const one of releases) if (one.campaign === campaign) one.state = "withdrawn";
  });
  changed();
  await flush();
}

async function reportWithdrawal({ campaign, participant_token: token, withdrawal_told: isConfirmed }, who) {
  if (isConfirmed) return;
  if (token) await client.withdraw(campaign, token);
  await change(({ memberships }) => (memberships[campaign].withdrawal_told = true), who);
  changed();
}
