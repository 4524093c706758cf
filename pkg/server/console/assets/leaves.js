// The blocks of Markdown that have text in them.

import { copyButton } from "./dom.js";
import { inline } from "./inline.js";

// A paragraph that is longer than this is settled in parts.
const LONG = 300;
// But the line that may be the head of a table only where it is longer than this.
const LONG_HEAD = 2000;
// A text without a place to cut is settled here whatever stands in it.
const LONGEST = 6000;

const make = (tag) => document.createElement(tag);

/// A paragraph, or a heading.
export class Paragraph {
  constructor(node, isParagraph) {
    this.node = node;
    this.isParagraph = isParagraph;
    this.text = "";
    this.lines = 0;
    // The nodes of the text that is not settled.
    this.tail = [];
    this.isChanged = false;
    this.isCut = false;
  }

  /// Returns `true` where the line could be the head of a table.
  isHead(lines = 1) {
    return this.isParagraph && this.lines === lines && !this.isCut && this.text.includes("|");
  }

  line(text, markdown) {
    this.append(this.lines === 0 ? text : `\n${text}`, markdown);
    this.lines += 1;
  }

  append(text, markdown) {
    this.text += text;
    this.isChanged = true;
    const isHead = this.isHead(this.lines === 0 ? 0 : 1);
    if (!markdown.trial && this.text.length > (isHead ? LONG_HEAD : LONG)) this.settlePart(markdown);
  }

  mark() {
    return { text: this.text, lines: this.lines };
  }

  reset({ text, lines }) {
    this.isChanged ||= text !== this.text;
    this.text = text;
    this.lines = lines;
  }

  settlePart(markdown) {
    while (this.text.length > LONG) {
      const part = this.text.slice(0, LONGEST);
      markdown.scanned += part.length;
      const { cut } = inline(part);
      const at = cut > 0 || part.length < LONGEST ? cut : LONGEST;
      if (at === 0) return;
      this.show(this.text.slice(0, at), markdown);
      this.tail = [];
      this.text = this.text.slice(at);
      this.isCut = true;
    }
  }

  render(markdown) {
    if (!this.isChanged) return;
    this.show(this.text, markdown);
    this.isChanged = false;
  }

  show(text, markdown) {
    markdown.scanned += text.length;
    for (const node of this.tail) node.remove();
    this.tail = inline(text.length === this.text.length ? text.trimEnd() : text).nodes;
    this.node.append(...this.tail);
  }

  remove() {
    this.node.remove();
  }
}

/// A block of code.
export class Code {
  constructor(markdown, parent, fence, language, indent) {
    this.isCode = true;
    this.fence = fence;
    this.indent = indent;
    this.isFirst = true;
    const figure = make("figure");
    figure.className = "code";
    const code = make("code");
    const pre = make("pre");
    pre.tabIndex = 0;
    pre.append(code);
    const head = make("figcaption");
    const name = make("span");
    name.textContent = language.slice(0, 40) || "text";
    head.append(name);
    const copy = copyButton(() => code.textContent);
    if (copy) head.append(copy);
    figure.append(head, pre);
    this.code = code;
    this.text = document.createTextNode("");
    code.append(this.text);
    markdown.add(parent, figure);
  }

  closes(line) {
    const found = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line);
    return found !== null && found[1][0] === this.fence[0] && found[1].length >= this.fence.length;
  }

  line(text, markdown) {
    let from = 0;
    while (from < this.indent && text[from] === " ") from += 1;
    this.append(`${this.isFirst ? "" : "\n"}${text.slice(from)}`, markdown);
    // What is only shown is taken back.
    if (!markdown.trial) this.isFirst = false;
  }

  append(text, markdown) {
    if (markdown.trial) markdown.add(this.code, document.createTextNode(text));
    else this.text.appendData(text);
  }
}

/// A table.
export class Table {
  constructor(markdown, parent, head, sides) {
    this.isTable = true;
    this.sides = sides;
    const frame = make("div");
    frame.className = "table";
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", "Table");
    const table = make("table");
    const row = this.row(head, "th", markdown);
    for (const cell of row.children) cell.scope = "col";
    const top = make("thead");
    top.append(row);
    this.body = make("tbody");
    table.append(top, this.body);
    frame.append(table);
    markdown.add(parent, frame);
  }

  line(text, markdown) {
    markdown.add(this.body, this.row(text, "td", markdown));
  }

  row(text, tag, markdown) {
    const row = make("tr");
    const found = cells(text);
    for (const [at, side] of this.sides.entries()) {
      const cell = make(tag);
      if (side !== "") cell.className = side;
      const words = found[at] ?? "";
      markdown.scanned += words.length;
      cell.append(...inline(words).nodes);
      row.append(cell);
    }
    return row;
  }
}

/// Returns the cells of a line.
export function cells(line) {
  let text = line.trim();
  if (text.startsWith("|")) text = text.slice(1);
  const found = [];
  let cell = "";
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\" && text[at + 1] === "|") {
      cell += "|";
      at += 1;
    } else if (text[at] === "|") {
      found.push(cell.trim());
      cell = "";
    } else {
      cell += text[at];
    }
  }
  if (cell.trim() !== "" || found.length === 0) found.push(cell.trim());
  return found;
}

/// Returns the sides to which the columns are set, from the line below the head; `null` where it is not one.
export function alignments(line) {
  if (!line.includes("-") || !/^[\s|:-]+$/.test(line)) return null;
  const sides = [];
  for (const cell of cells(line)) {
    const found = /^(:?)-+(:?)$/.exec(cell);
    if (!found) return null;
    const [, left, right] = found;
    sides.push(right ? (left ? "center" : "right") : "");
  }
  return sides;
}
