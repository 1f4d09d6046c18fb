// A short code in place of a link.

import { invitationOf } from "./client.js";
import { h } from "./dom.js";
import { say } from "./language.js";
import { problemText } from "./views.js";

export function codeForm() {
  const input = h("input", { id: "code", maxlength: 40, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", required: "" });
  const said = h("p.error", { role: "alert" });
  async function go(event) {
    event.preventDefault();
    said.textContent = "";
    try {
      location.href = `./${await invitationOf(input.value)}#code`;
    } catch ({ code }) {
      said.textContent = problemText(code);
      input.focus();
    }
  }
  return h("form.card", { onsubmit: go }, h("h2", say("code.title")), h("div.field", h("label", { for: "code" }, say("code.label")), input), said,
    h("p.actions", h("button", say("code.send"))));
}
