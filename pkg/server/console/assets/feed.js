// The events of all runs, on one connection for all tabs of a browser: it has six to a service, and more tabs than that.
//
// One tab has the lock and with it the connection; it passes each event on. When it is closed, the lock, and with it the work, goes to another
// tab, which reads on behind the last event that it was told of.

import { Problem, send, token } from "./api.js";
import { Frames, SILENCE, pause, readFrames } from "./frames.js";

let current = null;

/// Returns `true` where tabs can share a connection; pages without encryption from another host cannot.
export const canShare = () => typeof BroadcastChannel === "function" && Boolean(navigator.locks) && Boolean(crypto.subtle);

/// Hears what comes of a run: `onEvent` gets the number of an event and its text, and `onState` what becomes of the connection. Returns what
/// ends it.
export async function listen(run, { onEvent, onState }) {
  const used = token();
  if (current === null || current.token !== used) {
    current?.feed.then((feed) => feed.close());
    current = { token: used, feed: nameOf(used).then((name) => new Feed(name)) };
  }
  const feed = await current.feed;
  const listener = { run, onEvent, onState };
  feed.listeners.add(listener);
  if (feed.last !== null) onState(feed.last);
  return () => feed.listeners.delete(listener);
}

/// Tabs of one caller share; those of others hear nothing of them.
async function nameOf(used) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${new URL("..", import.meta.url)} ${used ?? ""}`));
  return `forgeline ${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

class Feed {
  constructor(name) {
    this.listeners = new Set();
    this.last = null;
    // The place behind the last event that any tab was told of.
    this.cursor = null;
    this.heard = Date.now();
    this.stopping = new AbortController();
    this.channel = new BroadcastChannel(name);
    this.channel.addEventListener("message", ({ data }) => this.take(data));
    this.watch = setInterval(() => this.check(), SILENCE / 3);
    const { signal } = this.stopping;
    navigator.locks.request(name, { signal }, () => this.lead()).catch(() => {});
  }

  close() {
    this.stopping.abort();
    clearInterval(this.watch);
    this.channel.close();
    this.listeners.clear();
  }

  /// Tells all tabs, this one too.
  tell(message) {
    this.channel.postMessage(message);
    this.take(message);
  }

  take({ events = [], state = null }) {
    this.heard = Date.now();
    if (state !== null) {
      this.last = state;
      for (const listener of this.listeners) listener.onState(state);
    }
    for (const { id, run, seq, data } of events) {
      if (id !== null) this.cursor = id;
      for (const listener of this.listeners) if (listener.run === run) listener.onEvent(seq, data);
    }
  }

  /// Where nothing is heard, each reads for itself what there is.
  check() {
    if (Date.now() - this.heard < SILENCE) return;
    for (const listener of this.listeners) listener.onState({ name: "unheard" });
  }

  /// Reads for all tabs, until this one is closed.
  async lead() {
    const { signal } = this.stopping;
    for (let failures = 1; !signal.aborted; failures += 1) {
      const connection = new AbortController();
      const stop = () => connection.abort();
      signal.addEventListener("abort", stop);
      let problem = null;
      try {
        await this.read(connection, () => (failures = 0));
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Problem) problem = error.message;
        // The service does not know the place, such as after its data were removed.
        if (error.status === 400 || error.status === 409) this.cursor = null;
      } finally {
        signal.removeEventListener("abort", stop);
        connection.abort();
      }
      if (signal.aborted) return;
      this.tell({ state: { name: "lost", problem } });
      await pause(failures, signal);
    }
  }

  async read(connection, onPart) {
    const isFresh = this.cursor === null;
    const headers = isFresh ? {} : { "last-event-id": this.cursor };
    const response = await send("v1/events", { headers, signal: connection.signal });
    this.tell({ state: { name: "open", isFresh } });
    let events = [];
    const frames = new Frames((id, data) => {
      const event = JSON.parse(data);
      const isGap = event.type === "gap";
      // An event that a run does not have, and what is left out of it.
      const seq = isGap ? Infinity : event.seq;
      if (event.run_id !== undefined && seq !== undefined) events.push({ id, run: event.run_id, seq, data });
      else events.push({ id, run: null, seq: 0, data: "" });
    });
    const passOn = () => {
      onPart();
      const all = events;
      events = [];
      // Nothing is news, too: the connection lives.
      this.tell({ events: all });
    };
    await readFrames(response, connection, frames, { onPart: passOn });
  }
}
