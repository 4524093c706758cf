// The chat: what was said, what is said now, and the box to say more in.

import { ask, path } from "./api.js";
import { forgetAsks, watchAsks } from "./ask.js";
import { byId, clear, el } from "./dom.js";
import { agentChosen, remember, rememberedRuns } from "./session.js";
import { say } from "./say.js";
import { Turn, lastSaid, past } from "./turn.js";

// Most messages of a conversation that are shown besides its runs.
const MOST_MESSAGES = 2000;

const nodes = {};
const state = { conversation: null, turns: [], open: null, queued: [], isAtEnd: true, onBegun: () => {} };

/// Sets the page up; `onBegun` is told of a run that has begun, and of one that has ended.
export function setUp({ onBegun }) {
  for (const id of ["talk", "scroll", "welcome", "jump", "waits", "waits-text", "waits-go", "queued", "compose", "text",
    "hint", "when", "when-field", "agent-field", "stop", "send", "status"]) nodes[id] = byId(id);
  state.onBegun = onBegun;
  nodes.compose.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  nodes.text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && nodes.text.value === "" && state.open) {
      stop();
    }
  });
  nodes.text.addEventListener("input", grow);
  nodes.stop.addEventListener("click", stop);
  nodes.jump.addEventListener("click", () => {
    toEnd();
    nodes.text.focus();
  });
  nodes.scroll.addEventListener("scroll", () => {
    state.isAtEnd = isAtEnd();
    nodes.jump.hidden = state.isAtEnd;
  }, { passive: true });
  // Whatever grows or shrinks, the end stays in view where it was.
  const sizes = new ResizeObserver(() => {
    if (state.isAtEnd) toEnd();
    else nodes.jump.hidden = isAtEnd();
  });
  sizes.observe(nodes.scroll);
  sizes.observe(nodes.talk);
  watchAsks(showAsks);
}

function showAsks(asks) {
  nodes.waits.hidden = asks.length === 0;
  nodes["waits-text"].textContent = asks.length === 1 ? asks[0].title.textContent : `${asks.length} questions wait for you`;
  nodes["waits-go"].onclick = () => asks[0]?.focus();
}

function grow() {
  nodes.text.style.height = "auto";
  nodes.text.style.height = `${Math.min(nodes.text.scrollHeight + 2, innerHeight * 0.4)}px`;
}

const isAtEnd = () => nodes.scroll.scrollHeight - nodes.scroll.scrollTop - nodes.scroll.clientHeight < 48;

function toEnd() {
  state.isAtEnd = true;
  nodes.scroll.scrollTop = nodes.scroll.scrollHeight;
  nodes.jump.hidden = true;
}

/// Changes what is shown, and stays at the end where it was.
function keeping(change) {
  change();
  if (state.isAtEnd) toEnd();
}

function note(text, isError = false) {
  nodes.status.textContent = text;
  nodes.status.classList.toggle("error", isError);
}

/// Shows a conversation; `run` is one of its runs, which may be all that is known of it.
export async function show(conversation, run) {
  if (conversation !== null && conversation === state.conversation) return;
  close();
  state.conversation = conversation;
  nodes.welcome.hidden = conversation !== null;
  note("");
  showState();
  if (conversation === null) return;
  const shown = conversation;
  const runs = rememberedRuns(conversation);
  const { messages, open } = await stored(conversation);
  if (state.conversation !== shown) return;
  for (const other of [run, open]) {
    if (other && !runs.some((it) => it.run === other)) runs.push({ run: other, said: runs.length > 0 ? lastSaid(messages) : null });
  }
  // What this tab has not seen begin is told by the conversation's messages.
  nodes.talk.append(...past(messages, runs));
  for (const known of runs) add(known.run, known.said);
  toEnd();
}

/// Reads the messages of a conversation that the service keeps, and the id of its run that goes on.
async function stored(conversation) {
  const all = [];
  let open = null;
  try {
    for (let after = ""; after !== null && all.length < MOST_MESSAGES;) {
      const { page, open_run } = await ask(`${path`v1/conversations/${conversation}`}?limit=200${after === "" ? "" : `&after=${after}`}`);
      all.push(...page.messages);
      after = page.next;
      open = open_run ?? null;
    }
  } catch {
    // A conversation that is not kept: its runs are still there.
  }
  return { messages: all, open };
}

