// A run as its reader sees it: what its events make of the page. It knows nothing of connections.

import { approval } from "./approval.js";
import { CallView } from "./call_view.js";
import { clientCall } from "./client_tool.js";
import { el } from "./dom.js";
import { link } from "./links.js";
import { Markdown } from "./markdown.js";
import { question } from "./question.js";
import { say } from "./say.js";
import { visible } from "./unseen.js";
import { brief, cut, duration, pretty } from "./values.js";

// An event that is older than this was not made while the page looked on, and is not said aloud.
const NEWS = 15_000;
const DEEPEST = 8;

const ENDED = {
  tool_approval_granted: "Allowed",
  tool_approval_rejected: "Rejected",
  tool_approval_timeout: "No one answered in time",
  tool_approval_cancelled: "No longer needed",
  client_tool_cancelled: "No longer needed",
};
const QUESTION_ENDS = { accepted: "Sent", declined: "Declined", cancelled: "No longer needed", timeout: "No one answered in time" };
// How an agent below ended.
const BELOW = { completed: "done", failed: "failed", cancelled: "stopped", interrupted: "interrupted" };
const NOTES = {
  context_trimmed: "The beginning of the conversation was left out of the request, because the conversation is too long for the model.",
  context_summarized: "The beginning of the conversation was summarized for the model.",
  answer_restarted: "The answer was restarted.",
  run_taken_over: "Another server has taken the run over.",
};

/// The view of a run, or of an agent below.
export class RunView {
  /// `reply` sends a body to a path of the run; `onSteered` gets what the user said when the agent reads it. Nothing of a run that is past
  /// is said aloud.
  constructor(node, { reply, onSteered = () => null, depth = 0, isPast = false }) {
    this.node = node;
    this.reply = reply;
    this.onSteered = onSteered;
    this.depth = depth;
    this.isPast = isPast;
    this.calls = new Map();
    this.asks = new Map();
    this.below = new Map();
    this.thinking = null;
    this.message = null;
    // The messages so far, and how many of them were there when the answer began.
    this.messages = [];
    this.before = 0;
    this.sources = null;
    this.model = "";
    this.usage = { input: 0, cached: 0, output: 0 };
  }

  /// Shows an event.
  event(event) {
    const name = HANDLERS[event.type];
    if (event.type !== "message_content" && event.type !== "thinking_content") this.flush();
    if (name) this[name](event);
  }

  isLive(event) {
    return !this.isPast && Date.now() - event.at < NEWS;
  }

  /// Shows the text that has come.
  flush() {
    if (this.message?.waiting) {
      this.message.markdown.push(this.message.waiting);
      this.message.waiting = "";
    }
    if (this.thinking?.waiting) {
      this.thinking.text.appendData(this.thinking.waiting);
      this.thinking.waiting = "";
      const { body } = this.thinking;
      if (this.thinking.fold.open) body.scrollTop = body.scrollHeight;
    }
    for (const below of this.below.values()) below.flush();
  }

  thinkingStart(event) {
    this.thinkingEnd(event);
    const text = document.createTextNode("");
    const label = el("span", { text: "Thinking…" });
    const body = el("div", { class: "thought" }, text);
    // What is thought now is shown while it comes, and folded behind it, unless its reader has folded it otherwise.
    const summary = el("summary", {}, label);
    const fold = el("details", { class: "thinking", open: this.isLive(event) }, summary, body);
    this.node.append(fold);
    const thinking = { text, label, fold, body, waiting: "", began: event.at, isChosen: false };
    summary.addEventListener("click", () => (thinking.isChosen = true));
    this.thinking = thinking;
  }

  thinkingContent(event) {
    if (!this.thinking) this.thinkingStart(event);
    this.thinking.waiting += event.content;
  }

  thinkingEnd(event) {
    if (!this.thinking) return;
    const { label, began, fold, isChosen } = this.thinking;
    if (!isChosen) fold.open = false;
    const time = event.at - began;
    label.textContent = Number.isFinite(time) ? `Thought for ${duration(Math.max(0, time))}` : "Thought";
    this.thinking = null;
  }

  messageStart() {
    const node = el("div", { class: "md" });
    this.node.append(node);
    this.message = { node, markdown: new Markdown(node), waiting: "", refused: false, source: "" };
    this.messages.push(this.message);
  }

  messageContent(event) {
    if (!this.message) this.messageStart();
    if (event.refusal && !this.message.refused) {
      this.message.refused = true;
      this.message.node.before(el("p", { class: "note", text: "The model refuses:" }));
    }
    this.message.waiting += event.content;
    this.message.source += event.content;
  }

