// What was said in a conversation, on the page: its turns, those that are there, those that come, and those of other tabs.

import { button, clear, el } from "./dom.js";
import { readTurns } from "./kept.js";
import { rememberedRuns } from "./session.js";
import { Turn } from "./turn.js";

// Runs that are past and read at a time: a browser has few connections to a service.
const READ_AT_A_TIME = 3;
// Messages at the end among which those of others are looked for.
const LAST = 50;
// Turns this far from what is seen, in pixels, are read too.
const NEAR = "600px";

/// The turns of a conversation. `hooks` are `keeping`, `note`, and `onOpen`, `onEnd`, `onSteered` and `onAgain` of a turn.
export class Talk {
  constructor(node, scroll, hooks) {
    Object.assign(this, { node, scroll, hooks });
    this.earlier = button("Earlier messages", () => this.readEarlier(), { class: "quiet earlier" });
    this.seen = new IntersectionObserver((entries) => this.sees(entries), { root: scroll, rootMargin: NEAR });
    addEventListener("visibilitychange", () => {
      if (!document.hidden) this.catchUp();
    });
    addEventListener("focus", () => this.catchUp());
    this.visit = 0;
    this.turns = [];
    this.close();
  }

  /// Forgets what is shown.
  close() {
    for (const turn of this.turns) turn.stop();
    this.seen.disconnect();
    // Tells those that wait for the service that another conversation is shown.
    this.visit += 1;
    this.conversation = null;
    this.turns = [];
    this.previous = null;
    this.rest = [];
    this.reading = 0;
    this.toRead = [];
    clear(this.node);
  }

  /// Returns the last turn that goes on, or `null`.
  open() {
    return this.turns.findLast((turn) => turn.isOpen) ?? null;
  }

  /// Shows the turns of the conversation; `run` is one that its address names.
  async read(run) {
    const { visit, conversation } = this;
    let found = { turns: [], previous: null, rest: [], open: null };
    let isKept = true;
    try {
      // Pages may be short, where messages are large.
      do {
        const { turns, ...page } = await readTurns(conversation, { before: found.previous, behind: found.rest });
        found = { ...page, open: found.open ?? page.open, turns: [...turns, ...found.turns] };
        if (visit !== this.visit) return;
      } while (found.previous !== null && found.turns.length === 0);
    } catch (error) {
      if (visit !== this.visit) return;
      // Of a conversation that is not kept the runs may still be there.
      isKept = false;
      if (!error.isGone) this.hooks.note(`The messages could not be read: ${error.message}`, true);
    }
    this.previous = found.previous;
    this.rest = found.rest;
    this.insert(found.turns, found.open, null);
    for (const known of this.unsaid(found, run)) this.add(known);
    if (this.turns.length === 0) {
      const text = isKept ? "There are no messages yet." : "This conversation does not exist: it was deleted, or belongs to someone else.";
      this.node.append(el("p", { class: "empty", text }));
    }
    this.showEarlier();
  }

  /// Returns the runs that are in no message: those behind the messages, and all of a conversation that is not kept.
  unsaid({ turns, previous, open }, run) {
    const own = rememberedRuns(this.conversation);
    const isThere = (it) => turns.some((turn) => turn.run === it.run);
    const last = own.findLastIndex(isThere);
    // Before the last that is there are those of earlier messages.
    const behind = own.slice(last + 1).filter(() => last >= 0 || previous === null);
    for (const other of [run, open]) {
      const isNew = other && !isThere({ run: other }) && !own.some((it) => it.run === other);
      if (isNew && (previous === null || other === open)) behind.push({ run: other, said: null });
    }
    return behind;
  }

  /// Adds a run at the end, and follows it.
  add(known) {
    if (this.turns.length === 0) clear(this.node);
    const turn = this.turn({ ...known });
    this.turns.push(turn);
    this.hooks.keeping(() => this.node.append(...turn.nodes));
    turn.follow();
    return turn;
  }

  turn(known) {
    const { hooks } = this;
    const turn = new Turn({
      ...known,
      keeping: hooks.keeping,
      onOpen: hooks.onOpen,
      onEnd: (end) => hooks.onEnd(turn, end),
      onSteered: hooks.onSteered,
      onLost: (isLost, problem) => hooks.note(lost(isLost, problem), Boolean(problem)),
      onAgain: hooks.onAgain,
    });
    return turn;
  }

  /// Puts turns that messages tell of before one that is there, or at the end.
  insert(found, open, next) {
    const at = next === null ? this.turns.length : this.turns.indexOf(next);
    const turns = found.map((of) => this.turn({ run: of.run, said: of.said, known: of, isPast: of.run === null || of.run !== open }));
    this.turns.splice(at, 0, ...turns);
    const nodes = turns.flatMap((turn) => turn.nodes);
    this.hooks.keeping(() => (next === null ? this.node.append(...nodes) : next.nodes[0].before(...nodes)));
    for (const turn of turns) {
      if (turn.isPast) this.seen.observe(turn.node);
      else turn.follow();
    }
  }

  showEarlier() {
    if (this.previous === null) this.earlier.remove();
    else this.node.prepend(this.earlier);
  }

  async readEarlier() {
    const { visit } = this;
    this.earlier.disabled = true;
    try {
      const { turns, previous, rest } = await readTurns(this.conversation, { before: this.previous, behind: this.rest });
      if (visit !== this.visit) return;
      [this.previous, this.rest] = [previous, rest];
      // What is looked at stays where it is.
      const height = this.scroll.scrollHeight - this.scroll.scrollTop;
      this.insert(turns, null, this.turns[0] ?? null);
      this.showEarlier();
      this.scroll.scrollTop = this.scroll.scrollHeight - height;
    } catch (error) {
      if (visit === this.visit) this.hooks.note(`The messages could not be read: ${error.message}`, true);
    } finally {
      this.earlier.disabled = false;
    }
  }

  /// Shows what others have said in the conversation meanwhile, in its place.
  async catchUp() {
    const { visit, conversation } = this;
    if (conversation === null || this.isCatching) return;
    this.isCatching = true;
    try {
      const { turns, open } = await readTurns(conversation, { limit: LAST });
      if (visit !== this.visit) return;
      const isTold = (turn) => turns.some((it) => it.run === turn.run);
      // Those at the end that no message tells of have not had their turn yet.
      let next = this.turns[this.turns.findLastIndex(isTold) + 1] ?? null;
      for (const found of turns.reverse()) {
        const there = found.run === null ? true : this.turns.find((turn) => turn.run === found.run);
        if (there === undefined) {
          this.insert([found], open, next);
          next = this.turns.find((turn) => turn.run === found.run);
        } else if (there !== true) next = there;
      }
    } catch {
      // It is looked for again.
    } finally {
      this.isCatching = false;
    }
  }

  /// Reads the events of turns that are past once they are near what is seen.
  sees(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      this.seen.unobserve(target);
      const turn = this.turns.find((it) => it.node === target);
      if (turn) this.toRead.push(turn);
    }
    this.readNext();
  }

  readNext() {
    const { visit } = this;
    while (this.reading < READ_AT_A_TIME && this.toRead.length > 0) {
      this.reading += 1;
      // The last one is the one that is looked at.
      this.toRead.pop().readPast().finally(() => {
        if (visit !== this.visit) return;
        this.reading -= 1;
        this.readNext();
      });
    }
  }
}

/// Returns what is said of a connection that is lost.
function lost(isLost, problem) {
  if (!isLost) return "";
  return problem ? `The service does not send events: ${problem.message}. Retrying…` : "The connection was lost; reconnecting…";
}