/// Forgets what is shown.
export function close() {
  for (const turn of state.turns) turn.stop();
  state.turns = [];
  state.open = null;
  state.queued = [];
  state.conversation = null;
  forgetAsks();
  clear(nodes.talk);
  clear(nodes.queued);
}

function add(run, said) {
  const turn = new Turn({
    run,
    said,
    keeping,
    onOpen: changedOpen,
    onEnd: (end) => ended(turn, end),
    onSteered: steered,
    onLost: (isLost) => note(isLost ? "The connection was lost; connecting again…" : ""),
    onAgain: (text) => begin(text),
  });
  state.turns.push(turn);
  keeping(() => nodes.talk.append(...turn.nodes));
  turn.follow();
  return turn;
}

/// Runs open and end in any order, where several are read again.
function changedOpen() {
  state.open = state.turns.findLast((turn) => turn.isOpen) ?? null;
  showState();
}

function ended(turn, end) {
  changedOpen();
  for (const waiting of state.queued.splice(0)) unsent(waiting);
  state.onBegun(turn.run, end);
}

function showState() {
  const isOpen = state.open !== null;
  nodes.stop.hidden = !isOpen;
  nodes["when-field"].hidden = !isOpen;
  nodes["agent-field"].classList.toggle("is-fixed", state.conversation !== null);
  nodes.text.placeholder = isOpen ? "Say something meanwhile" : "Ask something";
  nodes.send.textContent = isOpen ? "Add" : "Send";
}

async function submit() {
  const text = nodes.text.value.trim();
  if (text === "") return;
  nodes.text.value = "";
  grow();
  const done = state.open ? await steer(text) : await begin(text);
  // What could not be sent is not lost.
  if (!done && nodes.text.value === "") {
    nodes.text.value = text;
    grow();
  }
}

async function begin(text) {
  note("");
  const body = { input: text };
  if (state.conversation !== null) body.conversation_id = state.conversation;
  else if (agentChosen()) body.agent = agentChosen();
  // The same key again, should the answer get lost, begins no second run.
  const headers = { "idempotency-key": key() };
  try {
    const begun = await retried(() => ask("v1/runs", { method: "POST", body, headers }));
    nodes.welcome.hidden = true;
    state.conversation = begun.conversation_id;
    remember(begun.conversation_id, begun.run_id, text);
    add(begun.run_id, text);
    toEnd();
    location.hash = path`/chat/${begun.conversation_id}/${begun.run_id}`;
    state.onBegun(begun.run_id, null);
    return true;
  } catch (error) {
    note(`Not sent: ${error.message}`, true);
    return false;
  }
}

function key() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/// Sends again once where there was no answer at all.
async function retried(request) {
  try {
    return await request();
  } catch (error) {
    if (error.status !== undefined) throw error;
    return request();
  }
}

async function steer(text) {
  const turn = state.open;
  const item = el("li", { class: "is-waiting" }, el("span", { text }), el("small", { text: nodes.when.selectedOptions[0].textContent }));
  const waiting = { text, item };
  state.queued.push(waiting);
  nodes.queued.append(item);
  try {
    await turn.reply("inputs", { input: text, when: nodes.when.value });
    return true;
  } catch (error) {
    drop(waiting);
    if (error.isGone) return begin(text);
    note(`Not sent: ${error.message}`, true);
    return false;
  }
}

function drop(waiting) {
  state.queued = state.queued.filter((it) => it !== waiting);
  waiting.item.remove();
}

/// Hears that the agent has read something that was said meanwhile, or that it will not.
function steered(text, isRead) {
  const waiting = state.queued.find((it) => it.text === text);
  if (!waiting) return;
  if (isRead) drop(waiting);
  else unsent(waiting);
}

/// Gives back what the agent did not read.
function unsent(waiting) {
  drop(waiting);
  nodes.text.value = nodes.text.value === "" ? waiting.text : `${waiting.text}\n${nodes.text.value}`;
  grow();
  note("The answer ended before this was read. Send it, or change it first.");
  say("The answer ended before your message was read. It is in the message box again.");
}

async function stop() {
  if (!state.open) return;
  note("Stopping…");
  try {
    await state.open.reply("cancel", {});
    note("");
  } catch (error) {
    note(error.isGone ? "" : `Not stopped: ${error.message}`, !error.isGone);
  }
  nodes.text.focus();
}

/// Moves the focus into the box.
export function focus() {
  nodes.text.focus({ preventScroll: true });
}
