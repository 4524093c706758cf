// Lists of many rows, of which only those that are seen are in the page.

import { el } from "./dom.js";

const HEIGHT = 28;
// Rows beyond the edges, for what scrolls in.
const MARGIN = 12;

/// A list of rows of one height. `draw` fills the node of a row for its number.
export class Rows {
  constructor({ label, draw, onChosen }) {
    this.draw = draw;
    this.onChosen = onChosen;
    this.count = 0;
    this.chosen = -1;
    this.pool = [];
    this.first = -1;
    this.space = el("div", { class: "rows-space", role: "presentation" });
    this.node = el("div", { class: "rows", role: "listbox", tabindex: "0", "aria-label": label }, this.space);
    this.node.addEventListener("scroll", () => this.plan(), { passive: true });
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.node.addEventListener("click", (event) => {
      const row = event.target.closest?.(".row");
      if (row) this.choose(Number(row.dataset.at));
    });
    new ResizeObserver(() => this.show()).observe(this.node);
  }

  /// Says how many rows there are now; with `isNew` they are others than before.
  set(count, isNew = false) {
    const wasAtEnd = this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < HEIGHT;
    this.count = count;
    this.space.style.height = `${count * HEIGHT}px`;
    if (isNew) {
      this.chosen = -1;
      this.first = -1;
    }
    return wasAtEnd;
  }

  plan() {
    if (this.isPlanned) return;
    this.isPlanned = true;
    requestAnimationFrame(() => {
      this.isPlanned = false;
      this.show();
    });
  }

  /// Draws the rows that are seen.
  show(isChanged = true) {
    const first = Math.max(0, Math.floor(this.node.scrollTop / HEIGHT) - MARGIN);
    const seen = Math.ceil(this.node.clientHeight / HEIGHT) + 2 * MARGIN;
    const shown = Math.min(this.count - first, seen);
    if (!isChanged && first === this.first) return;
    this.first = first;
    while (this.pool.length < shown) {
      const row = el("div", { class: "row", role: "option" });
      this.pool.push(row);
      this.space.append(row);
    }
    for (const [offset, row] of this.pool.entries()) {
      row.hidden = offset >= shown;
      if (row.hidden) {
        row.removeAttribute("id");
        continue;
      }
      const at = first + offset;
      row.dataset.at = at;
      row.id = `row-${at}`;
      row.style.transform = `translateY(${at * HEIGHT}px)`;
      row.setAttribute("aria-selected", String(at === this.chosen));
      row.setAttribute("aria-setsize", String(this.count));
      row.setAttribute("aria-posinset", String(at + 1));
      this.draw(row, at);
    }
    if (this.chosen >= first && this.chosen < first + shown) this.node.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.node.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    if (!Object.hasOwn(steps, event.key) || this.count === 0) return;
    event.preventDefault();
    const from = this.chosen < 0 ? (event.key === "ArrowUp" ? this.count : -1) : this.chosen;
    this.choose(Math.min(this.count - 1, Math.max(0, from + steps[event.key])));
  }

  choose(at) {
    this.chosen = at;
    const top = at * HEIGHT;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top + HEIGHT > this.node.scrollTop + this.node.clientHeight) this.node.scrollTop = top + HEIGHT - this.node.clientHeight;
    this.show();
    this.onChosen(at);
  }

  toEnd() {
    this.node.scrollTop = this.count * HEIGHT;
  }
}
