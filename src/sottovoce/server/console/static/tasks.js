/** Adds rows for tasks without reloading the page, and previews a file as soon as it is chosen. Without this script, buttons do both. */
const typed = document.querySelector(".typed");
const more = document.querySelector("button[name=more]");
const MOST = 20;

function addRow() {
  const last = typed.lastElementChild;
  const row = last.cloneNode(true);
  const place = Number(last.dataset.place) + 1;
  for (const mistake of row.querySelectorAll(".wrong-field")) mistake.remove();
  row.dataset.place = place;
  for (const part of row.querySelectorAll("[id], [name], [for]")) {
    for (const name of ["id", "name", "for"]) {
      if (part.hasAttribute(name)) part.setAttribute(name, part.getAttribute(name).replace(/-\d+$/, `-${place}`));
    }
    part.removeAttribute("aria-invalid");
    part.removeAttribute("aria-describedby");
    if (part.matches("input, textarea")) {
      if (!("repeated" in part.dataset)) part.value = ""; // most tasks of a campaign are alike
      part.placeholder = "";
    }
  }
  row.querySelector(".title label").textContent = `Task ${place + 1}`;
  typed.append(row);
  more.hidden = typed.children.length >= MOST;
  row.querySelector(".title input").focus();
}

more.addEventListener("click", (event) => {
  event.preventDefault();
  addRow();
});

const file = document.querySelector("#file");
file.addEventListener("change", () => {
  if (file.files.length) file.form.requestSubmit(document.querySelector("button[name=read]"));
});

// The warning about sensors is shown only while a task uses one.
const warning = document.querySelector("#no-sensors");
function warn() {
  const sensors = warning?.dataset.instruments.split(" ");
  if (warning) warning.hidden = ![...typed.querySelectorAll("select")].some(({ value }) => sensors.includes(value.split(":")[0]));
}
typed.addEventListener("change", warn);
warn();
