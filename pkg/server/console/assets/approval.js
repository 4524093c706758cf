// A call that waits for permission.

import { exact } from "./api.js";
import { Ask } from "./ask.js";
import { el, hidden, newId } from "./dom.js";
import { seen, visible } from "./unseen.js";
import { pretty } from "./values.js";

const REASONS = {
  policy: "The agent asks before calls of this kind.",
  outside_text: "The conversation contains text from outside, which may have caused this call. Look closely.",
  provider: "The provider runs this tool itself, and asks before it does.",
};

/// Shows a request; `reply` sends the answer.
export function approval(parent, request, reply, options) {
  const ask = new Ask(parent, `${request.tool_name} asks for your permission`, reply, options);
  ask.body.append(el("p", { class: "why", text: REASONS[request.reason ?? "policy"] ?? REASONS.policy }));
  if (request.preview) ask.body.append(preview(request.preview));
  const given = visible(pretty(request.arguments));
  const changed = el("textarea", { class: "mono", rows: Math.min(12, given.split("\n").length + 1), spellcheck: "false" });
  changed.value = given;
  const reason = el("input", { type: "text", maxlength: "2000", autocomplete: "off" });
  const error = el("p", { class: "error", role: "alert" });
  ask.body.append(
    el("details", { open: !request.preview }, el("summary", { text: "All arguments" }),
      el("label", { class: "field" }, el("span", { text: "You can edit them before you allow the call once" }), changed), error),
  );
  ask.controls.append(el("label", { class: "field" }, el("span", { text: "Reason for a rejection, which the model reads" }), reason));
  const answer = (decision, shown, more = {}) => ({
    path: "approvals",
    body: { approval_id: request.approval_id, decision, ...more },
    shown,
  });
  ask.buttons(
    ["Allow once", () => {
      error.textContent = "";
      if (changed.value === given) return answer("grant", "Allowed once");
      const read = readObject(changed.value);
      if (read !== null) return answer("grant", "Allowed once, with edited arguments", { arguments: read });
      error.textContent = "The arguments must be one JSON object.";
      changed.closest("details").open = true;
      changed.focus();
      return null;
    }],
    ["Always allow", () => answer("grant_always", "Always allowed")],
    ["Reject", () => answer("reject", "Rejected", { reason: reason.value.trim() })],
  );
  return ask;
}

function readObject(text) {
  try {
    const value = exact(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/// Returns what shows the effect of a call.
export function preview({ kind, text }) {
  if (kind === "diff" && IS_DIFF.test(text)) return diff(text);
  const label = kind === "command" ? "Command" : "Effect";
  const id = newId("preview");
  return el("div", { class: `preview ${kind === "command" ? "command" : "text"}` },
    el("p", { class: "caption", id, text: label }),
    el("pre", { tabindex: "0", "aria-labelledby": id }, seen(text)));
}

// Of a change that changes nothing, there are words alone.
const IS_DIFF = /^(@@ |--- |\+\+\+ )/m;
const MOST_LINES = 5000;

const KINDS = { "+": ["added", "added: "], "-": ["removed", "removed: "], "@": ["place", ""] };

/// Returns a unified diff; each line keeps its sign, so that colour is not all that tells them apart.
function diff(text) {
  const id = newId("preview");
  const list = el("ol", { class: "diff", tabindex: "0", "aria-labelledby": id });
  const lines = text.replace(/\n$/, "").split("\n");
  let [plus, minus] = [0, 0];
  for (const line of lines.slice(0, MOST_LINES)) {
    const isHead = /^(\+\+\+|---) /.test(line);
    const [kind, spoken] = isHead ? ["head", ""] : KINDS[line[0]] ?? ["same", ""];
    plus += kind === "added" ? 1 : 0;
    minus += kind === "removed" ? 1 : 0;
    const sign = isHead || kind === "place" ? "" : line[0] ?? " ";
    list.append(el("li", { class: kind },
      el("span", { class: "sign", "aria-hidden": "true", text: sign }),
      spoken ? hidden(spoken) : null,
      el("span", {}, seen(sign === "" ? line : line.slice(1)))));
  }
  const rest = lines.length - MOST_LINES;
  const more = rest > 0 ? el("p", { class: "error", text: `${rest} more lines of the change are not shown; the arguments contain all of it.` }) : null;
  const caption = `Change: ${plus} ${plus === 1 ? "line" : "lines"} added, ${minus} removed${rest > 0 ? ", and more" : ""}`;
  return el("div", { class: "preview" }, el("p", { class: "caption", id, text: caption }), list, more);
}
