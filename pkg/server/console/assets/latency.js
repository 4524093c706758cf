// How long things took in the last hour.

import { ask } from "./api.js";
import { button, byId, clear, el } from "./dom.js";
import { percentiles, shares } from "./plot.js";
import { count } from "./values.js";

/// Returns `true` when the service tells.
export async function isThere() {
  try {
    await ask("dev/latency");
    return true;
  } catch {
    return false;
  }
}

/// Reads the figures and shows them.
export async function show() {
  const node = byId("latency");
  let found;
  try {
    found = await ask("dev/latency");
  } catch (error) {
    clear(node).append(el("h2", { text: "Latency" }), el("p", { class: "empty", text: `The latencies could not be loaded: ${error.message}` }));
    return;
  }
  const { facts, plots } = read(found);
  const had = node.contains(document.activeElement);
  const again = button("Refresh", show);
  clear(node).append(
    el("div", { class: "page-head" }, el("h2", { text: "Latency" }), el("p", { class: "facts", role: "status", text: facts }), again),
    el("div", { class: "plots" }, plots));
  if (had) again.focus();
}

const row = (name, of) => ({ name, ...of });

/// Reads the answer of the service.
function read({ window_seconds: seconds = 3600, models = [], tools = [] }) {
  const turns = models.reduce((all, it) => all + (it.turn_ms?.count ?? 0), 0);
  const nameOf = (it) => `${it.provider} · ${it.model}`;
  const named = (key) => models.map((it) => row(nameOf(it), it[key]));
  const waited = named("waited_ms").filter((it) => it.count > 0);
  const cached = models.filter((it) => Number.isFinite(it.cache_hit_rate));
  return {
    facts: `${count(turns)} ${turns === 1 ? "turn" : "turns"} in the last ${Math.round(seconds / 60)} minutes`,
    plots: [
      percentiles("Time to the first token", named("first_token_ms"), "From the request to the first piece of the answer."),
      percentiles("Turn", named("turn_ms"), "A whole turn: the model and its calls, without the time that people took."),
      percentiles("Emission", named("emission_ms"), "From a piece of the model's answer to its event; the longest of each turn."),
      percentiles("Tools", tools.map((it) => row(it.place === "client" ? `${it.tool} (client)` : it.tool, it.duration_ms))),
      ...(waited.length > 0 ? [percentiles("Waiting for people", waited, "How long turns waited for an approval or an answer, of those that did.")] : []),
      shares("Read from the prompt cache", cached.map((it) => ({ name: nameOf(it), share: it.cache_hit_rate }))),
    ],
  };
}
