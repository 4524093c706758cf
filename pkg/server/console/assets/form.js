// Forms for the fields of a JSON schema: an object with plain fields.

import { exact } from "./api.js";
import { el, newId } from "./dom.js";
import { seen, visible } from "./unseen.js";

const TYPES = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
const MOST_FIELDS = 100;

/// Returns the nodes of a form, and `read`, which returns the content, or `null` where a field is wrong.
export function form(schema) {
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  const fields = Object.entries(schema?.properties ?? {}).slice(0, MOST_FIELDS);
  const made = fields.map(([name, of]) => field(name, of ?? {}, required.has(name)));
  const read = () => {
    const content = {};
    for (const { name, input, value } of made) {
      if (input && !input.reportValidity()) return null;
      const given = value();
      if (given !== undefined) content[name] = given;
    }
    return content;
  };
  return { nodes: made.map(({ node }) => node), read };
}

function field(name, of, isRequired) {
  const title = typeof of.title === "string" ? of.title : name;
  const label = el("span", {}, seen(isRequired ? title : `${title} (optional)`));
  const about = typeof of.description === "string" ? el("small", {}, seen(of.description)) : null;
  const options = choicesOf(of);
  if (of.type === "array") return many(name, of, label, about);
  if (of.type === "boolean") {
    const input = el("input", { type: "checkbox", checked: of.default === true });
    label.replaceChildren(...seen(title));
    return { name, input, node: el("label", { class: "choice" }, input, label, about), value: () => input.checked };
  }
  const input = options ? select(options, of, isRequired) : line(of);
  input.required = isRequired;
  const node = el("label", { class: "field" }, label, input, about);
  return { name, input, node, value: () => typed(of, input.value) };
}

function select(options, of, isRequired) {
  const nodes = options.map(([value, shown]) => el("option", { value, text: visible(shown), selected: of.default === value }));
  if (!isRequired || of.default === undefined) nodes.unshift(el("option", { value: "", text: "Choose…" }));
  return el("select", {}, nodes);
}

function line(of) {
  const isNumber = of.type === "number" || of.type === "integer";
  const input = el("input", {
    type: isNumber ? "number" : TYPES[of.format] ?? "text",
    step: isNumber ? (of.type === "integer" ? "1" : "any") : null,
    min: of.minimum,
    max: of.maximum,
    minlength: of.minLength,
    maxlength: of.maxLength,
    autocomplete: "off",
  });
  if (of.default !== undefined) input.value = String(of.default);
  return input;
}

function many(name, of, label, about) {
  const options = choicesOf(of.items ?? {}) ?? [];
  const chosen = new Set(Array.isArray(of.default) ? of.default : []);
  const id = newId("field");
  label.id = id;
  const boxes = options.map(([value]) => el("input", { type: "checkbox", value, checked: chosen.has(value) }));
  const rows = boxes.map((box, at) => el("label", { class: "choice" }, box, el("span", {}, seen(options[at][1]))));
  const node = el("div", { class: "field", role: "group", "aria-labelledby": id }, label, rows, about);
  return { name, input: null, node, value: () => boxes.filter((box) => box.checked).map((box) => box.value) };
}

/// Returns the values that a field may have, each with its words; `null` where any may be.
function choicesOf(of) {
  const titled = of.oneOf ?? of.anyOf;
  if (Array.isArray(titled)) return titled.map((it) => [String(it?.const), String(it?.title ?? it?.const)]);
  if (!Array.isArray(of.enum)) return null;
  const names = Array.isArray(of.enumNames) ? of.enumNames : [];
  return of.enum.map((value, at) => [String(value), String(names[at] ?? value)]);
}

function typed(of, text) {
  if (text === "") return undefined;
  if (of.type === "integer" || of.type === "number") return number(text);
  return of.format === "date-time" ? new Date(text).toISOString() : text;
}

/// Returns a number as it was typed, also one that a program would round.
function number(text) {
  try {
    return exact(text);
  } catch {
    // The browser takes more than JSON, as `.5`.
    return Number(text);
  }
}
