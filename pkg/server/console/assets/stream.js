// The events of a run, as the service sends them: each once and in order, whatever happens to the connection.

import { Problem, ask, exact, parse, path, send } from "./api.js";
import { canShare, listen } from "./feed.js";
import { Frames, pause, readFrames, wait } from "./frames.js";

export { Frames };

// The time between two looks at a run of which nothing is heard.
const LOOK = 2000;

/// Follows a run from its beginning to its end. `onEvent` gets each event, and its text; `onState` gets `open`, `lost` (it connects again; with the
/// problem that the service told, if it did) and `ended`.
///
/// Throws the `Problem` of a run whose events cannot be had, and nothing when `signal` says to stop.
export async function follow(run, { signal, onEvent, onState = () => {} }) {
  const reader = new Reader(run, signal, onEvent);
  const isEnded = canShare() ? await together(reader, onState) : await alone(reader, onState);
  if (!isEnded) return;
  if (!reader.hasEnd) {
    // Its events may have been read without the end.
    const { end } = await ask(path`v1/runs/${run}`);
    if (end) onEvent({ ...end, seq: reader.next }, JSON.stringify(end));
  }
  onState("ended");
}

/// What was read of a run.
class Reader {
  constructor(run, signal, onEvent) {
    Object.assign(this, { run, signal, onEvent });
    this.next = 0;
    this.offset = "-1";
    this.hasEnd = false;
  }

  /// Sees an event; one that was seen is dropped. Returns `false` where one is missing before it.
  see(seq, data, event = null) {
    if (this.hasEnd || seq < this.next) return true;
    if (seq > this.next || !Number.isSafeInteger(seq)) return false;
    this.next += 1;
    const seen = event ?? parse(data);
    seen.seq = seq;
    this.hasEnd = seen.type === "run_end";
    this.onEvent(seen, data);
    return true;
  }

  /// Reads what there is. Returns `true` when nothing follows.
  async pages() {
    for (;;) {
      const response = await send(`${path`v1/runs/${this.run}/stream`}?offset=${encodeURIComponent(this.offset)}`, { signal: this.signal });
      const text = await response.text();
      const events = parse(text);
      const texts = exact(text);
      for (const [at, event] of events.entries()) {
        if (!this.see(event.seq, JSON.stringify(texts[at]), event)) throw new Error(`event ${this.next} is missing before ${event.seq}`);
      }
      this.offset = response.headers.get("stream-next-offset") ?? this.offset;
      if (this.hasEnd || response.headers.get("stream-closed") === "true") return true;
      if (events.length === 0 || response.headers.get("stream-up-to-date") === "true") return false;
    }
  }
}

/// Follows a run by what all tabs hear; what is missing is read. Returns `true` at its end.
async function together(reader, onState) {
  const { signal } = reader;
  const heard = { events: [], isMissing: true, wake: () => {} };
  let leave = null;
  let failures = 0;
  let isReread = false;
  const stop = () => heard.wake();
  signal.addEventListener("abort", stop);
  try {
    while (!signal.aborted) {
      if (heard.isMissing) {
        heard.isMissing = false;
        try {
          if (await reader.pages()) return true;
          failures = 0;
          onState("open");
        } catch (error) {
          if (signal.aborted) return false;
          if (isFinal(error)) throw error;
          heard.isMissing = true;
          failures += 1;
          onState("lost", error instanceof Problem ? error : null);
          await pause(failures, signal);
          continue;
        }
        if (leave === null) {
          // What came before it was heard is read once more.
          leave = await listen(reader.run, hearing(heard, onState));
          heard.isMissing = true;
          continue;
        }
      }
      const { next } = reader;
      const events = heard.events;
      heard.events = [];
      const isWhole = events.map(({ seq, data }) => reader.see(seq, data)).every(Boolean);
      if (reader.hasEnd) return true;
      if (!isWhole) {
        // The events behind one that is missing are read with it; where that brings nothing, it has time.
        if (reader.next === next && isReread) await wait(LOOK, signal);
        heard.isMissing = true;
        isReread = true;
      } else if (!heard.isMissing && heard.events.length === 0) {
        isReread = false;
        await new Promise((resolve) => (heard.wake = resolve));
      }
    }
    return false;
  } finally {
    signal.removeEventListener("abort", stop);
    leave?.();
  }
}

/// Returns what hears of a run for its reader.
function hearing(heard, onState) {
  return {
    onEvent: (seq, data) => {
      heard.events.push({ seq, data });
      heard.wake();
    },
    onState: ({ name, isFresh = false, problem = null }) => {
      if (name === "lost") onState("lost", problem === null ? null : new Error(problem));
      else if (name === "open") onState("open");
      // What happened before another tab began to read anew, or while none did, is not heard.
      if (isFresh || name === "unheard") heard.isMissing = true;
      heard.wake();
    },
  };
}

/// Follows a run on a connection of its own, while the page is seen: a browser has few. Returns `true` at its end.
async function alone(reader, onState) {
  const { signal } = reader;
  let failures = 0;
  while (!signal.aborted) {
    await seen(signal);
    const connection = new AbortController();
    const stop = () => connection.abort();
    const hides = () => document.hidden && connection.abort();
    signal.addEventListener("abort", stop);
    addEventListener("visibilitychange", hides);
    let told = null;
    try {
      if (await connected(reader, connection, () => onState("open"), () => (failures = 0))) return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (isFinal(error)) throw error;
      if (error instanceof Problem) told = error;
    } finally {
      signal.removeEventListener("abort", stop);
      removeEventListener("visibilitychange", hides);
      connection.abort();
    }
    if (document.hidden || signal.aborted) continue;
    failures += 1;
    onState("lost", told);
    await pause(failures, signal);
  }
  return false;
}

/// Waits until the page is seen.
function seen(signal) {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    function done() {
      if (document.hidden && !signal.aborted) return;
      removeEventListener("visibilitychange", done);
      signal.removeEventListener("abort", done);
      resolve();
    }
    addEventListener("visibilitychange", done);
    signal.addEventListener("abort", done);
  });
}

/// Reads one connection; returns `true` when the run has ended.
async function connected(reader, connection, onOpen, onPart) {
  const headers = reader.next === 0 ? {} : { "last-event-id": String(reader.next - 1) };
  const response = await send(path`v1/runs/${reader.run}/events`, { headers, signal: connection.signal });
  if (response.status === 204) return true;
  onOpen();
  const frames = new Frames((id, data) => {
    if (!reader.see(Number(id), data)) throw new Error(`event ${reader.next} is missing before ${id}`);
  });
  await readFrames(response, connection, frames, { isOver: () => reader.hasEnd, onPart });
  return reader.hasEnd;
}

/// Returns `true` for an error that does not pass.
const isFinal = (error) => error instanceof Problem && error.status < 500 && error.status !== 408 && error.status !== 429;
