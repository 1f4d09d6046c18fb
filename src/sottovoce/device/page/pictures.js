// Pictures of a campaign: the plan of the place, and the logo. One is shown only if it has the hash that the manifest
// names, and only as an image. It is loaded whole, as everybody does.

import { pictureBytes } from "./client.js";
import { hashOf } from "./device.js";
import { Problem } from "./manifest.js";

const MOST_BYTES = 8 << 20;
const CACHE = "sottovoce-plans";
const addresses = new Map(); // of pictures that were checked or are under way, by hash

async function checked(bytes, sha256) {
  if (bytes.length > MOST_BYTES || (await hashOf(bytes)) !== sha256) throw new Problem("plan_mismatch");
  return bytes;
}

/** The picture, from this browser's own store if it was loaded before. */
async function picture(campaign, kind, sha256) {
  const cache = await globalThis.caches?.open(CACHE).catch(() => null);
  const key = new URL(`plan-${sha256}`, import.meta.url);
  const before = await cache?.match(key);
  if (before) return checked(new Uint8Array(await before.arrayBuffer()), sha256).catch(() => cache.delete(key).then(() => picture(campaign, kind, sha256)));
  const bytes = await checked(await pictureBytes(campaign, kind), sha256);
  await cache?.put(key, new Response(bytes)).catch(() => {}); // no space: it is loaded again next time
  return bytes;
}

/** Only a drawing begins with text; browsers recognise all other kinds by themselves. */
const typeOf = (bytes) => (bytes[0] === "<".charCodeAt(0) ? "image/svg+xml" : "");

/** Where the checked picture is: a view that is drawn again while it loads waits for the same one. */
export function addressOf(campaign, kind, sha256) {
  if (!addresses.has(sha256)) {
    const address = picture(campaign, kind, sha256).then((bytes) => URL.createObjectURL(new Blob([bytes], { type: typeOf(bytes) })));
    addresses.set(sha256, address);
    address.catch(() => addresses.delete(sha256)); // the next drawing tries again
  }
  return addresses.get(sha256);
}

/** Show a picture that is known already, such as the one of a draft, which is not public yet. */
export const usePicture = (sha256, address) => addresses.set(sha256, Promise.resolve(address));
