// What waits for the user in the middle of a run: a frame with a title, something to look at, and buttons.

import { Problem } from "./api.js";
import { button, clear, el, newId } from "./dom.js";
import { say } from "./say.js";
import { visible } from "./unseen.js";

// Those that are open, in their order.
const open = new Set();
const watchers = new Set();

/// Calls a function when something begins or ends to wait; returns what takes it back.
export function watchAsks(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export const openAsks = () => [...open];

function changed() {
  for (const watcher of watchers) watcher(openAsks());
}

/// A frame that waits for the user.
export class Ask {
  /// `reply` sends a body to a path of the run.
  constructor(parent, name, reply, { isLive = true } = {}) {
    const title = visible(name);
    this.reply = reply;
    this.isOpen = true;
    const id = newId("ask");
    this.title = el("h3", { id, tabindex: "-1", text: title });
    this.body = el("div", { class: "ask-body" });
    this.error = el("p", { class: "error", role: "alert" });
    this.controls = el("div", { class: "ask-controls" });
    this.node = el("section", { class: "ask", role: "group", "aria-labelledby": id }, this.title, this.body, this.controls, this.error);
    parent.append(this.node);
    open.add(this);
    if (isLive) say(`${title}. Your answer is needed.`);
    changed();
  }

  /// Moves the focus here.
  focus() {
    this.node.scrollIntoView({ block: "nearest" });
    this.title.focus({ preventScroll: true });
  }

  /// Adds buttons: pairs of a label and the answer that it sends, the first one being the usual one.
  buttons(...pairs) {
    const row = el("div", { class: "buttons" });
    for (const [at, [label, answer]] of pairs.entries()) {
      row.append(button(label, () => this.send(answer), { class: at === 0 ? "button primary" : "button" }));
    }
    this.controls.append(row);
  }

  /// Sends what `answer` returns: a path, a body, and what is shown then. Nothing where it returns `null`.
  async send(answer) {
    const given = answer();
    if (given === null || !this.isOpen) return;
    const { path, body, shown } = given;
    this.error.textContent = "";
    this.disable(true);
    this.isSending = true;
    let end = null;
    try {
      await this.reply(path, body);
      end = shown;
    } catch (error) {
      if (error instanceof Problem && error.isGone) {
        end = "Answered elsewhere, or no longer needed";
      } else {
        this.error.textContent = `Not sent: ${error.message}`;
        this.disable(false);
      }
    }
    this.isSending = false;
    const told = end === shown ? end : this.told ?? end;
    if (told !== null) this.settle(told);
  }

  disable(is) {
    for (const node of this.node.querySelectorAll("button, input, select, textarea")) node.disabled = is;
  }

  /// Ends it; what was said first stays.
  settle(text) {
    if (!this.isOpen) return;
    if (this.isSending) {
      // The event of an answer may be here before the answer to it.
      this.told = text;
      return;
    }
    this.isOpen = false;
    open.delete(this);
    const had = this.node.contains(document.activeElement);
    clear(this.controls).append(el("p", { class: "settled", text: visible(text) }));
    this.error.remove();
    this.node.classList.add("is-settled");
    if (had) this.title.focus({ preventScroll: true });
    changed();
  }
}

/// Forgets all that wait, where another conversation is shown.
export function forgetAsks() {
  open.clear();
  changed();
}
