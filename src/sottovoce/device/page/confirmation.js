// A question in a dialog of its own, above the view, which may be drawn again meanwhile.

import { h } from "./dom.js";

/** Whether somebody agrees. Escape and Enter change nothing: the button that leaves everything as it is has the focus. */
export function confirmed({ title, body, yes, no, kind = "" }) {
  return new Promise((resolve) => {
    const refusal = h("button.plain", no);
    const settle = () => {
      removeEventListener("hashchange", leave);
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    // The event of closing comes later than the next key or tap may, which would find the dialog still there and be lost.
    const answer = (event) => {
      event.preventDefault();
      dialog.close(event.submitter.value);
      settle();
    };
    const dialog = h("dialog", { "aria-labelledby": "question", onclose: settle }, h("h2", { id: "question" }, title), body,
      h("form.actions", { onsubmit: answer }, refusal, h(`button${kind}`, { id: "yes", value: "yes" }, yes)));
    const leave = () => dialog.close();
    addEventListener("hashchange", leave);
    document.body.append(dialog);
    dialog.showModal();
    refusal.focus();
  });
}
