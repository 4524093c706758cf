// Values as text.

import { visible } from "./unseen.js";

/// Returns a value as JSON over several lines.
export function pretty(value) {
  if (value === undefined) return "";
  return JSON.stringify(value, null, 2);
}

/// Returns a value in one short line.
export function brief(value, longest = 120) {
  if (value === undefined || value === null) return "";
  let text = typeof value === "string" ? value : JSON.stringify(value);
  if (typeof value === "object" && !Array.isArray(value) && !JSON.isRawJSON?.(value)) {
    const members = Object.entries(value);
    text = members.map(([name, it]) => `${name}: ${typeof it === "string" ? it : JSON.stringify(it)}`).join(", ");
  }
  return cut(visible(text.slice(0, 4 * longest).replace(/[ \n\t\r]+/g, " ")), longest);
}

/// Cuts a text where it is longer.
export function cut(text, longest) {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

/// Returns a time in words: `12 ms`, `3.4 s`, `2 min 5 s`.
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

const numbers = new Intl.NumberFormat("en");

/// Returns a count, with marks between thousands.
export const count = (number) => numbers.format(number);

const dates = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const times = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/// Returns a moment: the time of a moment of today, else the day.
export function moment(ms) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return "";
  return date.toDateString() === new Date().toDateString() ? times.format(date) : dates.format(date);
}
