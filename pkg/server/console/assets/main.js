// The page: its parts, and which one the address asks for.
//
// `#/` is a new conversation, `#/chat/CONVERSATION/RUN` one that is there, `#/events/RUN` the events of a run, `#/latency` the figures.

import { ask, forgetToken, onToken, token } from "./api.js";
import * as chat from "./chat.js";
import * as conversations from "./conversations.js";
import { askForToken } from "./dialogs.js";
import { byId, el } from "./dom.js";
import * as latency from "./latency.js";
import { forgetAll } from "./session.js";
import * as timeline from "./timeline.js";

const TITLES = { chat: "Chat", events: "Events", latency: "Latency" };
let back = "#/";
let shownPage = null;

function route() {
  const [page = "", ...ids] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const isChat = page === "" || page === "chat";
  const name = isChat ? "chat" : Object.hasOwn(TITLES, page) ? page : "chat";
  for (const other of Object.keys(TITLES)) {
    byId(other).hidden = other !== name;
    const link = byId(`to-${other}`);
    if (other === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = name === "chat" ? "forgeline" : `${TITLES[name]} · forgeline`;
  closeSide();
  if (name === "chat") {
    const [conversation = null, run = null] = isChat ? ids.map((id) => id || null) : [];
    back = location.hash || "#/";
    byId("to-chat").href = back;
    if (run) byId("to-events").href = `#/events/${encodeURIComponent(run)}`;
    conversations.mark(conversation);
    chat.show(conversation, run);
    timeline.hide();
    chat.focus();
  } else if (name === "events") {
    timeline.show(ids[0] || null);
  } else {
    timeline.hide();
    latency.show();
  }
  // What has changed is where the keyboard goes on.
  if (shownPage !== null && shownPage !== name && name !== "chat") byId("main").focus({ preventScroll: true });
  shownPage = name;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function closeSide() {
  byId("side").classList.remove("is-shown");
  byId("menu").setAttribute("aria-expanded", "false");
}

function toggleSide() {
  const isShown = byId("side").classList.toggle("is-shown");
  byId("menu").setAttribute("aria-expanded", String(isShown));
  if (isShown) byId("new").focus();
}

async function agents() {
  const select = byId("agent");
  try {
    const found = await ask("v1/agents");
    const names = (found?.agents ?? []).map((it) => it.name);
    select.replaceChildren(...names.map((name) => el("option", { value: name, text: name })));
    byId("agent-field").hidden = names.length < 2;
  } catch (error) {
    byId("status").textContent = `The service does not respond: ${error.message}`;
  }
}

async function start() {
  // What was said with a token is not shown to one who has another, or none.
  onToken(askForToken, () => {
    forgetAll();
    chat.close();
    route();
  });
  chat.setUp({
    onBegun: () => {
      byId("forget").hidden = token() === null;
      conversations.refresh();
    },
  });
  conversations.setUp({ onGone: () => (location.hash = "#/") });
  byId("menu").addEventListener("click", toggleSide);
  byId("side").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && byId("side").classList.contains("is-shown")) {
      closeSide();
      byId("menu").focus();
    }
  });
  byId("skip").addEventListener("click", () => (byId("chat").hidden ? byId("main") : byId("text")).focus());
  byId("forget").addEventListener("click", () => {
    forgetToken();
    forgetAll();
    location.hash = "#/";
    location.reload();
  });
  addEventListener("hashchange", route);
  route();
  await agents();
  byId("forget").hidden = token() === null;
  await conversations.refresh();
  byId("to-latency").hidden = !(await latency.isThere());
}

start();