  /// Returns what the model wrote, as it wrote it.
  source() {
    return this.messages.map((message) => message.source.trim()).filter((text) => text !== "").join("\n\n");
  }

  messageEnd(event) {
    if (!this.message) return;
    this.message.markdown.end();
    if (this.depth === 0 && this.isLive(event)) say(this.message.node.textContent);
    this.message = null;
  }

  call(event, name) {
    const key = `${event.turn}.${event.id}`;
    let view = this.calls.get(key);
    if (!view) {
      // A model that writes calls as text may name one only at its end.
      const waits = (it) => !it.isKnown && it.turn === event.turn && it.name.textContent === visible(name ?? "") && event.index === undefined;
      view = [...this.calls.values()].find(waits);
      if (!view) {
        view = new CallView(this.node, name);
        view.turn = event.turn;
        view.index = event.index;
      }
      view.id = event.id;
      this.calls.set(key, view);
    }
    view.named(name);
    return view;
  }

  callAt(event) {
    return [...this.calls.values()].findLast((it) => it.turn === event.turn && it.index === event.index);
  }

  callStart(event) {
    this.call(event, event.tool_name);
  }

  callContent(event) {
    this.callAt(event)?.writes(event.arguments === "" ? event.content : event.arguments);
  }

  callEnd(event) {
    const view = this.callAt(event);
    if (!view) return;
    view.named(event.tool_name);
    if (event.outcome === "complete") view.stands("waiting");
    else view.malformed(event.reason);
  }

  callRuns(event) {
    const view = this.call(event, event.tool_name);
    view.given(event.tool_name, event.arguments);
    view.stands("running", "running");
  }

  callPrints(event) {
    this.call(event, event.tool_name).prints(event.content);
  }

  callReturned(event) {
    const view = this.call(event, event.tool_name);
    view.returned(event.content, event.duration_ms, event.type === "tool_result_error");
    for (const ask of this.asks.values()) if (ask.call === view) ask.settle("No longer needed");
    const isError = event.type === "tool_result_error";
    for (const below of this.below.values()) {
      if (below.caller === view && !below.background) below.ends(event.at, isError ? "failed" : "completed");
    }
  }

  wait(event, id, show) {
    if (this.asks.has(id)) return;
    const view = this.call(event, event.tool_name);
    if (event.arguments !== undefined) view.given(event.tool_name, event.arguments);
    view.stands("waits for you", "waiting");
    const ask = show(view.asks, event, this.reply, { isLive: this.isLive(event) });
    ask.call = view;
    this.asks.set(id, ask);
  }

  approvalAsked(event) {
    this.wait(event, event.approval_id, approval);
  }

  clientAsked(event) {
    this.wait(event, event.client_call_id, clientCall);
  }

  questionAsked(event) {
    this.wait(event, event.question_id, question);
  }

  waitEnds(event) {
    const ask = this.asks.get(event.approval_id ?? event.client_call_id);
    const reason = event.reason ? `: ${event.reason}` : "";
    ask?.settle(`${ENDED[event.type]}${reason}`);
    const state = event.type === "tool_approval_granted" ? "allowed" : ENDED[event.type].toLowerCase();
    this.call(event, event.tool_name).stands(state);
  }

  questionEnds(event) {
    this.asks.get(event.question_id)?.settle(QUESTION_ENDS[event.end] ?? "Ended");
    this.call(event, event.tool_name).stands("running", "running");
  }

  apiStart(event) {
    this.model = `${event.provider} · ${event.model}`;
    this.before = this.messages.length;
  }

  used({ usage }) {
    this.usage.input += usage.input_tokens ?? 0;
    this.usage.cached += usage.cache_read_tokens ?? 0;
    this.usage.output += usage.output_tokens ?? 0;
  }

  failed(event) {
    if (event.code !== "cancelled") this.error(event);
  }

  error(error) {
    this.node.append(el("p", { class: "failure" }, el("strong", { text: "Failed: " }), visible(error.message)));
    if (this.depth === 0) say(`The run failed: ${error.message}`);
  }

  note(text) {
    this.node.append(el("p", { class: "note", text: visible(text) }));
  }

  retried(event) {
    this.note(`Attempt ${event.attempt} of ${event.max_attempts} failed: ${event.message}. Retrying in ${duration(event.delay_ms)}.`);
  }

