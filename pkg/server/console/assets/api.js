// Requests to the service. Its address is that of this file.

const BASE = new URL("..", import.meta.url);
const TOKEN = "forgeline.token";

let askToken = null;
let asked = null;
let isDeclined = false;
let onOther = () => {};

/// Sets what asks the user for a token; it returns one, or `null`. `isOther` is called when it is another one than before, which may be of someone else.
export function onToken(ask, isOther) {
  askToken = ask;
  onOther = isOther;
}

/// Asks the user for a token again, where one was wanted and none was given.
export function askAgain() {
  isDeclined = false;
}

/// Takes the token from the address with which a service without tokens of its own begins, and removes it there.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  if (given !== "") sessionStorage.setItem(TOKEN, given);
  history.replaceState(history.state, "", location.pathname + location.search);
}
takeToken();

export const token = () => sessionStorage.getItem(TOKEN);

export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
}

/// An answer of the service that is an error.
export class Problem extends Error {
  constructor(status, code, detail, more = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.more = more;
  }

  /// Returns `true` when what was asked for is not there (any more).
  get isGone() {
    return this.status === 404 || this.status === 410;
  }
}

/// Sends a request, with the token where there is one; asks for one where the service wants it.
export async function send(path, { method = "GET", body, headers = {}, signal } = {}) {
  for (;;) {
    const used = token();
    const all = { ...headers };
    if (used !== null) all.authorization = `Bearer ${used}`;
    if (body !== undefined) all["content-type"] = "application/json";
    const text = body === undefined ? undefined : JSON.stringify(body);
    const response = await fetch(new URL(path, BASE), { method, body: text, headers: all, signal, cache: "no-store" });
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (problem.status !== 401 || askToken === null || isDeclined) throw problem;
    if (used === token()) {
      // Requests that fail at the same time ask once.
      asked ??= askToken(used !== null).finally(() => (asked = null));
      const given = await asked;
      if (given === null) {
        isDeclined = true;
        throw problem;
      }
      const isOther = used !== null && used !== given && used === token();
      sessionStorage.setItem(TOKEN, given);
      if (isOther) onOther();
    }
  }
}

/// Sends a request, and reads the JSON of its answer.
export async function ask(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : parse(await response.text());
}

async function problemOf(response) {
  const text = await response.text().catch(() => "");
  let read = null;
  try {
    read = JSON.parse(text);
  } catch {
    // Something between the page and the service has answered.
  }
  const detail = typeof read?.detail === "string" ? read.detail : `the service answered ${response.status}`;
  return new Problem(response.status, String(read?.code ?? ""), detail, read ?? {});
}

const EXACT = /\d{15}|\d[eE.]|-0(?![\d.])/;

// Members of events and parts that are shown and sent back, and never reckoned with.
const KEPT = new Set(["arguments", "raw"]);

/// Parses JSON. Numbers are numbers; those of arguments are kept as they are written, where a program would round them.
export function parse(text) {
  const value = JSON.parse(text);
  if (!EXACT.test(text) || !/"(arguments|raw)"/.test(text)) return value;
  for (const rest = [[value, exact(text)]]; rest.length > 0;) {
    const [of, kept] = rest.pop();
    for (const [name, it] of Object.entries(of)) {
      if (typeof it !== "object" || it === null) continue;
      if (KEPT.has(name) && typeof of.type === "string") of[name] = kept[name];
      else rest.push([it, kept[name]]);
    }
  }
  return value;
}

/// Parses JSON for what shows it and writes it again: numbers that a program would round are kept as they are written, where the browser
/// can. They are objects, and nothing to reckon with.
export function exact(text) {
  if (typeof JSON.rawJSON !== "function" || !EXACT.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) => {
    const isRounded = typeof value === "number" && context?.source !== undefined && String(value) !== context.source;
    return isRounded ? JSON.rawJSON(context.source) : value;
  });
}

export const path = (strings, ...ids) =>
  strings.reduce((all, part, at) => all + encodeURIComponent(ids[at - 1]) + part);
