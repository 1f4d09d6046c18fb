/** Shows only the fields for the chosen kind of invitation, with their limits, and reloads the list after a change. */
const form = document.querySelector(".invite");
const most = form?.elements.count.max;

function follow() {
  const { value: kind } = form.elements.kind;
  form.querySelector(".for-one").hidden = kind === "open";
  form.elements.count.max = kind === "code" ? form.elements.count.dataset.mostCodes : most;
  form.querySelector(".for-several").hidden = kind !== "open";
  form.querySelector(".for-days").hidden = kind === "link";
  form.elements.days.placeholder = kind === "code" ? "14" : "no limit";
}

if (form) {
  form.addEventListener("change", follow);
  follow();
  // The sheet opens in another tab. On return to this one, the list is reloaded to show the new invitations.
  for (const one of document.querySelectorAll("form[target=_blank]"))
    one.addEventListener("submit", () => addEventListener("focus", () => location.reload(), { once: true }));
}
