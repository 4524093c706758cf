// The chat: what was said, what is said now, and the box to say more in.

import { ask, askAgain, path } from "./api.js";
import { forgetAsks, watchAsks } from "./ask.js";
import { byId, clear, el } from "./dom.js";
import { agentChosen, remember } from "./session.js";
import { say } from "./say.js";
import { Talk } from "./talk.js";

const nodes = {};
const state = { open: null, queued: [], isAtEnd: true, beginning: null, onBegun: () => {} };
let talk = null;

/// Sets the page up; `onBegun` is told of a run that has begun, and of one that has ended.
export function setUp({ onBegun }) {
  for (const id of ["talk", "scroll", "welcome", "jump", "waits", "waits-text", "waits-go", "queued", "compose", "text",
    "hint", "when", "when-field", "agent-field", "stop", "send", "status"]) nodes[id] = byId(id);
  state.onBegun = onBegun;
  talk = new Talk(nodes.talk, nodes.scroll, {
    keeping,
    note,
    onOpen: changedOpen,
    onEnd: ended,
    onSteered: steered,
    onAgain: (text) => begin(text).then((done) => done || giveBack(text)),
  });
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
  nodes["waits-text"].textContent = asks.length === 1 ? asks[0].title.textContent : `${asks.length} questions are waiting for you`;
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
  if (conversation !== null && conversation === talk.conversation) return;
  close();
  talk.conversation = conversation;
  nodes.welcome.hidden = conversation !== null;
  note("");
  showState();
  if (conversation !== null) await talk.read(run);
  toEnd();
}

/// Forgets what is shown.
export function close() {
  talk.close();
  state.open = null;
  state.queued = [];
  state.beginning = null;
  forgetAsks();
  clear(nodes.queued);
}

function ended(turn, end) {
  changedOpen();
  // What another turn is to hear is for that one to hear.
  for (const waiting of state.queued.filter((it) => it.turn === turn)) unsent(waiting);
  state.onBegun(turn.run, end);
}

/// Runs open and end in any order, where several are read again.
function changedOpen() {
  state.open = talk.open();
  showState();
}

function showState() {
  const isOpen = state.open !== null;
  nodes.stop.hidden = !isOpen;
  nodes["when-field"].hidden = !isOpen;
  nodes["agent-field"].classList.toggle("is-fixed", talk.conversation !== null);
  nodes.text.placeholder = isOpen ? "Add a message" : "Ask anything";
  nodes.send.textContent = isOpen ? "Add" : "Send";
}

async function submit() {
  const text = nodes.text.value.trim();
  if (text === "") return;
  nodes.text.value = "";
  grow();
  askAgain();
  const visit = talk.visit;
  // A second message belongs to the conversation that the first one begins.
  const before = state.beginning;
  if (before !== null) await before;
  if (visit !== talk.visit) {
    giveBack(text, true);
    return;
  }
  const isFirstLost = before !== null && talk.conversation === null;
  const done = !isFirstLost && (state.open ? await steer(text) : await begin(text));
  // What could not be sent is not lost.
  if (!done) giveBack(text, isFirstLost);
}

/// Puts a text into the box again, before or behind what stands there.
function giveBack(text, isBehind = false) {
  const there = nodes.text.value;
  nodes.text.value = there === "" ? text : isBehind ? `${there}\n${text}` : `${text}\n${there}`;
  grow();
}

function begin(text) {
  const begun = send(text);
  if (talk.conversation === null) {
    state.beginning = begun;
    begun.finally(() => {
      if (state.beginning === begun) state.beginning = null;
    });
  }
  return begun;
}

async function send(text) {
  note("");
  const { visit, conversation } = talk;
  const body = { input: text };
  if (conversation !== null) body.conversation_id = conversation;
  else if (agentChosen()) body.agent = agentChosen();
  // The same key again, should the answer get lost, begins no second run.
  const headers = { "idempotency-key": key() };
  try {
    const begun = await retried(() => ask("v1/runs", { method: "POST", body, headers }));
    remember(begun.conversation_id, begun.run_id, text);
    // One who has gone elsewhere meanwhile stays there.
    if (visit === talk.visit) {
      nodes.welcome.hidden = true;
      talk.conversation = begun.conversation_id;
      talk.add({ run: begun.run_id, said: text });
      toEnd();
      location.hash = path`/chat/${begun.conversation_id}/${begun.run_id}`;
      talk.catchUp();
    }
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
  const waiting = { text, item, turn };
  state.queued.push(waiting);
  nodes.queued.append(item);
  try {
    await turn.reply("inputs", { input: text, when: nodes.when.value });
    return true;
  } catch (error) {
    // The end of the run has given it back already.
    if (!state.queued.includes(waiting)) return true;
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
function steered(turn, text, isRead) {
  const waiting = state.queued.find((it) => it.turn === turn && it.text === text);
  if (!waiting) return;
  if (isRead) drop(waiting);
  else unsent(waiting);
}

/// Gives back what the agent did not read.
function unsent(waiting) {
  drop(waiting);
  giveBack(waiting.text);
  note("The answer ended before this was read. Send it, or edit it first.");
  say("The answer ended before your message was read. It is back in the message box.");
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
