// One turn of a conversation: what the user said, and the run that answers.

import { ask, path } from "./api.js";
import { button, copyButton, el } from "./dom.js";
import { eventsOf } from "./kept.js";
import { Pump } from "./pump.js";
import { RunView } from "./run_view.js";
import { say } from "./say.js";
import { follow } from "./stream.js";
import { count, duration } from "./values.js";

const STATES = { completed: "Completed", failed: "Failed", cancelled: "Stopped", interrupted: "Interrupted: the service ended meanwhile" };

const ENDINGS = {
  limit: "Stopped at a limit", refused: "Refused by the model", filtered: "Stopped by a content filter",
  malformed: "Not readable by the provider", empty: "No answer", invalid: "Not what its schema asks for", cut: "Cut off at the length limit",
};

function bubble(text) {
  return el("article", { class: "turn user" }, el("h2", { class: "hidden", text: "You said" }), el("div", { class: "said" }, el("p", { text })));
}

function answer(...children) {
  return el("article", { class: "turn agent" }, el("h2", { class: "hidden", text: "Answer" }), ...children);
}

/// A run on the page, and the reading of its events.
///
/// `known` is what the conversation's messages tell of it, if they do. Of a run that is `past` this is shown until its events are read, which
/// tell more; of any run where they cannot be had.
export class Turn {
  constructor({ run, said, isCut = false, known = null, isPast = false, keeping, onOpen, onEnd, onSteered, onLost, onAgain }) {
    Object.assign(this, { run, said, isCut, known, isPast, keeping, onOpen, onEnd, onLost, onAgain });
    this.onSteered = (text, isRead) => isPast || onSteered(this, text, isRead);
    this.stopping = new AbortController();
    this.content = el("div", { class: "content" });
    this.state = el("span", { class: "turn-state", text: isPast ? "" : "Waiting for the answer…" });
    this.foot = el("footer", { class: "turn-foot" }, this.state);
    this.isOpen = false;
    this.began = null;
    this.node = answer(this.content, this.foot);
    this.node.classList.toggle("is-open", !isPast);
    this.nodes = said === null ? [this.node] : [bubble(said), this.node];
    this.view = this.viewOn(this.content);
    if (isPast) {
      this.showKnown();
      this.buttons();
    }
    this.pump = new Pump((event) => this.event(event), () => this.keeping(() => this.view.flush()));
  }

  viewOn(node) {
    return new RunView(node, { reply: (to, body) => this.reply(to, body), onSteered: (...said) => this.onSteered(...said), isPast: this.isPast });
  }

  reply(to, body) {
    return ask(`${path`v1/runs/${this.run}`}/${to}`, { method: "POST", body });
  }

  stop() {
    this.stopping.abort();
    this.pump.stop();
  }

  /// Shows what the messages tell.
  showKnown() {
    for (const event of eventsOf(this.known)) this.view.event(event);
    this.view.ends(undefined, "completed");
  }

  /// Reads the events of a run that is past, once, and shows them in place of what its messages tell.
  async readPast() {
    if (!this.isPast || this.run === null || this.whole) return;
    this.whole = el("div", { class: "content" });
    this.view = this.viewOn(this.whole);
    await this.follow();
  }

  async follow() {
    const { signal } = this.stopping;
    try {
      await follow(this.run, {
        signal,
        onEvent: (event) => this.pump.push(event),
        onState: (state, told) => {
          if (signal.aborted || this.isPast) return;
          this.onLost(state === "lost", told);
          if (state === "open") this.opens();
        },
      });
      await this.pump.done();
      if (!signal.aborted && !this.hasEnded) throw new Error("The run has ended, and its end is not known.");
    } catch (error) {
      await this.pump.done();
      if (!signal.aborted) this.fails(error);
    }
  }

  opens() {
    if (this.isOpen || this.hasEnded) return;
    this.isOpen = true;
    this.onOpen();
  }

  event(event) {
    if (event.type === "run_end") {
      this.keeping(() => this.ends(event));
      return;
    }
    this.began ??= event.at;
    this.at = event.at;
    this.view.event(event);
    if (event.type === "api_call_start" && !this.isPast) this.state.textContent = `Answering · ${event.model}`;
  }

  ends(end) {
    this.hasEnded = true;
    this.isOpen = false;
    this.view.ends(this.at, end.status);
    this.node.classList.remove("is-open");
    this.state.textContent = [ENDINGS[end.ending] ?? STATES[end.status] ?? end.status, ...this.facts(end)].join(" · ");
    if (this.isPast) {
      this.content.replaceWith(this.whole);
      this.content = this.whole;
      return;
    }
    if (end.status === "cancelled") say("Stopped.");
    this.buttons();
    this.onEnd(end);
  }

  facts({ usage }) {
    const facts = [];
    if (this.view.model) facts.push(this.view.model);
    if (this.at > this.began) facts.push(duration(this.at - this.began));
    const { input_tokens: input, output_tokens: output, cache_read_tokens: cached } = usage ?? {};
    if (input) facts.push(`${count(input)} tokens in${cached ? ` (${Math.round((cached / input) * 100)} % cached)` : ""}`);
    if (output) facts.push(`${count(output)} out`);
    return facts;
  }

  buttons() {
    const row = el("div", { class: "turn-buttons" });
    const copy = copyButton(() => this.view.source());
    if (copy) row.append(copy);
    // What is not known to its end is not asked again as if it were.
    if (this.said !== null && !this.isCut) row.append(button("Ask again", () => this.onAgain(this.said), { class: "quiet" }));
    if (this.run !== null) row.append(el("a", { class: "quiet", href: `#${path`/events/${this.run}`}`, text: "Events" }));
    this.foot.append(row);
  }

  fails(error) {
    const text = error.isGone ? "The events of this run are no longer available." : error.message;
    this.hasEnded = true;
    this.isOpen = false;
    this.keeping(() => {
      if (!this.isPast) {
        this.view.ends(this.at);
        if (this.known && !this.content.hasChildNodes()) {
          this.view = this.viewOn(this.content);
          this.showKnown();
        }
      }
      this.node.classList.remove("is-open");
      this.state.textContent = text;
    });
    if (!this.isPast) this.onEnd(null);
  }
}
