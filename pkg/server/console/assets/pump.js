// Work of the page in small parts, so that it never stands still for long.

// The share of a frame, in milliseconds, in which events are shown.
const SHARE = 8;

/// Handles items in their order, a part in each frame; `onPart` is told behind each part.
export class Pump {
  constructor(handle, onPart = () => {}) {
    this.handle = handle;
    this.onPart = onPart;
    this.items = [];
    this.at = 0;
    this.isPlanned = false;
    this.isStopped = false;
    this.waiting = [];
  }

  push(item) {
    this.items.push(item);
    this.plan();
  }

  /// Returns a promise that is kept when all that was pushed is handled.
  done() {
    if (this.at === this.items.length) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  stop() {
    this.isStopped = true;
    this.items = [];
    this.at = 0;
    this.release();
  }

  plan() {
    if (this.isPlanned || this.isStopped) return;
    this.isPlanned = true;
    const work = () => this.work();
    // A page that is not seen has no frames.
    if (document.hidden) setTimeout(work, 30);
    else requestAnimationFrame(work);
  }

  work() {
    this.isPlanned = false;
    if (this.isStopped) return;
    const end = performance.now() + SHARE;
    while (this.at < this.items.length && performance.now() < end) {
      const item = this.items[this.at];
      this.at += 1;
      this.handle(item);
      if (this.isStopped) return;
    }
    this.onPart();
    if (this.at < this.items.length) {
      this.plan();
      return;
    }
    this.items = [];
    this.at = 0;
    this.release();
  }

  release() {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
