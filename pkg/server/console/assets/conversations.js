// The list of conversations: those that the service keeps, else those of this tab.

import { ask, path } from "./api.js";
import { askUser } from "./dialogs.js";
import { button, byId, clear, el } from "./dom.js";
import { forget, rememberedConversations } from "./session.js";
import { visible } from "./unseen.js";
import { cut, moment } from "./values.js";

const state = { current: null, kept: [], next: null, hasMore: false, isKept: true, onGone: () => {} };

/// Sets the list up; `onGone` is told of a conversation that was deleted.
export function setUp({ onGone }) {
  state.onGone = onGone;
  byId("more").addEventListener("click", () => load(state.next));
}

/// Marks the conversation that is shown.
export function mark(conversation) {
  state.current = conversation;
  show();
}

/// Reads the list anew.
export const refresh = () => load(null);

async function load(cursor) {
  try {
    const query = cursor === null ? "" : `?after=${encodeURIComponent(cursor)}`;
    const page = await ask(`v1/conversations${query}`);
    const found = Array.isArray(page?.conversations) ? page.conversations : [];
    const ids = new Set(found.map((it) => it.id));
    const others = state.kept.filter((it) => !ids.has(it.id));
    if (cursor !== null) state.kept = [...others, ...found];
    // What was read of older ones stays, and with it the place behind it.
    else state.kept = state.hasMore ? [...found, ...others] : found;
    if (cursor !== null || !state.hasMore) state.next = page?.next ?? null;
    state.hasMore ||= cursor !== null;
    state.isKept = true;
  } catch {
    // A service without a list.
    state.isKept = false;
    state.next = null;
    state.hasMore = false;
  }
  show();
}

/// Returns what the service keeps, and what it does not and this tab has seen.
function all() {
  const own = new Map(rememberedConversations().map((it) => [it.id, it]));
  const kept = state.isKept ? state.kept : [];
  const listed = kept.map((it) => {
    const mine = own.get(it.id);
    own.delete(it.id);
    return { id: it.id, title: it.title ?? mine?.title ?? "Untitled", at: it.updated_ms, run: mine?.run ?? null, isKept: true };
  });
  return [...listed, ...own.values()].sort((one, other) => other.at - one.at);
}

function show() {
  const shown = all();
  byId("no-conversations").hidden = shown.length > 0;
  byId("no-conversations").textContent = state.isKept
    ? "No conversations yet."
    : "Conversations in this browser tab appear here.";
  byId("more").hidden = state.next === null;
  const focused = document.activeElement?.closest?.("#conversations li")?.dataset.id;
  clear(byId("conversations")).append(...shown.map(row));
  if (focused) byId("conversations").querySelector(`li[data-id="${CSS.escape(focused)}"] a`)?.focus();
}

function row({ id, title, at, run, isKept }) {
  const words = visible(cut(title.replace(/\s+/g, " "), 80));
  const to = run ? path`/chat/${id}/${run}` : path`/chat/${id}`;
  const link = el("a", { href: `#${to}`, "aria-current": id === state.current ? "page" : null },
    el("span", { class: "title", text: words }), el("small", { text: at ? moment(at) : "" }));
  const own = { class: "quiet" };
  const menu = isKept
    ? [button("Rename", () => rename(id, title), { ...own, "aria-label": `Rename ${words}` }),
      button("Delete", () => remove(id, words), { ...own, "aria-label": `Delete ${words}` })]
    : [button("Forget", () => forgotten(id), { ...own, "aria-label": `Forget ${words}` })];
  // Where nothing hovers, this shows them.
  const more = button("⋯", () => menu[0].focus(), { class: "quiet row-more", "aria-label": `More for ${words}`, tabindex: "-1" });
  const item = el("li", {}, el("div", { class: "row-line" }, link, more), el("div", { class: "row-buttons" }, menu));
  item.dataset.id = id;
  return item;
}

function forgotten(id) {
  forget(id);
  if (id === state.current) state.onGone();
  show();
}

async function rename(id, title) {
  const given = await askUser({ title: "Rename the conversation", yes: "Rename", label: "Title", value: title });
  if (given) await changed({ method: "PATCH", body: { title: given } }, id);
}

async function remove(id, title) {
  const text = `“${title}” and its messages are removed from the service.`;
  if ((await askUser({ title: "Delete the conversation?", text, yes: "Delete" })) === null) return;
  if (!(await changed({ method: "DELETE" }, id))) return;
  state.kept = state.kept.filter((it) => it.id !== id);
  forget(id);
  if (id === state.current) state.onGone();
  show();
}

async function changed(request, id) {
  try {
    await ask(path`v1/conversations/${id}`, request);
    return true;
  } catch (error) {
    await askUser({ title: "The service refused the request", text: error.message, yes: "OK" });
    return false;
  } finally {
    await refresh();
  }
}
