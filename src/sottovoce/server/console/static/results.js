// What pages with results do beyond showing them: sort a table, save it, copy a command, mind the size of a file.
// Without this script they show the same.

function button(text, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "plain";
  made.textContent = text;
  made.addEventListener("click", () => press(made));
  return made;
}

/** A number as it is shown, with its thousands and its proper minus; text for everything else. */
function shown(cell) {
  const number = Number(cell.textContent.trim().replaceAll(",", "").replace("−", "-"));
  return Number.isNaN(number) ? cell.textContent : number;
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  for (const [column, head] of heads.entries()) {
    const press = document.createElement("button");
    press.type = "button";
    press.className = "sort";
    press.textContent = head.textContent;
    head.replaceChildren(press);
    head.ariaSort = "none";
    press.addEventListener("click", () => {
      const direction = head.ariaSort === "ascending" ? -1 : 1;
      for (const other of heads) other.ariaSort = "none";
      head.ariaSort = direction > 0 ? "ascending" : "descending";
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => [shown(row.cells[column]), row]);
      keyed.sort(([one], [two]) => direction * (typeof one === "number" && typeof two === "number" ? one - two : String(one).localeCompare(String(two), undefined, { numeric: true })));
      body.append(...keyed.map(([, row]) => row));
    });
  }
}

function makeSavable(text) {
  const save = button("Save as CSV", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text.value], { type: "text/csv" }));
    link.download = text.dataset.save;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
  text.closest("details").before(save);
}

function makeCopyable(command) {
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent.trim());
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command); // no right to the clipboard: at least it is selected
      copy.textContent = "Selected: copy it with the keyboard";
    }
  });
  copy.setAttribute("aria-live", "polite");
  command.after(copy);
}

/** A file that the server would refuse is not even sent. */
function mindSize(form) {
  const [file, error] = [form.querySelector("#claims"), form.querySelector("#claims-error")];
  const most = Number(form.dataset.mostBytes);
  const check = () => {
    const size = file.files[0]?.size ?? 0;
    const told = size > most ? `${file.files[0].name}: ${(size / 1e6).toFixed(1)} MB: at most ${(most / 1e6).toFixed(1)} MB are taken here; run sottovoce discover on it instead.` : "";
    error.textContent = told;
    file.setCustomValidity(told);
  };
  file.addEventListener("change", check);
}

function prepare(root) {
  for (const table of root.querySelectorAll("table[data-sortable]")) makeSortable(table);
  for (const text of root.querySelectorAll("textarea[data-save]")) makeSavable(text);
  for (const command of root.querySelectorAll("[data-copy]")) makeCopyable(command);
  for (const form of root.querySelectorAll("form[data-most-bytes]")) mindSize(form);
}

/** What the server refused before the page was asked: a problem document (RFC 9457) instead of an answer. */
function tellProblem(xhr) {
  const answer = document.querySelector("#answer");
  if (!answer) return;
  let problem = { title: "The server cannot be reached", detail: "Nothing was computed", fix: "try again later" };
  try {
    problem = JSON.parse(xhr.responseText);
  } catch {
    // no document: the connection broke
  }
  const [section, title, text] = ["section", "h2", "p"].map((name) => document.createElement(name));
  section.className = "problem";
  section.role = "alert";
  title.textContent = problem.title;
  text.textContent = `${problem.detail}; ${problem.fix}.`;
  section.append(title, text);
  answer.replaceChildren(section);
}

prepare(document);
// Mistakes are answers too: they take the place of the last one, and the form keeps what was filled in.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.status < 400) return;
  event.detail.isError = false; // it is told on the page
  if (xhr.responseText.includes('id="answer"')) event.detail.shouldSwap = true;
  else tellProblem(xhr);
});
document.addEventListener("htmx:sendError", (event) => tellProblem(event.detail.xhr));
document.addEventListener("htmx:afterSwap", () => {
  const answer = document.querySelector("#answer");
  if (!answer) return;
  prepare(answer);
  answer.focus(); // so that a screen reader begins there, and the keyboard goes on from there
  answer.scrollIntoView({ block: "start" });
});
