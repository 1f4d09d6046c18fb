// Makes the page work without a network. The server adds two lines before this one: FILES, the page's files with their hashes,
// and VERSION, a hash over them all. So this script changes with any file, and each version has a cache of its own.

const CACHE = `sottovoce-page-${VERSION}`;

addEventListener("install", (event) => event.waitUntil(fill()));
addEventListener("activate", (event) => event.waitUntil(takeOver()));
// The old version stays until the participant switches or closes its last tab, so that nothing typed is lost.
addEventListener("message", (event) => {
  if (event.data === "use") skipWaiting();
  if (event.data === "claim") event.waitUntil(clients.claim());
});
addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const name = url.split(/[?#]/)[0].replace(registration.scope, "");
  const file = mode === "navigate" && !name.includes("/") ? "index.html" : name;
  if (method === "GET" && Object.hasOwn(FILES, file)) event.respondWith(kept(file, event.request));
});

/** Languages, instruments, pictures, plans and the question about the person are loaded only when they are used. */
const isLoadedOnUse = (file) => /^(texts\/|instrument-|(pictures|plan|person)\.)/.test(file);
const request = (file) => new Request(file, { integrity: `sha256-${FILES[file]}`, cache: "no-cache" });

async function fill() {
  const isUsed = async (file) => !isLoadedOnUse(file) || (await caches.match(file)); // by an earlier version of the page
  const used = await Promise.all(Object.keys(FILES).map(async (file) => ((await isUsed(file)) ? [file] : [])));
  await (await caches.open(CACHE)).addAll(used.flat().map(request));
}

async function takeOver() {
  for (const name of await caches.keys()) if (name.startsWith("sottovoce-page-") && name !== CACHE) await caches.delete(name);
  await clients.claim();
}

async function kept(file, asked) {
  const cache = await caches.open(CACHE);
  const found = await cache.match(file);
  if (found || !isLoadedOnUse(file)) return found ?? fetch(asked);
  await cache.add(request(file));
  return cache.match(file);
}
