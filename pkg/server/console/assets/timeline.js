// The events of a run, one a row, with those of agents below inside.

import { exact } from "./api.js";
import { byId, clear, copyButton, el } from "./dom.js";
import { Pump } from "./pump.js";
import { Rows } from "./rows.js";
import { lastRun } from "./session.js";
import { follow } from "./stream.js";
import { visible } from "./unseen.js";
import { brief, count, duration, pretty } from "./values.js";

const GROUPS = {
  answer: /^message_/,
  thinking: /^thinking_/,
  calls: /^tool_(call|output|result)|^no_tool_call/,
  people: /^tool_(approval|question)|^client_tool/,
  provider: /^(api_call|token_usage|retry|failover|provider_item)/,
  errors: /^(error|tool_result_error|tool_approval_(rejected|timeout)|retry|failover)$/,
};
const NAMES = { all: "All events", answer: "Answer", thinking: "Thinking", calls: "Calls", people: "People and page", provider: "Provider", errors: "Errors" };

let shown = null;

/// Shows the events of a run, or of the last one of this tab.
export function show(run) {
  const of = run ?? lastRun();
  if (shown?.run === of && of !== null) return;
  hide();
  shown = new Timeline(byId("events"), of);
}

/// Forgets what is shown.
export function hide() {
  shown?.stop();
  shown = null;
}

class Timeline {
  constructor(node, run) {
    this.run = run;
    this.events = [];
    this.matches = [];
    this.stopping = new AbortController();
    clear(node);
    if (run === null) {
      node.append(el("h2", { text: "Events" }), el("p", { class: "empty", text: "Start a run in the chat, or open one with its “Events” link." }));
      this.pump = new Pump(() => {});
      return;
    }
    this.state = el("p", { class: "facts", role: "status" });
    this.group = el("select", { onchange: () => this.filter() },
      Object.entries(NAMES).map(([value, text]) => el("option", { value, text })));
    this.words = el("input", { type: "search", placeholder: "kind or text", oninput: () => this.filter() });
    this.rows = new Rows({ label: "Events", draw: (row, at) => this.draw(row, this.matches[at]), onChosen: (at) => this.choose(at) });
    this.detail = el("div", { class: "detail" }, el("p", { class: "empty", text: "Select an event to see its details." }));
    node.append(
      el("div", { class: "page-head" }, el("h2", { text: "Events" }), el("code", { class: "run-id", text: run }), this.state),
      el("div", { class: "filters" },
        el("label", { class: "inline" }, el("span", { text: "Show" }), this.group),
        el("label", { class: "inline" }, el("span", { text: "with" }), this.words)),
      el("div", { class: "row row-head", "aria-hidden": "true" },
        ...["seq", "time", "kind", "what"].map((text, at) => el("span", { class: `cell-${at}`, text }))),
      el("div", { class: "timeline" }, this.rows.node, this.detail));
    this.pump = new Pump(([event, data]) => this.add(event, data), () => this.counted());
    this.read();
  }

  stop() {
    this.stopping.abort();
    this.pump.stop();
  }

  async read() {
    const { signal } = this.stopping;
    try {
      await follow(this.run, { signal, onEvent: (...event) => this.pump.push(event) });
    } catch (error) {
      if (!signal.aborted) this.state.textContent = error.message;
    }
  }

  add(event, data) {
    let [inner, depth, agent] = [event, 0, ""];
    while (inner.type === "custom" && inner.name === "sub_agent" && inner.data?.envelope && depth < 8) {
      agent = visible(String(inner.data.name));
      inner = inner.data.envelope;
      depth += 1;
    }
    const row = { event, data, inner, depth, agent, at: inner.at ?? event.at ?? null, text: summary(inner) };
    this.began ??= event.at;
    this.last = event.at ?? this.last;
    this.events.push(row);
    if (event.type === "run_end") this.end = event.status;
    if (this.fits(row)) this.matches.push(row);
  }

  fits({ inner, text, agent }) {
    const group = GROUPS[this.group.value];
    if (group && !group.test(inner.type)) return false;
    const words = this.words.value.trim().toLowerCase();
    return words === "" || `${inner.type} ${agent} ${text}`.toLowerCase().includes(words);
  }

  filter() {
    this.matches = this.events.filter((row) => this.fits(row));
    this.rows.set(this.matches.length, true);
    this.rows.node.scrollTop = 0;
    this.rows.show();
    this.counted();
  }

  counted() {
    const all = `${count(this.events.length)} events`;
    const some = this.matches.length === this.events.length ? all : `${count(this.matches.length)} of ${all}`;
    const time = this.last > this.began ? ` in ${duration(this.last - this.began)}` : "";
    this.state.textContent = `${some}${time} · ${this.end ?? "in progress"}`;
    const follows = this.rows.set(this.matches.length) && !this.end && this.rows.chosen < 0;
    if (follows) this.rows.toEnd();
    this.rows.show();
  }

  draw(row, { event, inner, depth, agent, at, text }) {
    if (row.childElementCount === 0) {
      row.append(...[0, 1, 2, 3].map((it) => el("span", { class: `cell-${it}` })));
    }
    const [seq, time, kind, what] = row.children;
    seq.textContent = event.seq;
    time.textContent = at === null ? "" : `+${((at - this.began) / 1000).toFixed(3)}`;
    kind.textContent = inner.type;
    kind.className = `cell-2 of-${groupOf(inner.type)} depth-${Math.min(depth, 4)}`;
    what.textContent = agent && text ? `${agent}: ${text}` : agent || text;
  }

  choose(at) {
    const { inner, depth, data } = this.matches[at];
    let of = exact(data);
    for (let at = 0; at < depth; at += 1) of = of.data.envelope;
    const shownAs = visible(pretty(of));
    clear(this.detail).append(
      el("div", { class: "detail-head" }, el("h3", { text: inner.type }), copyButton(() => shownAs)),
      el("pre", { tabindex: "0", text: shownAs.length > 100_000 ? `${shownAs.slice(0, 100_000)}…` : shownAs }));
  }
}

const groupOf = (kind) => {
  if (kind === "error" || kind === "tool_result_error") return "errors";
  return Object.keys(GROUPS).find((name) => GROUPS[name].test(kind)) ?? "other";
};

const HIDDEN = new Set(["run_id", "turn", "seq", "at", "type"]);

/// Returns an event in one line.
function summary(event) {
  if (typeof event.content === "string" && event.tool_name === undefined && event.index === undefined) return brief(event.content);
  const members = Object.fromEntries(Object.entries(event).filter(([name, value]) => {
    const isNothing = value === null || (Array.isArray(value) && value.length === 0);
    return !HIDDEN.has(name) && !isNothing;
  }));
  return brief(members, 200);
}
