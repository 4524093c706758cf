// Signs that are not seen, or that turn the order of what stands beside them: where somebody decides by a text, they are told.

import { el } from "./dom.js";

// Line ends and tabs are seen.
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const PICTURE = /^\p{Extended_Pictographic}/u;
const OF_PICTURE = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u;

/// Returns `true` for a sign that only joins or colours a picture, as in 👩‍🚀.
function isOfPicture(sign, text, at) {
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? "";
  if (sign === "\ufe0f") return PICTURE.test(before);
  return sign === "\u200d" && OF_PICTURE.test(before) && PICTURE.test(text.slice(at + 1, at + 3));
}

/// Returns a sign as JSON may write it, which reads back as the same.
function written(sign) {
  if (sign === "\r") return "\\r";
  return Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}

/// Returns a text in which signs that are not seen are written out, as `\u202e`.
export function visible(text) {
  return text.replace(UNSEEN, (sign, at) => (isOfPicture(sign, text, at) ? sign : written(sign)));
}

/// Returns the nodes of a text; signs that are not seen are written out, and look otherwise than a text that was written so.
export function seen(text) {
  const nodes = [];
  let from = 0;
  for (const { 0: sign, index } of text.matchAll(UNSEEN)) {
    if (isOfPicture(sign, text, index)) continue;
    nodes.push(text.slice(from, index), el("span", { class: "unseen", text: written(sign) }));
    from = index + sign.length;
  }
  return [...nodes, text.slice(from)].filter((node) => node !== "");
}
