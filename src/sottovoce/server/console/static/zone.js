/** The deadline in the browser's time zone. Without this script, it is typed and shown in UTC, as its field says. */
const deadline = document.querySelector("#deadline");
const zone = document.querySelector("#zone");
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = new Set(["UTC", own, ...(Intl.supportedValuesOf?.("timeZone") ?? [])]);

const list = document.createElement("datalist");
list.id = "zones";
list.append(...[...zones].map((name) => new Option("", name)));
zone.after(list);
zone.setAttribute("list", list.id);

/** A moment in the browser's time zone, in the format of a datetime-local field. */
function inOwnZone(moment) {
  const shifted = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

// A form that comes back with mistakes keeps what was typed; a draft is loaded with its deadline in UTC.
if (own && zone.dataset.loaded !== undefined) {
  const moment = new Date(`${deadline.value}Z`);
  if (deadline.value && !Number.isNaN(moment.getTime())) {
    deadline.value = inOwnZone(moment);
    if (moment.getUTCSeconds() || new Date(deadline.value).getTime() !== moment.getTime()) deadline.value = zone.dataset.loaded;
    else zone.value = own;
  } else zone.value = own;
}
