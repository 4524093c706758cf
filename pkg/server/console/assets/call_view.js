// A call of a tool: a line that says what it is and how it stands, and folded below it what it was given and gave back.

import { button, el } from "./dom.js";
import { visible } from "./unseen.js";
import { brief, duration, pretty } from "./values.js";

const SHOWN = 20_000;

/// A text that is shown as it comes; its beginning only where it is long.
class Output {
  constructor(parent, label) {
    this.whole = "";
    this.text = document.createTextNode("");
    this.pre = el("pre", { tabindex: "0", "aria-label": label }, this.text);
    this.more = button("", () => this.all(), { class: "quiet", hidden: true });
    parent.append(el("p", { class: "caption", text: label }), this.pre, this.more);
  }

  add(more) {
    const text = visible(more);
    const room = SHOWN - this.whole.length;
    this.whole += text;
    if (this.isWhole) this.text.appendData(text);
    else if (room > 0) this.text.appendData(text.slice(0, room));
    this.more.hidden = this.isWhole || this.whole.length <= SHOWN;
    this.more.textContent = `Show all ${this.whole.length.toLocaleString("en")} characters`;
  }

  set(text) {
    this.whole = "";
    this.text.data = "";
    this.add(text);
  }

  all() {
    this.isWhole = true;
    this.text.data = this.whole;
    this.more.hidden = true;
  }
}

/// The view of a call.
export class CallView {
  constructor(parent, name) {
    this.name = el("code", { class: "call-name", text: visible(name ?? "call") });
    this.short = el("span", { class: "call-short" });
    this.state = el("span", { class: "call-state", text: "writing" });
    const head = el("summary", {}, this.name, this.short, this.state);
    this.inside = el("div", { class: "call-inside" });
    this.fold = el("details", {}, head, this.inside);
    // What waits for the user, and agents below, stand where they are seen.
    this.asks = el("div", { class: "call-asks" });
    this.below = el("div", { class: "call-below" });
    this.node = el("section", { class: "call" }, this.fold, this.asks, this.below);
    this.outputs = {};
    this.isDone = false;
    this.isKnown = false;
    parent.append(this.node);
  }

  output(key, label) {
    this.outputs[key] ??= new Output(this.inside, label);
    return this.outputs[key];
  }

  named(name) {
    if (name) this.name.textContent = visible(name);
  }

  /// More of the arguments, as the model writes them.
  writes(text) {
    const output = this.output("arguments", "Arguments");
    output.add(text);
    if (output.whole.length < 400) this.short.textContent = brief(output.whole);
  }

  given(name, given) {
    this.isKnown = true;
    this.named(name);
    this.output("arguments", "Arguments").set(pretty(given));
    this.short.textContent = brief(given);
  }

  stands(state, kind = "") {
    if (this.isDone) return;
    this.state.textContent = state;
    this.node.dataset.state = kind;
  }

  prints(text) {
    this.output("output", "Output").add(text);
  }

  returned(content, ms, isError) {
    this.stands(`${isError ? "failed" : "done"}${ms > 0 ? ` · ${duration(ms)}` : ""}`, isError ? "failed" : "done");
    this.isDone = true;
    this.output("result", isError ? "Error, which the model reads" : "Result, which the model reads").set(content);
  }

  malformed(reason) {
    this.stands("not readable", "failed");
    this.output("reason", "Mistake").set(reason ?? "the call was cut off");
  }

  /// Says that nothing comes any more.
  ends() {
    this.stands("ended", "failed");
    this.isDone = true;
  }
}
