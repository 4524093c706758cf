// Frames of a stream of events, and the patience for those who send them.

// The service sends at least a comment in this time; a connection that is silent for longer is dead.
export const SILENCE = 45_000;
const LONGEST_WAIT = 5000;

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

/// Reads a response to its end, or until `isOver` says so; one that is silent for too long is ended. `onPart` is told behind each part.
export async function readFrames(response, connection, frames, { isOver = () => false, onPart = () => {} } = {}) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let watch;
  const silent = () => connection.abort();
  try {
    for (;;) {
      watch = setTimeout(silent, SILENCE);
      const { done, value } = await reader.read();
      clearTimeout(watch);
      if (done) return;
      frames.push(value);
      onPart();
      if (isOver()) return;
    }
  } finally {
    clearTimeout(watch);
    reader.cancel().catch(() => {});
  }
}

/// Waits for so many milliseconds, or until `signal` says to stop.
export function wait(time, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, time);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    if (signal.aborted) done();
    else signal.addEventListener("abort", done);
  });
}

/// Waits before something is tried again that has failed so often.
export const pause = (failures, signal) => wait(Math.min(LONGEST_WAIT, 100 * 2 ** failures) * (0.5 + Math.random() / 2), signal);
