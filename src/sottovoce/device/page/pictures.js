// Pictures of a campaign: the plan of the place, and the logo. A picture is shown only if it has the hash in the
// manifest, and only as an image. It is loaded whole, in the same way for everybody.

import { pictureBytes } from "./client.js";
import { hashOf } from "./device.js";
import { Problem } from "./manifest.js";

const MOST_BYTES = 8 << 20;
const CACHE = "sottovoce-plans";
const addresses = new Map(); // of pictures that were checked or are being loaded, by hash

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

/** Only SVG drawings begin with text; browsers recognise all other kinds by themselves. */
const typeOf = (bytes) => (bytes[0] === "<".charCodeAt(0) ? "image/svg+xml" : "");

/** The address of the checked picture. A view that is redrawn while the picture loads waits for the same one. */
export function addressOf(campaign, kind, sha256) {
  if (!addresses.has(sha256)) {
    const address = picture(campaign, kind, sha256).then((bytes) => URL.createObjectURL(new Blob([bytes], { type: typeOf(bytes) })));
    addresses.set(sha256, address);
    address.catch(() => addresses.delete(sha256)); // the next drawing tries again
  }
  return addresses.get(sha256);
}

/** Use a picture that is already available, such as that of a draft, which is not public yet. */
export const usePicture = (sha256, address) => addresses.set(sha256, Promise.resolve(address));
