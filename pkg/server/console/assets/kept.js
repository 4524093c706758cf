// What the messages of a conversation tell of its turns, where the events of a run are not read.

import { ask, path } from "./api.js";

// Messages of a page, and the place behind all of them.
const PAGE = 200;
const END = String(Number.MAX_SAFE_INTEGER);

const isSaid = ({ message }) => message.role === "user" && textOf(message) !== "";

/// Reads the messages of a conversation before a place, the last ones where it is `null`. Returns them as turns, `{ run, said, messages }`, the
/// place before which there are more, the messages at the beginning whose turn begins before that, and the id of the run that goes on.
///
/// `behind` are such messages of the page that was read before.
export async function readTurns(conversation, { before = null, behind = [], limit = PAGE } = {}) {
  const { page, open_run: open } = await ask(`${path`v1/conversations/${conversation}`}?limit=${limit}&before=${before ?? END}`);
  const all = [...page.messages, ...behind].filter((it) => it.taken_back !== true);
  const previous = page.previous ?? null;
  const turns = grouped(all);
  // A turn that the page has cut is whole on the page before.
  const rest = previous !== null && turns.length > 0 ? turns.shift().messages : [];
  return { turns, previous, rest, open: open ?? null };
}

/// Puts messages that follow one another and are of one run together; where no run is known, a turn begins with what the user said.
function grouped(messages) {
  const turns = [];
  for (const entry of messages) {
    const run = entry.run_id ?? null;
    const last = turns.at(-1);
    if (!last || last.run !== run || (run === null && isSaid(entry))) turns.push({ run, said: null, messages: [] });
    turns.at(-1).messages.push(entry);
  }
  for (const turn of turns) {
    if (isSaid(turn.messages[0])) turn.said = textOf(turn.messages[0].message);
  }
  return turns;
}

/// Returns the words of a message.
export function textOf({ parts = [] }) {
  const words = parts.filter((part) => part.type === "text").map((part) => part.text);
  return [...words, ...filesOf(parts)].join("\n").trim();
}

function filesOf(parts) {
  const files = parts.filter((part) => part.type === "image" || part.type === "document");
  return files.map((part) => `[${part.name ?? part.media_type}]`);
}

/// Returns events that tell what the messages of a turn do, for the view of a run.
export function eventsOf({ said, messages }) {
  const events = [];
  let turn = 0;
  for (const { at_ms: at, message, as_read: parts = message.parts } of said === null ? messages : messages.slice(1)) {
    const add = (type, members = {}) => events.push({ type, turn, at, ...members });
    if (message.role === "user") {
      add("custom", { name: "steered", data: { text: textOf(message) } });
      continue;
    }
    if (message.role === "assistant") turn += 1;
    for (const part of parts) of(part, add);
  }
  return events;
}

function of(part, add) {
  if (part.type === "thinking" && part.text !== "") {
    add("thinking_start");
    add("thinking_content", { content: part.text });
    add("thinking_end", { at: undefined });
  } else if (part.type === "text" && part.text.trim() !== "") {
    add("message_start");
    add("message_content", { content: part.text });
    add("message_end");
  } else if (part.type === "tool_call") {
    const call = { id: part.id, index: part.index, tool_name: part.name };
    if (part.outcome === "complete") add("tool_call", { ...call, index: undefined, arguments: part.arguments });
    else {
      add("tool_call_start", call);
      add("tool_call_content", { ...call, content: part.arguments_raw, arguments: "" });
      add("tool_call_end", { ...call, outcome: part.outcome, reason: part.reason });
    }
  } else if (part.type === "tool_result") {
    const type = part.is_error ? "tool_result_error" : "tool_result";
    add(type, { id: part.call_id, tool_name: part.name, content: part.content, duration_ms: 0 });
  }
}
