/** Shows times in the viewer's time zone, with its name, and in UTC as a tooltip. Without this script, all are in UTC. */
const { lang } = document.documentElement;
const locale = navigator.languages.find((one) => one.split("-")[0] === lang.split("-")[0]) ?? lang; // de-CH has formats of its own
const LOCAL = new Intl.DateTimeFormat(locale, {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short",
});

function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    time.title = time.textContent;
    time.textContent = LOCAL.format(new Date(time.dateTime));
  }
}

localise(document);
document.addEventListener("htmx:load", ({ target }) => localise(target.parentElement ?? target));
