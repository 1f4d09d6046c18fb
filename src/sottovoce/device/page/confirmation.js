// A question in a dialog above the view, which may be redrawn in the meantime.

import { h } from "./dom.js";

/** Whether the participant agrees. Escape and Enter change nothing: the focus is on the button that leaves things as they are. */
export function confirmed({ title, body, yes, no, kind = "" }) {
  return new Promise((resolve) => {
    const refusal = h("button.plain", no);
    const settle = () => {
      removeEventListener("hashchange", leave);
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    // The next key or tap may come before the close event. It would find the dialog still there and be lost.
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
