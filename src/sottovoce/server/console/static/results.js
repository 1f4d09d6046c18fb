// Extras for pages with results: sort a table, save it or the whole answer, copy a command, check the size of a file
// and offer its columns.
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

function download(content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function makeSavable(text) {
  const save = button("Save as CSV", () => download(text.value, "text/csv", text.dataset.save));
  text.closest("details").before(save);
}

/** The answer as one file that needs no server, with its styles and without its buttons. */
function makePage(place) {
  const save = button("Save as a page", async () => {
    const sheets = [...document.querySelectorAll("link[rel=stylesheet]")];
    const looks = await Promise.all(sheets.map((sheet) => fetch(sheet.href).then((answer) => answer.text())));
    const copy = document.querySelector("#answer").cloneNode(true);
    for (const press of copy.querySelectorAll("button")) {
      if (press.classList.contains("sort")) press.replaceWith(press.textContent);
      else press.remove();
    }
    for (const part of copy.querySelectorAll("details")) part.open = true;
    // As text: in a document made here, this page's content security policy would block the inline styles.
    const title = document.createElement("title");
    title.textContent = document.title;
    const head = `<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${title.outerHTML}<style>${looks.join("\n")}</style></head>`;
    const body = `<body class="${document.body.className}"><main>${copy.outerHTML}</main></body>`;
    download(`<!doctype html>\n<html lang="en">${head}${body}</html>\n`, "text/html", place.dataset.savePage);
  });
  place.append(save);
}

/** The names of the columns: from the first row of a text table or the first record of JSON Lines; none for other files. */
function columnsIn(name, text) {
  const [line] = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (/\.(jsonl|ndjson)$/i.test(name)) {
    try {
      return Object.keys(JSON.parse(line));
    } catch {
      return [];
    }
  }
  if (!/\.(csv|tsv|txt)$/i.test(name)) return [];
  const mark = [",", ";", "\t", "|"].map((one) => [line.split(one).length, one]).sort(([one], [two]) => two - one)[0][1];
  const names = [];
  let quoted = false;
  let cell = "";
  for (const letter of line) {
    if (letter === '"') quoted = !quoted;
    else if (letter === mark && !quoted) cell = (names.push(cell.trim()), "");
    else cell += letter;
  }
  return [...names, cell.trim()].filter(Boolean).slice(0, 200);
}

/** Once a file is chosen, its columns can be picked beside each name. */
function offerColumns(form) {
  const file = form.querySelector("#claims");
  file.addEventListener("change", async () => {
    for (const old of form.querySelectorAll("select.columns")) old.remove();
    if (!file.files[0]) return;
    const start = await file.files[0].slice(0, 65_536).arrayBuffer();
    let names = [];
    try {
      names = columnsIn(file.files[0].name, new TextDecoder(form.querySelector("#encoding").value || "utf-8").decode(start));
    } catch {
      // an encoding that browsers do not support: the names can be typed
    }
    if (names.length < 2) return;
    for (const input of form.querySelectorAll(".names input")) {
      const pick = document.createElement("select");
      pick.className = "columns";
      pick.ariaLabel = `Columns of the file: ${input.labels[0].textContent}`;
      pick.add(new Option("columns of the file …", ""));
      for (const name of names) pick.add(new Option(name, name, false, name === input.value));
      pick.addEventListener("change", () => {
        if (pick.value) input.value = pick.value;
      });
      input.addEventListener("input", () => (pick.value = names.includes(input.value) ? input.value : ""));
      input.after(pick);
    }
  });
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
    const message = size > most ? `${file.files[0].name}: its size is ${(size / 1e6).toFixed(1)} MB, but at most ${(most / 1e6).toFixed(1)} MB can be uploaded here; run sottovoce discover on it instead.` : "";
    error.textContent = message;
    file.setCustomValidity(message);
  };
  file.addEventListener("change", check);
}

function prepare(root) {
  for (const table of root.querySelectorAll("table[data-sortable]")) makeSortable(table);
  for (const text of root.querySelectorAll("textarea[data-save]")) makeSavable(text);
  for (const command of root.querySelectorAll("[data-copy]")) makeCopyable(command);
  for (const place of root.querySelectorAll("[data-save-page]")) makePage(place);
  for (const form of root.querySelectorAll("form[data-most-bytes]")) {
    checkSize(form);
    offerColumns(form);
  }
}

/** Shows a problem document (RFC 9457) that the server sent instead of a page, or reports that no answer came. */
function showProblem(xhr) {
  const answer = document.querySelector("#answer");
  if (!answer) return;
  let problem = { title: "The server cannot be reached", detail: "Nothing was computed", fix: "try again later" };
  if (xhr.status) problem = { ...problem, title: "The form was not processed", fix: "reload the page and try again" };
  try {
    problem = JSON.parse(xhr.responseText);
  } catch {
    // not a problem document: the connection broke, or the server sent a page
  }
  const seconds = xhr.getResponseHeader("Retry-After");
  if (seconds) problem.fix = `try again in ${seconds} s`;
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
