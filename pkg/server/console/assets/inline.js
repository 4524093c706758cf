// Emphasis, code, links and the like, inside of one paragraph.
//
// What opens must close within `REACH` characters, so that the look ahead, and with it the work for each piece of a stream, is bounded.

import { link, picture } from "./links.js";

const REACH = 1000;
const DEEPEST = 8;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", hellip: "…", mdash: "—", ndash: "–", copy: "©", times: "×" };
const SPECIAL = /[\\`*_~[!<&$\n]|https?:\/\//g;

const isSpace = (c) => c === undefined || c === "" || /\s/.test(c);
const isWord = (c) => c !== undefined && /[\p{L}\p{N}]/u.test(c);

/// Parses a text. Nothing that comes later changes what stands before `cut` of the answer.
export function inline(text, depth = 0) {
  const parser = new Inline(text, depth);
  parser.run();
  return { nodes: parser.nodes, cut: parser.cut };
}

class Inline {
  constructor(text, depth) {
    this.text = text;
    this.depth = depth;
    this.nodes = [];
    this.said = "";
    // The place of the first sign that what comes later may still pair with.
    this.open = text.length;
    this.cut = 0;
    // Runs of signs that have no partner in the rest of the text.
    this.dead = new Set();
  }

  run() {
    let at = 0;
    while (at < this.text.length) {
      SPECIAL.lastIndex = at;
      const found = SPECIAL.exec(this.text);
      if (!found) break;
      this.plain(at, found.index);
      at = this.sign(found.index);
    }
    this.plain(at, this.text.length);
    this.flush();
  }

  /// Says plain text; behind its last blank the text may be cut.
  plain(from, to) {
    const { text } = this;
    this.said += text.slice(from, to);
    const cut = text.lastIndexOf(" ", to - 1) + 1;
    const isCut = cut > from && cut < text.length && !/\s/.test(text[cut]);
    if (isCut && this.open === text.length) this.cut = cut;
  }

  flush() {
    if (this.said !== "") this.nodes.push(document.createTextNode(this.said));
    this.said = "";
  }

  add(node) {
    this.flush();
    this.nodes.push(node);
  }

  /// Says the text up to `end` as it stands.
  literal(at, end) {
    this.said += this.text.slice(at, end);
    return end;
  }

  /// Remembers that a sign found no partner yet.
  wait(at) {
    if (this.text.length - at < REACH) this.open = Math.min(this.open, at);
  }

  inner(from, to) {
    const text = this.text.slice(from, to);
    if (this.depth >= DEEPEST) return [document.createTextNode(text)];
    return inline(text, this.depth + 1).nodes;
  }

  sign(at) {
    const { text } = this;
    switch (text[at]) {
      case "\\": return this.escape(at);
      case "$": return this.dollar(at);
      case "`": return this.code(at);
      case "*": case "_": case "~": return this.emphasis(at);
      case "[": return this.bracket(at, false);
      case "!": return text[at + 1] === "[" ? this.bracket(at + 1, true) : this.literal(at, at + 1);
      case "<": return this.angle(at);
      case "&": return this.entity(at);
      case "\n": return this.lineEnd(at);
      default: return this.bare(at);
    }
  }

  escape(at) {
    const next = this.text[at + 1];
    if (next === "(" || next === "[") {
      const end = this.formula(at, 2, next === "(" ? "\\)" : "\\]");
      if (end >= 0) return end;
    }
    if (next === "\n") {
      this.add(document.createElement("br"));
      return at + 2;
    }
    if (next !== undefined && /[!-/:-@[-`{-~]/.test(next)) {
      this.said += next;
      return at + 2;
    }
    return this.literal(at, at + 1);
  }

  /// Reads a formula between dollar signs. Sums of money are none: between two of them stands a blank, or a digit behind the second one.
  dollar(at) {
    const { text } = this;
    const isBlock = text[at + 1] === "$";
    const width = isBlock ? 2 : 1;
    const first = text[at + width];
    if (first === undefined) this.wait(at);
    if (!isBlock && isSpace(first)) return this.literal(at, at + 1);
    const end = this.formula(at, width, isBlock ? "$$" : "$");
    return end >= 0 ? end : this.literal(at, at + width);
  }

  /// Shows a formula as it is written: a backslash in it is its own, and so are its other signs. Returns the place behind it, or -1.
  formula(at, width, closing) {
    const { text } = this;
    let close = this.dead.has(closing) ? -1 : text.indexOf(closing, at + width);
    if (closing === "$") {
      const closes = () => !isSpace(text[close - 1]) && text[close - 1] !== "\\" && !/[\d$]/.test(text[close + 1] ?? "");
      while (close >= 0 && close - at <= REACH && !closes()) close = text.indexOf(closing, close + 1);
    }
    if (close < 0 || close - at > REACH) {
      if (close < 0) this.dead.add(closing);
      this.wait(at);
      return -1;
    }
    const end = close + closing.length;
    // What follows a dollar sign tells whether it closes.
    if (closing === "$" && end === text.length) this.wait(at);
    const node = document.createElement("span");
    node.className = "tex";
    node.textContent = text.slice(at, end);
    this.add(node);
    return end;
  }

  lineEnd(at) {
    if (this.said.endsWith("  ")) {
      this.said = this.said.trimEnd();
      this.add(document.createElement("br"));
    } else {
      this.said += "\n";
    }
    return at + 1;
  }

  code(at) {
    const { text } = this;
    let end = at;
    while (text[end] === "`") end += 1;
    const run = text.slice(at, end);
    for (let from = end; !this.dead.has(run);) {
      const close = text.indexOf(run, from);
      if (close < 0 || close - at > REACH) break;
      let behind = close + run.length;
      if (text[behind] !== "`" && text[close - 1] !== "`") {
        let said = text.slice(end, close).replaceAll("\n", " ");
        if (/^ .*\S.* $/.test(said)) said = said.slice(1, -1);
        const node = document.createElement("code");
        node.textContent = said;
        this.add(node);
        return behind;
      }
      while (text[behind] === "`") behind += 1;
      from = behind;
    }
    if (text.indexOf(run, end) < 0) this.dead.add(run);
    this.wait(at);
    return this.literal(at, end);
  }

  emphasis(at) {
    const { text } = this;
    const sign = text[at];
    let end = at;
    while (text[end] === sign) end += 1;
    const length = end - at;
    const opens = !isSpace(text[end]) && !(sign === "_" && isWord(text[at - 1]));
    if (sign === "~" ? length !== 2 : length > 3) return this.literal(at, end);
    // At the end of the text more of the run may follow.
    if (end === text.length) this.wait(at);
    if (!opens) return this.literal(at, end);
    const close = this.closer(end, sign, length, at);
    if (close < 0) {
      this.wait(at);
      return this.literal(at, end);
    }
    this.add(this.emphasized(sign, length, this.inner(end, close)));
    return close + length;
  }

  emphasized(sign, length, children) {
    const wrap = (tag, inside) => {
      const node = document.createElement(tag);
      node.append(...inside);
      return node;
    };
    if (sign === "~") return wrap("s", children);
    if (length === 3) return wrap("strong", [wrap("em", children)]);
    return wrap(length === 2 ? "strong" : "em", children);
  }

  /// Returns where the run that closes begins, or -1.
  closer(from, sign, length, opened) {
    const { text } = this;
    const key = sign.repeat(length);
    if (this.dead.has(key)) return -1;
    let passed = false;
    for (let at = from; at < text.length;) {
      if (at - opened > REACH) {
        passed = true;
        break;
      }
      const c = text[at];
      if (c === "\\") {
        at += 2;
      } else if (c === "`") {
        at = this.behindCode(at);
      } else if (c === sign) {
        let end = at;
        while (text[end] === sign) end += 1;
        const run = end - at;
        const fits = run === length || (run >= 3 && length <= run);
        const closes = !isSpace(text[at - 1]) && !(sign === "_" && isWord(text[end]));
        if (fits && closes && at > from) return run > length ? end - length : at;
        at = end;
      } else {
        at += 1;
      }
    }
    if (!passed) this.dead.add(key);
    return -1;
  }

  /// Returns the place behind a piece of code, or behind its opening run where it does not close.
  behindCode(at) {
    const { text } = this;
    let end = at;
    while (text[end] === "`") end += 1;
    const run = text.slice(at, end);
    if (this.dead.has(run)) return end;
    let close = text.indexOf(run, end);
    while (close >= 0 && (text[close + run.length] === "`" || text[close - 1] === "`")) {
      close = text.indexOf(run, close + run.length);
    }
    if (close < 0) this.dead.add(run);
    return close < 0 || close - at > REACH ? end : close + run.length;
  }

  bracket(at, isPicture) {
    const { text } = this;
    const begin = isPicture ? at - 1 : at;
    const close = this.partner(at);
    if (close < 0) {
      this.wait(begin);
      return this.literal(begin, at + 1);
    }
    // The rest of a link may not be there yet.
    if (close + 1 >= text.length) this.wait(begin);
    const to = text[close + 1] === "(" ? this.destination(close + 2) : null;
    if (to === "open") this.wait(begin);
    if (to === null || to === "open") return this.literal(begin, at + 1);
    const words = text.slice(at + 1, close);
    if (isPicture) this.add(picture(to.address, words));
    else this.add(link(to.address, ...this.inner(at + 1, close)));
    return to.end;
  }

  /// Returns where a bracket closes, or -1.
  partner(at) {
    const { text } = this;
    if (this.partners === undefined) this.partners = pairs(text);
    const close = this.partners.get(at) ?? -1;
    return close - at > REACH ? -1 : close;
  }

  /// Reads `address "title")`; `null` where it is not one, and `"open"` where its end is missing.
  destination(from) {
    const rest = this.text.slice(from, from + REACH);
    const found = /^\s*(?:<([^<>\n]*)>|([^\s()<]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(rest);
    if (found) return { address: decoded(found[1] ?? found[2] ?? ""), end: from + found[0].length };
    return rest.length < REACH && !rest.includes(")") ? "open" : null;
  }

  angle(at) {
    const rest = this.text.slice(at, at + REACH);
    const found = /^<((?:https?:\/\/|mailto:)[^\s<>]*)>/i.exec(rest) ?? /^<([^\s<>@]+@[^\s<>@]+\.[^\s<>@]+)>/.exec(rest);
    if (found) {
      const to = found[1];
      this.add(link(/^(https?|mailto):/i.test(to) ? to : `mailto:${to}`, to));
      return at + found[0].length;
    }
    if (!/[\s>]/.test(rest)) this.wait(at);
    return this.literal(at, at + 1);
  }

  entity(at) {
    const rest = this.text.slice(at, at + 12);
    const found = /^&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,6}));/.exec(rest);
    if (!found) {
      if (/^&[#\w]*$/.test(rest)) this.wait(at);
      return this.literal(at, at + 1);
    }
    const said = decoded(found[0]);
    this.said += said;
    return at + found[0].length;
  }

  /// Makes a link of an address that stands bare in the text.
  bare(at) {
    const { text } = this;
    const found = /^https?:\/\/[^\s<>"'`]+/.exec(text.slice(at, at + REACH));
    if (isWord(text[at - 1]) || !found) return this.literal(at, at + 4);
    let end = at + found[0].length;
    if (end === text.length) this.wait(at);
    const trimmed = (c) => ".,;:!?*_~".includes(c) || (c === ")" && !balanced(text.slice(at, end)));
    while (end > at + 8 && trimmed(text[end - 1])) end -= 1;
    const to = text.slice(at, end);
    this.add(link(to, to));
    return end;
  }
}

const balanced = (text) => text.split("(").length >= text.split(")").length;

function decoded(text) {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,6}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const isValid = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isValid ? String.fromCodePoint(code) : "\ufffd";
  });
}

/// Returns the brackets that close others, by the place of the opening one.
function pairs(text) {
  const found = new Map();
  const open = [];
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (c === "\\") at += 1;
    else if (c === "[") open.push(at);
    else if (c === "]" && open.length > 0) found.set(open.pop(), at);
  }
  return found;
}
