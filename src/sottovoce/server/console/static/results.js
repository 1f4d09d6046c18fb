// Extras for pages with results: sort a table, save it, copy a command, check the size of a file.
// Without this script the pages show the same content.

function button(text, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "plain";
  made.textContent = text;
  made.addEventListener("click", () => press(made));
  return made;
}

/** The number in a cell, without thousands separators and with an ASCII minus; text for everything else. */
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
      getSelection().selectAllChildren(command); // no access to the clipboard: at least select it
      copy.textContent = "Selected: copy it with the keyboard";
    }
  });
  copy.setAttribute("aria-live", "polite");
  command.after(copy);
}

/** A file that the server would refuse is not sent. */
function checkSize(form) {
  const [file, error] = [form.querySelector("#claims"), form.querySelector("#claims-error")];
  const most = Number(form.dataset.mostBytes);
  const check = () => {
    const size = file.files[0]?.size ?? 0;
    const message = size > most ? `${file.files[0].name}: ${(size / 1e6).toFixed(1)} MB: a file here may have at most ${(most / 1e6).toFixed(1)} MB; run sottovoce discover on it instead.` : "";
    error.textContent = message;
    file.setCustomValidity(message);
  };
  file.addEventListener("change", check);
}

function prepare(root) {
  for (const table of root.querySelectorAll("table[data-sortable]")) makeSortable(table);
  for (const text of root.querySelectorAll("textarea[data-save]")) makeSavable(text);
  for (const command of root.querySelectorAll("[data-copy]")) makeCopyable(command);
  for (const form of root.querySelectorAll("form[data-most-bytes]")) checkSize(form);
}

/** Shows a refusal by the server that is a problem document (RFC 9457) instead of a page. */
function showProblem(xhr) {
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
// Error messages are answers too: they replace the last answer, and the form keeps its entries.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.status < 400) return;
  event.detail.isError = false; // it is shown on the page
  if (xhr.responseText.includes('id="answer"')) event.detail.shouldSwap = true;
  else showProblem(xhr);
});
document.addEventListener("htmx:sendError", (event) => showProblem(event.detail.xhr));
document.addEventListener("htmx:afterSwap", () => {
  const answer = document.querySelector("#answer");
  if (!answer) return;
  prepare(answer);
  answer.focus(); // so that screen readers and the keyboard continue from there
  answer.scrollIntoView({ block: "start" });
});
