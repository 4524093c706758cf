// A question of a tool that runs: a form, or an address to open.

import { Ask } from "./ask.js";
import { el } from "./dom.js";
import { form } from "./form.js";
import { link } from "./links.js";
import { seen } from "./unseen.js";

/// Shows a question; `reply` sends the answer.
export function question(parent, request, reply, options) {
  const ask = new Ask(parent, `${request.tool_name} asks you`, reply, options);
  ask.body.append(el("p", { class: "question" }, seen(request.message)));
  const answer = (given, shown) => ({ path: "inputs", body: { question_id: request.question_id, answer: given }, shown });
  const declined = ["Decline", () => answer({ action: "decline" }, "Declined")];
  if (request.url) {
    ask.body.append(el("p", {}, link(request.url, ...seen(request.url))));
    ask.buttons(["I have opened it", () => answer({ action: "accept", content: {} }, "Opened")], declined);
    return ask;
  }
  const { nodes, read } = form(request.schema);
  ask.controls.append(el("div", { class: "fields" }, nodes));
  ask.buttons(["Send", () => {
    const content = read();
    return content === null ? null : answer({ action: "accept", content }, "Sent");
  }], declined);
  return ask;
}
