/** Print, copy or save the invitations, which are shown only once. Without this script the table can be copied by hand. */
const all = document.querySelector("#all");
const buttons = Object.fromEntries(["print", "copy", "save"].map((name) => [name, document.querySelector(`#${name}`)]));
for (const button of Object.values(buttons)) button.hidden = false;

buttons.print.addEventListener("click", () => print());

buttons.copy.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(all.value);
    buttons.copy.textContent = "Copied";
  } catch {
    all.closest("details").open = true; // no access to the clipboard: at least select it
    all.select();
    buttons.copy.textContent = "Selected: copy it with the keyboard";
  }
});

buttons.save.addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([all.value], { type: "text/csv" }));
  link.download = "invitations.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
});
