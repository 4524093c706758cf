// The events of a run, as the service sends them: each once and in order, whatever happens to the connection.

import { Problem, ask, parse, path, send } from "./api.js";

const LONGEST_WAIT = 5000;
// The service sends at least a comment in this time; a connection that is silent for longer is dead.
const SILENCE = 45_000;

/// Reads the frames of a stream of events; give it text as it arrives.
export class Frames {
  constructor(onFrame) {
    this.onFrame = onFrame;
    this.rest = "";
    this.begin();
  }

  begin() {
    this.id = null;
    this.data = null;
  }

  push(text) {
    const all = this.rest + text;
    let from = 0;
    for (let end = all.indexOf("\n"); end >= 0; end = all.indexOf("\n", from)) {
      const line = all.slice(from, end);
      this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
      from = end + 1;
    }
    this.rest = all.slice(from);
  }

  line(line) {
    if (line === "") {
      if (this.data !== null) this.onFrame(this.id, this.data);
      this.begin();
    } else if (line.startsWith("id:")) {
      this.id = line.slice(3).trim();
    } else if (line.startsWith("data:")) {
      const data = line.slice(line[5] === " " ? 6 : 5);
      this.data = this.data === null ? data : `${this.data}\n${data}`;
    }
  }
}

/// Follows a run from the event behind `after` to its end. `onEvent` gets each event, and its text; `onState` gets `open`, `lost` (it connects
/// again; with the problem that the service told, if it did) and `ended`.
///
/// Throws the `Problem` of a run whose events cannot be had, and nothing when `signal` says to stop.
export async function follow(run, { after = -1, signal, onEvent, onState = () => {} }) {
  let last = after;
  let failures = 0;
  let isTold = false;
  while (!signal.aborted) {
    const connection = new AbortController();
    const stop = () => connection.abort();
    let told = null;
    signal.addEventListener("abort", stop);
    try {
      const ended = await read(run, last, connection, (event, data) => {
        last = event.seq;
        failures = 0;
        isTold = event.type === "run_end";
        onEvent(event, data);
      }, onState);
      if (ended) {
        // Its events may have been read without the end.
        const { end } = isTold ? {} : await ask(path`v1/runs/${run}`);
        if (end) onEvent({ ...end, seq: last + 1 }, JSON.stringify(end));
        onState("ended");
        return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status < 500 && error.status !== 408 && error.status !== 429) throw error;
      if (error instanceof Problem) told = error;
    } finally {
      signal.removeEventListener("abort", stop);
      connection.abort();
    }
    failures += 1;
    onState("lost", told);
    await wait(Math.min(LONGEST_WAIT, 100 * 2 ** failures) * (0.5 + Math.random() / 2), signal);
  }
}

/// Reads one connection; returns `true` when the run has ended.
async function read(run, after, connection, onEvent, onState) {
  const headers = after < 0 ? {} : { "last-event-id": String(after) };
  const response = await send(path`v1/runs/${run}/events`, { headers, signal: connection.signal });
  if (response.status === 204) return true;
  onState("open");
  let next = after + 1;
  let ended = false;
  const frames = new Frames((id, data) => {
    const seq = Number(id);
    // One that was seen is dropped; one that is missing is asked for again.
    if (ended || seq < next) return;
    if (seq > next || !Number.isSafeInteger(seq)) throw new Error(`event ${next} is missing before ${id}`);
    next += 1;
    const event = parse(data);
    event.seq = seq;
    ended = event.type === "run_end";
    onEvent(event, data);
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let watch;
  const silent = () => connection.abort();
  try {
    for (;;) {
      watch = setTimeout(silent, SILENCE);
      const { done, value } = await reader.read();
      clearTimeout(watch);
      if (done) return ended;
      frames.push(value);
      if (ended) return true;
    }
  } finally {
    clearTimeout(watch);
    reader.cancel().catch(() => {});
  }
}

function wait(time, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, time);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