  failedOver(event) {
    this.note(`${event.from_provider} failed (${event.reason}); ${event.to_provider || "the next"} takes over${event.to_model ? ` with ${event.to_model}` : ""}.`);
  }

  noCall() {
    this.note("The answer had no tool call, but needs one; the model is asked again.");
  }

  custom(event) {
    if (event.name === "sub_agent") this.sub(event);
    else if (event.name === "steered") this.steered(event);
    else if (event.name === "undelivered") for (const text of event.data?.texts ?? []) this.onSteered(String(text), false);
    else if (Object.hasOwn(NOTES, event.name)) this.note(NOTES[event.name]);
    if (event.name === "answer_restarted") this.messages.length = Math.min(this.before, this.messages.length);
  }

  steered(event) {
    const text = String(event.data?.text ?? "");
    this.onSteered(text, true);
    this.node.append(el("div", { class: "said steer" }, el("p", { class: "hidden", text: "You added" }), el("p", { text })));
  }

  sub(event) {
    const { envelope, call_id: id, name, background } = event.data ?? {};
    if (!envelope || this.depth >= DEEPEST) return;
    let below = this.below.get(envelope.run_id);
    if (!below) {
      const call = [...this.calls.values()].findLast((it) => it.id === id) ?? this.call({ ...event, id }, name);
      // Where a restart cut one off, the call has it begin again.
      for (const other of this.below.values()) if (other.caller === call && !other.background) other.ends(event.at, "interrupted");
      const state = el("span", { class: "call-state" });
      const inside = el("div", { class: "inside" });
      const fold = el("details", { class: "below", open: true }, el("summary", {}, el("span", { text: `Agent ${visible(String(name))}` }), state), inside);
      call.below.append(fold);
      below = new RunView(inside, { reply: this.reply, depth: this.depth + 1, isPast: this.isPast });
      Object.assign(below, { caller: call, fold, state, background });
      this.below.set(envelope.run_id, below);
      state.textContent = background ? "working in the background" : "working";
    }
    below.event(envelope);
  }

  item(event) {
    if (event.kind === "citation") this.cited(event);
    else if (event.kind === "server_tool_call") {
      const view = this.call(event, event.tool_name);
      view.given(event.tool_name, event.arguments);
      view.stands("runs at the provider", "running");
    } else if (event.kind === "server_tool_result") {
      this.call(event, event.tool_name).returned(cut(pretty(event.raw), 20_000), 0, event.is_error);
    } else if (event.kind === "media") this.note(`The model generated ${event.media_type}; see the events.`);
  }

  cited({ url, title, cited_text: passage }) {
    if (!this.sources) {
      this.sources = el("ol", { class: "sources" });
      this.node.append(el("details", { class: "cited" }, el("summary", { text: "Sources" }), this.sources));
    }
    const words = visible(title || url || brief(passage ?? "a document"));
    this.sources.append(el("li", {}, url ? link(url, words) : el("span", { text: words })));
  }

  /// Says that nothing comes any more, and how it ended.
  ends(at = Date.now(), status = "interrupted") {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.flush();
    this.message?.markdown.end();
    this.message = null;
    this.thinkingEnd({ at });
    for (const view of this.calls.values()) view.ends();
    for (const ask of this.asks.values()) ask.settle("The run has ended");
    for (const below of this.below.values()) below.ends(at, status);
    if (this.fold) {
      this.state.textContent = BELOW[status] ?? "ended";
      this.fold.open = false;
    }
  }
}

const HANDLERS = {
  thinking_start: "thinkingStart",
  thinking_content: "thinkingContent",
  thinking_end: "thinkingEnd",
  message_start: "messageStart",
  message_content: "messageContent",
  message_end: "messageEnd",
  tool_call_start: "callStart",
  tool_call_content: "callContent",
  tool_call_end: "callEnd",
  tool_call: "callRuns",
  tool_output: "callPrints",
  tool_result: "callReturned",
  tool_result_error: "callReturned",
  tool_approval_request: "approvalAsked",
  tool_approval_granted: "waitEnds",
  tool_approval_rejected: "waitEnds",
  tool_approval_timeout: "waitEnds",
  tool_approval_cancelled: "waitEnds",
  client_tool_request: "clientAsked",
  client_tool_cancelled: "waitEnds",
  tool_question: "questionAsked",
  tool_question_end: "questionEnds",
  no_tool_call: "noCall",
  api_call_start: "apiStart",
  token_usage: "used",
  error: "failed",
  retry: "retried",
  failover: "failedOver",
  custom: "custom",
  provider_item: "item",
};
