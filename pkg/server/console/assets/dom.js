// Building of nodes. Text from outside only ever becomes a text node: nothing in the console parses markup.

const SVG = "http://www.w3.org/2000/svg";

/// Returns an element. `on…` members are listeners, `class` and `text` what they say, others are attributes; `true` is an
/// attribute without a value, and `false`, `null` and `undefined` leave it out.
export function el(tag, members = {}, ...children) {
  const node = document.createElement(tag);
  fill(node, members);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/// Returns an element of a picture.
export function svg(tag, members = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  fill(node, members);
  node.append(...children);
  return node;
}

function fill(node, members) {
  for (const [name, value] of Object.entries(members)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "text") node.textContent = value;
    else if (name === "class") node.setAttribute("class", value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

/// Removes what is in a node.
export function clear(node) {
  node.replaceChildren();
  return node;
}

/// Returns the element with an id, which the page has.
export const byId = (id) => document.getElementById(id);

/// Returns a button.
export function button(label, onclick, members = {}) {
  return el("button", { type: "button", class: "button", text: label, onclick, ...members });
}

/// Returns words that only a screen reader says.
export const hidden = (text) => el("span", { class: "hidden", text });

let count = 0;

/// Returns an id that no other element of the page has.
export const newId = (name) => `${name}-${(count += 1)}`;

/// Returns a button that copies a text, where the browser can; `text` is asked when it is pressed.
export function copyButton(text) {
  if (!navigator.clipboard) return null;
  const node = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(text());
      node.textContent = "Copied";
    } catch {
      node.textContent = "Not copied";
    }
    setTimeout(() => (node.textContent = "Copy"), 1500);
  }, { class: "quiet" });
  return node;
}
