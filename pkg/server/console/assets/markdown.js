// Markdown that arrives in pieces, as nodes of the page.
//
// Lines are read once. What the last, unfinished line looks like is shown and taken back when more of it comes, and the text of a long
// paragraph is settled in parts: so the work for an answer grows with its length, however it is cut. Markup in it stays text.

import { Code, Paragraph, Table, alignments, cells } from "./leaves.js";

const DEEPEST = 16;
// An unfinished line that is longer than this is settled where it cannot be anything but text.
const LONG_LINE = 400;
// One that is longer still and may be something else is shown when it ends.
const LONGEST_LINE = 4000;

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})\s*([^\s`]*).*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const MARKER = /^( {0,3})([-*+]|\d{1,9}[.)])( +(?=\S)| *$)/;
const TASK = /^\[([ xX])\] /;

const make = (tag) => document.createElement(tag);

/// Renders Markdown into a node.
export class Markdown {
  /// `heading` is the level of the largest heading.
  constructor(root, { heading = 3 } = {}) {
    this.heading = heading;
    this.stack = [{ kind: "root", node: root }];
    this.leaf = null;
    this.rest = "";
    // The nodes that an unfinished line has added, while it is shown.
    this.trial = null;
    this.shown = null;
    // The leaf that takes the rest of a long line.
    this.takes = null;
    // Characters that were looked at, which tests compare with the length of the text.
    this.scanned = 0;
  }

  /// Adds a piece of the text.
  push(text) {
    this.takeBack();
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.endLine(text.slice(from, end));
      from = end + 1;
    }
    this.rest += text.slice(from);
    if (this.takes) this.takeRest();
    else this.showRest();
  }

  /// Ends the text.
  end() {
    this.takeBack();
    if (this.rest !== "" || this.takes) this.endLine("");
    this.begin(null);
  }

  endLine(text) {
    const line = this.rest + text;
    this.rest = "";
    if (this.takes) {
      this.take(line);
      this.takes = null;
    } else {
      this.feed(line.endsWith("\r") ? line.slice(0, -1) : line);
    }
  }

  take(text) {
    this.scanned += text.length;
    this.takes.append(text, this);
    this.takes.render?.(this);
  }

  takeRest() {
    const text = this.rest;
    this.rest = "";
    this.take(text);
  }

  /// Shows the unfinished line.
  showRest() {
    const { rest } = this;
    if (rest === "") {
      this.leaf?.render?.(this);
      return;
    }
    if (rest.length > LONG_LINE) {
      const head = rest.slice(0, LONG_LINE);
      if (/\p{L}/u.test(head) && !head.includes("|") && !this.leaf?.isTable) {
        this.rest = "";
        this.feed(rest);
        this.takes = this.leaf;
        this.leaf.render?.(this);
        return;
      }
    }
    // What may become the line below the head of a table is not shown as text before.
    const isSide = this.leaf?.isHead?.() && /^[\s|:-]+$/.test(rest);
    if (isSide || rest.length > LONGEST_LINE) {
      this.leaf?.render?.(this);
      return;
    }
    this.shown = { stack: this.stack.slice(), leaf: this.leaf, mark: this.leaf?.mark?.() };
    this.trial = [];
    this.feed(rest);
    this.leaf?.render?.(this);
  }

  takeBack() {
    if (!this.shown) return;
    for (const node of this.trial) node.remove();
    this.stack = this.shown.stack;
    this.leaf = this.shown.leaf;
    this.leaf?.reset?.(this.shown.mark);
    this.trial = null;
    this.shown = null;
  }

  get top() {
    return this.stack[this.stack.length - 1];
  }

  add(parent, node) {
    parent.append(node);
    this.trial?.push(node);
    return node;
  }

  /// Begins a leaf; the one before it is shown whole.
  begin(leaf) {
    this.leaf?.render?.(this);
    this.leaf = leaf;
  }

  /// Reads a line.
  feed(whole) {
    this.scanned += whole.length;
    let line = whole.replace(/^[ \t]*/, (blank) => blank.replaceAll("\t", "    "));
    let matched = 1;
    for (; matched < this.stack.length; matched += 1) {
      const open = this.stack[matched];
      if (open.kind === "quote") {
        const found = /^ {0,3}> ?/.exec(line);
        if (!found) break;
        line = line.slice(found[0].length);
      } else if (open.kind === "item") {
        if (line.trim() !== "" && !line.startsWith(" ".repeat(open.indent))) break;
        line = line.slice(open.indent);
      }
    }
    const isBelow = matched === this.stack.length;
    const isBlank = line.trim() === "";
    if (this.leaf?.isCode && isBelow) {
      if (this.leaf.closes(line)) this.begin(null);
      else this.leaf.line(line, this);
      return;
    }
    if (isBlank) {
      if (!isBelow) this.closeTo(matched, line);
      this.begin(null);
      return;
    }
    if (!isBelow) {
      // A paragraph goes on in a line that lacks the signs of what it stands in.
      const last = this.stack[matched - 1];
      const isNext = last.kind === "list" && listOf(line)?.key === last.key;
      if (this.leaf?.isParagraph && !isNext && !this.opens(line)) {
        this.leaf.line(line.trimStart(), this);
        return;
      }
      this.closeTo(matched, line);
    }
    this.block(this.containers(line));
  }

  /// Closes what a line does not go on with.
  closeTo(matched, line) {
    let size = matched;
    // A list stays open for its next item.
    const last = this.stack[size - 1];
    if (last.kind === "list" && listOf(line)?.key !== last.key) size -= 1;
    this.begin(null);
    this.stack.length = size;
  }

  /// Returns `true` when a line begins something else than a paragraph.
  opens(line) {
    const list = listOf(line);
    const interrupts = list && list.rest !== "" && (list.number === null || list.number === 1);
    return /^ {0,3}>/.test(line) || FENCE.test(line) || RULE.test(line) || HEADING.test(line) || Boolean(interrupts);
  }

  /// Opens quotes and lists; returns the rest of the line.
  containers(text) {
    let line = text;
    while (this.stack.length < DEEPEST) {
      const quote = /^ {0,3}> ?/.exec(line);
      const list = quote || RULE.test(line) ? null : listOf(line);
      if (quote) {
        this.begin(null);
        this.closeList();
        this.stack.push({ kind: "quote", node: this.add(this.top.node, make("blockquote")) });
        line = line.slice(quote[0].length);
      } else if (list && (!this.leaf?.isParagraph || this.opens(line))) {
        this.begin(null);
        this.item(list);
        line = list.rest;
      } else {
        break;
      }
    }
    if (this.top.kind === "list") this.closeList();
    return line;
  }

  closeList() {
    if (this.top.kind === "list") this.stack.pop();
  }

  item(list) {
    if (this.top.kind === "list" && this.top.key !== list.key) this.stack.pop();
    if (this.top.kind !== "list") {
      const node = make(list.number === null ? "ul" : "ol");
      if (list.number !== null && list.number !== 1) node.start = list.number;
      this.stack.push({ kind: "list", key: list.key, node: this.add(this.top.node, node) });
    }
    const node = this.add(this.top.node, make("li"));
    const task = TASK.exec(list.rest);
    if (task) {
      const box = make("input");
      box.type = "checkbox";
      box.disabled = true;
      box.checked = task[1] !== " ";
      box.setAttribute("aria-label", box.checked ? "done" : "to do");
      node.className = "task";
      node.append(box);
      list.rest = list.rest.slice(task[0].length);
    }
    this.stack.push({ kind: "item", indent: list.indent, node });
  }

  /// Reads what a line has inside of its quotes and lists.
  block(line) {
    const { leaf } = this;
    if (line.trim() === "") return;
    const heading = HEADING.exec(line);
    if (heading) {
      const level = Math.min(6, heading[1].length + this.heading - 1);
      this.begin(new Paragraph(this.add(this.top.node, make(`h${level}`)), false));
      this.leaf.line(heading[2] ?? "", this);
      return;
    }
    const fence = FENCE.exec(line);
    if (fence) {
      const indent = line.length - line.trimStart().length;
      this.begin(new Code(this, this.top.node, fence[1], fence[2], indent));
      return;
    }
    if (leaf?.isHead?.()) {
      const sides = alignments(line);
      if (sides && sides.length === cells(leaf.text).length) {
        const head = leaf.text;
        leaf.remove();
        this.leaf = new Table(this, this.top.node, head, sides);
        return;
      }
    }
    if (RULE.test(line)) {
      this.begin(null);
      this.add(this.top.node, make("hr"));
      return;
    }
    if (leaf?.isTable) {
      leaf.line(line, this);
      return;
    }
    if (!leaf?.isParagraph) this.begin(new Paragraph(this.add(this.top.node, make("p")), true));
    this.leaf.line(line.trimStart(), this);
  }
}

/// Reads the marker of an item; `null` where there is none.
function listOf(line) {
  const found = MARKER.exec(line);
  if (!found) return null;
  const [whole, blank, marker, space] = found;
  const isNumber = marker.length > 1 || /\d/.test(marker);
  const gap = space.length > 4 || space.length === 0 ? 1 : space.length;
  const rest = line.slice(blank.length + marker.length + gap);
  const number = isNumber ? Number.parseInt(marker, 10) : null;
  return { key: marker.at(-1), number, indent: blank.length + marker.length + gap, rest: whole.length === line.length ? "" : rest };
}
