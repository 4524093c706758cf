// Questions of the page itself.

import { byId } from "./dom.js";

/// Waits until a dialog is closed; returns the value of the button.
function closed(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }));
}

// What a header can carry of a token.
const TOKEN = /^[\x21-\x7e]+$/;

/// Asks for a token; returns it, or `null`.
export async function askForToken(wasWrong) {
  const input = byId("token");
  let told = wasWrong ? "The service does not recognize this token. Enter another one; it is kept until this tab is closed." : "It is kept until this tab is closed.";
  for (;;) {
    input.value = "";
    byId("token-text").textContent = told;
    const pressed = await closed(byId("ask-token"));
    const token = input.value.trim();
    input.value = "";
    if (pressed !== "use" || token === "") return null;
    if (TOKEN.test(token)) return token;
    told = "A token consists of ASCII letters, digits and punctuation, without spaces; this one contains other characters. Enter it again.";
  }
}

/// Asks the user; returns `null` for no, else the text of the field, which is empty where there is none.
export async function askUser({ title, text = "", yes, label, value = "" }) {
  byId("dialog-title").textContent = title;
  byId("dialog-text").textContent = text;
  byId("dialog-yes").textContent = yes;
  byId("dialog-field").hidden = label === undefined;
  byId("dialog-label").textContent = label ?? "";
  const input = byId("dialog-input");
  input.value = value;
  const pressed = closed(byId("dialog"));
  if (label !== undefined) input.select();
  return (await pressed) === "yes" ? input.value.trim() : null;
}
