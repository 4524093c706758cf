// One turn of a conversation: what the user said, and the run that answers.

import { ask, path } from "./api.js";
import { button, copyButton, el } from "./dom.js";
import { Markdown } from "./markdown.js";
import { Pump } from "./pump.js";
import { RunView } from "./run_view.js";
import { say } from "./say.js";
import { follow } from "./stream.js";
import { count, duration } from "./values.js";

const STATES = { completed: "Completed", failed: "Failed", cancelled: "Stopped", interrupted: "Interrupted: the service ended meanwhile" };

function bubble(text) {
  return el("article", { class: "turn user" }, el("h2", { class: "hidden", text: "You said" }), el("div", { class: "said" }, el("p", { text })));
}

function answer(...children) {
  return el("article", { class: "turn agent" }, el("h2", { class: "hidden", text: "Answer" }), ...children);
}

/// A run on the page, and the reading of its events.
export class Turn {
  constructor({ run, said, keeping, onOpen, onEnd, onSteered, onLost, onAgain }) {
    Object.assign(this, { run, said, keeping, onOpen, onEnd, onLost, onAgain });
    this.stopping = new AbortController();
    this.content = el("div", { class: "content" });
    this.state = el("span", { class: "turn-state", text: "Waiting for the answer…" });
    this.foot = el("footer", { class: "turn-foot" }, this.state);
    this.view = new RunView(this.content, { reply: (to, body) => this.reply(to, body), onSteered });
    this.isOpen = false;
    this.began = null;
    this.node = answer(this.content, this.foot);
    this.node.classList.add("is-open");
    this.nodes = said === null ? [this.node] : [bubble(said), this.node];
    this.pump = new Pump((event) => this.event(event), () => this.keeping(() => this.view.flush()));
  }

  reply(to, body) {
    return ask(`${path`v1/runs/${this.run}`}/${to}`, { method: "POST", body });
  }

  stop() {
    this.stopping.abort();
    this.pump.stop();
  }

  async follow() {
    const { signal } = this.stopping;
    try {
      await follow(this.run, {
        signal,
        onEvent: (event) => this.pump.push(event),
        onState: (state) => {
          if (signal.aborted) return;
          this.onLost(state === "lost");
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
    if (event.type === "api_call_start") this.state.textContent = `Answering · ${event.model}`;
  }

  ends(end) {
    this.hasEnded = true;
    this.isOpen = false;
    this.view.ends(this.at);
    this.node.classList.remove("is-open");
    this.state.textContent = [STATES[end.status] ?? end.status, ...this.facts(end)].join(" · ");
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
    const texts = () => [...this.content.querySelectorAll(":scope > .md")].map((node) => node.innerText).join("\n\n");
    const copy = copyButton(texts);
    if (copy) row.append(copy);
    if (this.said !== null) row.append(button("Ask again", () => this.onAgain(this.said), { class: "quiet" }));
    row.append(el("a", { class: "quiet", href: `#${path`/events/${this.run}`}`, text: "Events" }));
    this.foot.append(row);
  }

  fails(error) {
    const text = error.isGone ? "The events of this run are not kept any more." : error.message;
    this.hasEnded = true;
    this.isOpen = false;
    this.keeping(() => {
      this.view.ends(this.at);
      this.node.classList.remove("is-open");
      this.state.textContent = text;
    });
    this.onEnd(null);
  }
}

/// Returns the nodes of the messages before those of `runs`, whose events tell more. The last run may be known by its id alone: it gets
/// what the user said last.
export function past(messages, runs) {
  const said = messages.map((entry) => entry.message ?? entry).map((it) => ({ role: it.role, text: textOf(it) }));
  let end = said.length;
  const isUser = (it) => it.role === "user" && it.text.trim() !== "";
  if (runs.length > 0 && runs[0].said !== null) {
    // A long text is remembered without its end.
    const head = runs[0].said.slice(0, 1000);
    const at = said.findLastIndex((it) => isUser(it) && it.text.startsWith(head));
    end = at < 0 ? end : at;
  } else if (runs.length > 0) {
    const at = said.findLastIndex(isUser);
    end = at < 0 ? end : at;
    runs[0].said = said[at]?.text ?? null;
  }
  const shown = said.slice(0, end).filter((it) => it.text.trim() !== "");
  return shown.flatMap((it) => {
    if (it.role === "user") return [bubble(it.text)];
    if (it.role !== "assistant") return [];
    const content = el("div", { class: "md" });
    const markdown = new Markdown(content);
    markdown.push(it.text);
    markdown.end();
    return [answer(el("div", { class: "content" }, content))];
  });
}

/// Returns what the user said last.
export function lastSaid(messages) {
  const own = messages.map((entry) => entry.message ?? entry).findLast((it) => it.role === "user");
  return own ? textOf(own) : null;
}

function textOf(message) {
  if (typeof message.content === "string") return message.content;
  const parts = Array.isArray(message.parts) ? message.parts : Array.isArray(message.content) ? message.content : [];
  return parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
}
