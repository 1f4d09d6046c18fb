// Requests to the campaign server, which is not trusted: its responses are checked before use.

import { canonicalBytes, Problem } from "./manifest.js";

const API = new URL("../api/", import.meta.url);
const TIMEOUT = 15_000; // milliseconds
const LONG_TIMEOUT = 120_000; // a picture over a slow network
const SHORT_TIMEOUT = 5_000; // somebody is waiting, and what is already stored is good enough
const TEMPORARY = [408, 425, 429]; // and everything from 500 on: the same request may succeed later

export async function lookUp(invitation) {
  const { campaign_id: campaign, state } = await ask("invitations/look-up", { invitation });
  return { campaign: text(campaign, /^[\w-]{1,64}$/), isOpen: state !== "closed" };
}
export const manifestBytes = (campaign) => send("GET", `campaigns/${campaign}/manifest`);
/** The invitation that a short code stands for. */
export const invitationOf = async (code) => text((await ask("codes", { code })).invitation, /^[\w-]{16,128}$/);
/** Whether a campaign accepts readings, and which tasks have enough; the same for everybody, and requested anonymously. */
export async function stateOf(campaign) {
  const { state, full } = json(await send("GET", `campaigns/${campaign}/state`, null, null, SHORT_TIMEOUT));
  return { isOpen: state !== "closed", full: Array.isArray(full) ? full.filter((task) => typeof task === "string") : [] };
}
/** The published cuts, the same for everybody; the request is anonymous. */
export const cuts = async (campaign) => json(await send("GET", `campaigns/${campaign}/cuts`, null, null, SHORT_TIMEOUT));
/** A picture of the campaign (plan or logo), the same for everybody; the request is anonymous. */
export const pictureBytes = (campaign, kind) => send("GET", `campaigns/${campaign}/${kind}`, null, null, LONG_TIMEOUT);
/** The public results of each task; empty if there are none. */
export async function results(campaign) {
  const { results: tasks } = json(await send("GET", `campaigns/${campaign}/results`));
  return Array.isArray(tasks) ? tasks : [];
}
export const report = async (campaign, token, body) => json(await send("POST", `campaigns/${campaign}/reports`, body, token));
export const withdraw = (campaign, token) => send("DELETE", `campaigns/${campaign}/participation`, null, token);

export async function enrol(invitation, enrolment_key) {
  const answer = await ask("enrolments", { invitation, enrolment_key });
  return [text(answer.campaign_id, /^/), text(answer.participant_token, /^[\x21-\x7e]{16,256}$/)];
}

const ask = async (path, content) => json(await send("POST", path, canonicalBytes(content)));

async function send(method, path, body, token, timeout = TIMEOUT) {
  const headers = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  const signal = AbortSignal.timeout(timeout);
  const options = { redirect: "error", credentials: "omit", cache: "no-store" };
  let answer, content;
  try {
    answer = await fetch(new URL(path, API), { method, headers, body, signal, ...options });
    content = new Uint8Array(await answer.arrayBuffer());
  } catch {
    throw new Problem("unreachable", {}, { later: true });
  }
  if (answer.ok) return content;
  // A refusal outside the protocol did not come from the server, so it counts as no response.
  const later = TEMPORARY.includes(answer.status) || answer.status >= 500;
  const isProblem = answer.headers.get("Content-Type")?.startsWith("application/problem+json");
  const code = isProblem ? text(json(content).code, /^[a-z_]{1,40}$/) : later ? "unavailable" : "bad_answer";
  throw new Problem(code, {}, { later, retryAfter: Number(answer.headers.get("Retry-After")) || 0 });
}

function json(content) {
  try {
    return Object(JSON.parse(new TextDecoder().decode(content)));
  } catch {
    throw new Problem("bad_answer");
  }
}

function text(found, pattern) {
  if (typeof found === "string" && pattern.test(found)) return found;
  throw new Problem("bad_answer");
}
