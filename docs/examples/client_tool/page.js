// The browser half of a calculator in the page. It reads events and writes results, a line of JSON each;
// a page in a browser does the same with what its service sends.
"use strict";

const readline = require("node:readline");

// Less than the 90 s of the server: the model then reads what took too long.
const WATCHDOG_MS = 30_000;

// What the page can do, by the names of the tools.
const tools = {
  calculator({ expression }) {
    const keys = expression.match(/\d+(\.\d+)?|[-+*/]/g) ?? [];
    if (keys.length % 2 === 0 || keys.join("") !== expression.replace(/\s/g, "")) {
      throw new Error(`\`${expression}\` is not a calculation`);
    }
    let shown = Number(keys[0]);
    for (let at = 1; at < keys.length; at += 2) {
      const number = Number(keys[at + 1]);
      if (keys[at] === "+") shown += number;
      else if (keys[at] === "-") shown -= number;
      else if (keys[at] === "*") shown *= number;
      else shown /= number;
    }
    if (!Number.isFinite(shown)) throw new Error(`\`${expression}\` has no result`);
    return String(shown);
  },
};

const failure = (kind, message) => ({ failure: { kind, message } });

// The calls that were answered, by their ids: one that comes again, after a restart of the server, does not run again.
const answered = new Map();

// Runs a call and returns its result; it never throws.
async function run({ client_call_id, tool_name, arguments: given }) {
  if (!Object.hasOwn(tools, tool_name)) return failure("unknown_tool", tool_name);
  let watchdog;
  const late = new Promise((_, reject) => {
    watchdog = setTimeout(() => reject(new Error("late")), WATCHDOG_MS);
  });
  try {
    const work = Promise.resolve().then(() => tools[tool_name](given));
    return { result: { content: await Promise.race([work, late]) } };
  } catch (error) {
    if (error.message === "late") return failure("watchdog_timeout", `${WATCHDOG_MS / 1000} s`);
    return failure("tool_threw", error.message);
  } finally {
    clearTimeout(watchdog);
  }
}

async function onEvent(event) {
  if (event.type !== "client_tool_request") return;
  const id = event.client_call_id;
  if (!answered.has(id)) answered.set(id, run(event));
  const answer = { client_call_id: id, ...(await answered.get(id)) };
  process.stdout.write(JSON.stringify(answer) + "\n");
}

readline.createInterface({ input: process.stdin }).on("line", (line) => onEvent(JSON.parse(line)));
