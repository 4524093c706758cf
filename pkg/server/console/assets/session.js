// What this tab remembers: the runs that it began, so that a page that is loaded again shows them again.

import { byId } from "./dom.js";

const RUNS = "forgeline.runs";
// Most runs that a tab remembers.
const MOST = 300;
const SAID = 4000;

/// Cuts a text that is too long to be remembered, and says that it did.
function short(said) {
  return said.length > SAID ? { said: `${said.slice(0, SAID)}…`, isCut: true } : { said };
}

function read() {
  try {
    const found = JSON.parse(sessionStorage.getItem(RUNS) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function write(runs) {
  try {
    sessionStorage.setItem(RUNS, JSON.stringify(runs.slice(-MOST)));
  } catch {
    // A store that is full: older runs are not shown after a reload.
    sessionStorage.removeItem(RUNS);
  }
}

/// Remembers a run and what the user said.
export function remember(conversation, run, said) {
  write([...read(), { conversation, run, ...short(said), at: Date.now() }]);
}

/// Returns the runs of a conversation, the first one first.
export function rememberedRuns(conversation) {
  return read().filter((it) => it.conversation === conversation).map(({ run, said, isCut = false }) => ({ run, said, isCut }));
}

/// Returns the conversations of this tab, the latest one first.
export function rememberedConversations() {
  const found = new Map();
  for (const { conversation, run, said, at } of read()) {
    const known = found.get(conversation);
    found.set(conversation, { id: conversation, title: known?.title ?? said, run, at });
  }
  return [...found.values()].sort((one, other) => other.at - one.at);
}

/// Forgets all runs, and what was said.
export function forgetAll() {
  sessionStorage.removeItem(RUNS);
}

/// Forgets a conversation.
export function forget(conversation) {
  write(read().filter((it) => it.conversation !== conversation));
}

/// Returns the run that began last.
export const lastRun = () => read().at(-1)?.run ?? null;

/// Returns the agent that is chosen, or an empty text.
export const agentChosen = () => byId("agent").value;
