// What a screen reader says by itself: whole pieces of an answer, and what needs the user; not each word as it comes.

const LONGEST = 1500;
let waiting = [];
let timer = null;

/// Says a text, behind what is being said.
export function say(text) {
  const words = text.replace(/\s+/g, " ").trim();
  if (words === "") return;
  waiting.push(words);
  timer ??= setTimeout(flush, 400);
}

function flush() {
  timer = null;
  const text = waiting.join(" ").slice(0, LONGEST);
  waiting = [];
  const node = document.getElementById("said");
  if (node) node.textContent = text;
}
