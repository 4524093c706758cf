// Requests to the service. Its address is that of this file.

const BASE = new URL("..", import.meta.url);
const TOKEN = "forgeline.token";

let askToken = null;
let asked = null;

/// Sets what asks the user for a token; it returns one, or `null`.
export function onToken(ask) {
  askToken = ask;
}

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
    if (problem.status !== 401 || askToken === null) throw problem;
    if (used === token()) {
      // Requests that fail at the same time ask once.
      asked ??= askToken(used !== null).finally(() => (asked = null));
      const given = await asked;
      if (given === null) throw problem;
      sessionStorage.setItem(TOKEN, given);
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

/// Parses JSON; numbers that a program would round are kept as they are written, where the browser can.
export function parse(text) {
  if (typeof JSON.rawJSON !== "function" || !EXACT.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) => {
    const isRounded = typeof value === "number" && context?.source !== undefined && String(value) !== context.source;
    return isRounded ? JSON.rawJSON(context.source) : value;
  });
}

export const path = (strings, ...ids) =>
  strings.reduce((all, part, at) => all + encodeURIComponent(ids[at - 1]) + part);
