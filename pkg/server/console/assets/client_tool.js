// Calls at the client: the tools of this page.

import { Ask } from "./ask.js";
import { el, newId } from "./dom.js";
import { seen, visible } from "./unseen.js";
import { pretty } from "./values.js";

const words = (value) => (typeof value === "string" ? value : value === undefined ? "" : pretty(value));

// What the page can do, by the names of the tools.
const TOOLS = {
  ask_user(ask, given) {
    ask.body.append(el("p", { class: "question" }, seen(words(given.question ?? given.message))));
    const options = Array.isArray(given.options) ? given.options.slice(0, 50).map(words) : [];
    if (options.length === 0) {
      const { label, input } = textField("Your answer");
      ask.controls.append(label);
      return () => input.value.trim() || null;
    }
    const { fieldset, chosen } = choices("Your answer", options);
    ask.controls.append(fieldset);
    return chosen;
  },
  confirm(ask, given) {
    ask.body.append(el("p", { class: "question" }, seen(words(given.message ?? given.question))));
    return null;
  },
};

const TITLES = { ask_user: "The agent asks you", confirm: "The agent asks you to confirm" };

function textField(label) {
  const input = el("textarea", { rows: "2" });
  return { input, label: el("label", { class: "field" }, el("span", { text: label }), input) };
}

function choices(label, options) {
  const name = newId("choice");
  const radios = options.map((option) => el("input", { type: "radio", name, value: option }));
  const own = el("input", { type: "text", autocomplete: "off" });
  const rows = radios.map((radio, at) => el("label", { class: "choice" }, radio, el("span", {}, seen(options[at]))));
  const fieldset = el("fieldset", {}, el("legend", { text: label }), rows,
    el("label", { class: "field" }, el("span", { text: "Or in your own words" }), own));
  return { fieldset, chosen: () => own.value.trim() || radios.find((radio) => radio.checked)?.value || null };
}

/// Shows a call; `reply` sends its result.
export function clientCall(parent, request, reply, options) {
  const known = Object.hasOwn(TOOLS, request.tool_name);
  const title = known ? TITLES[request.tool_name] : `${request.tool_name} runs at the client`;
  const ask = new Ask(parent, title, reply, options);
  const returns = (end, shown) => ({
    path: "tool-results",
    body: { client_call_id: request.client_call_id, ...end },
    shown,
  });
  const result = (content) => returns({ result: { content } }, `You answered: ${content}`);
  if (!known) {
    unknown(ask, request, returns);
    return ask;
  }
  const read = TOOLS[request.tool_name](ask, request.arguments ?? {});
  const declined = () => returns({ failure: { kind: "tool_threw", message: "the user does not want to answer" } }, "You did not answer");
  if (read === null) {
    ask.buttons(["Yes", () => result("yes")], ["No", () => result("no")]);
    return ask;
  }
  const answer = () => {
    const content = read();
    ask.error.textContent = content === null ? "Enter an answer first." : "";
    return content === null ? null : result(content);
  };
  ask.buttons(["Answer", answer], ["Do not answer", declined]);
  return ask;
}

/// Shows a call of a tool that this page has not; a person may stand in for it.
function unknown(ask, request, returns) {
  ask.body.append(
    el("p", { class: "why", text: "This page does not have this tool. You can enter its result by hand, or report that it is not available." }),
    el("pre", { tabindex: "0", text: visible(pretty(request.arguments)) }),
  );
  const { label, input } = textField("Result, which the model reads");
  ask.controls.append(label);
  ask.buttons(
    ["Send this result", () => returns({ result: { content: input.value } }, "You sent the result")],
    ["Not available", () => {
      const failure = { kind: "unknown_tool", message: "the console has no such tool" };
      return returns({ failure }, "Not available");
    }],
  );
}

