// Percentiles as a picture: a line from the median to the 99th of a hundred, on a scale on which each step is ten times the one before.

import { el, svg } from "./dom.js";
import { count, duration } from "./values.js";

const ROW = 36;
const LEFT = 8;
const WIDTH = 460;
const TOP = 22;

/// Returns the picture and the table of rows `{ name, count, p50, p95, p99 }`, in milliseconds.
export function percentiles(title, rows, about = "") {
  const known = rows.filter((row) => row.count > 0);
  const figure = el("figure", { class: "plot" }, el("h3", { text: title }), about ? el("p", { class: "about", text: about }) : null);
  if (known.length === 0) {
    figure.append(el("p", { class: "empty", text: "Nothing was measured in the last hour." }));
    return figure;
  }
  figure.append(drawn(known), table(known));
  return figure;
}

function drawn(rows) {
  const values = rows.flatMap((row) => [row.p50, row.p95, row.p99]).filter((it) => it > 0);
  // What took no whole millisecond stands at the beginning.
  const [least, most] = values.length > 0 ? [Math.min(...values), Math.max(...values)] : [1, 1];
  const low = Math.floor(Math.log10(Math.max(0.001, least)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(most)));
  const x = (value) => LEFT + ((Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)) * (WIDTH - 2 * LEFT);
  const height = TOP + rows.length * ROW + 4;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "percentiles", "aria-hidden": "true" });
  for (let power = low; power <= high; power += 1) {
    const at = x(10 ** power);
    const anchor = power === low ? "start" : power === high ? "end" : "middle";
    picture.append(svg("line", { x1: at, x2: at, y1: TOP - 4, y2: height, class: "grid" }),
      svg("text", { x: at, y: 12, "text-anchor": anchor, class: "tick", text: tick(10 ** power) }));
  }
  for (const [at, row] of rows.entries()) {
    const y = TOP + at * ROW + 25;
    const [from, middle, to] = [x(row.p50), x(row.p95 ?? row.p50), x(row.p99 ?? row.p50)];
    picture.append(
      svg("text", { x: LEFT, y: y - 11, class: "name", text: row.name }),
      svg("line", { x1: from, x2: to, y1: y, y2: y, class: "span" }),
      svg("circle", { cx: from, cy: y, r: 4.5, class: "p50" }),
      svg("rect", { x: middle - 3.5, y: y - 3.5, width: 7, height: 7, class: "p95" }),
      svg("path", { d: `M${to} ${y - 5.5}l5.5 5.5l-5.5 5.5l-5.5 -5.5z`, class: "p99" }));
  }
  return picture;
}

const tick = (ms) => (ms < 1 ? `${Math.round(ms * 1000)} µs` : ms < 1000 ? `${ms} ms` : `${count(ms / 1000)} s`);

/// Returns a time of the table.
function shown(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms === 0) return "< 1 ms";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  return ms < 10 ? `${ms.toFixed(1)} ms` : duration(ms);
}

function table(rows) {
  const head = [["", ""], ["count", ""], ["median", "circle"], ["p95", "square"], ["p99", "diamond"]];
  const cells = (row) => [count(row.count ?? 0), shown(row.p50), shown(row.p95), shown(row.p99)];
  return el("table", { class: "figures" },
    el("thead", {}, el("tr", {}, head.map(([text, sign]) => el("th", { scope: "col", class: sign ? `sign ${sign}` : null, text })))),
    el("tbody", {}, rows.map((row) => el("tr", {}, el("th", { scope: "row", text: row.name }), cells(row).map((text) => el("td", { text }))))));
}

/// Returns bars of shares between 0 and 1.
export function shares(title, rows) {
  const figure = el("figure", { class: "plot" }, el("h3", { text: title }));
  if (rows.length === 0) {
    figure.append(el("p", { class: "empty", text: "No provider reported it in the last hour." }));
    return figure;
  }
  for (const { name, share } of rows) {
    const percent = Math.round(share * 100);
    figure.append(el("div", { class: "share" }, el("span", { text: name }),
      el("meter", { min: "0", max: "1", value: String(share), "aria-label": `${name}: ${percent} %` }), el("span", { class: "number", text: `${percent} %` })));
  }
  return figure;
}
