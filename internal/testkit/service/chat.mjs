// Drives /api/chat with the AI SDK's own chat: answers, approvals, a tool of the page, stop, a reload in the middle.
import assert from "node:assert/strict";
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, message); };
  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {
  constructor(url, id, more = {}) {
    super({
      id,
      state: new State(),
      transport: new DefaultChatTransport({ api: `${url}/api/chat` }),
      onError: (error) => { this.failed = error; },
      sendAutomaticallyWhen: (chat) => lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat),
      ...more,
    });
  }
}

const settled = async (chat, done) => {
  const until = Date.now() + 15_000;
  for (;;) {
    if (chat.failed) throw chat.failed;
    if (chat.status === "ready" && done()) return;
    if (Date.now() > until) throw new Error(`not done: ${chat.status} ${JSON.stringify(chat.messages)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const text = (chat) => chat.messages.at(-1).parts.filter((part) => part.type === "text").map((part) => part.text).join("");
const tool = (chat, name) => chat.messages.flatMap((message) => message.parts).filter((part) => part.type === `tool-${name}`).at(-1);
const ids = (chat) => chat.messages.flatMap((message) => message.parts).map((part) => part.toolCallId).filter(Boolean);

export default async (url, say) => {
  let number = 0;
  const fresh = (more) => new Chat(url, `chat-${process.pid}-${number++}`, more);

  const answer = fresh();
  await answer.sendMessage({ text: "What is 6 * 7?" });
  await settled(answer, () => text(answer).includes("42"));
  assert.equal(tool(answer, "calculator").state, "output-available");
  say("an answer with a call");

  for (const approved of [true, false]) {
    const asks = fresh();
    await asks.sendMessage({ text: 'Use notes.keep with text "Milk"' });
    await settled(asks, () => tool(asks, "notes.keep")?.state === "approval-requested");
    await asks.addToolApprovalResponse({ id: tool(asks, "notes.keep").approval.id, approved, reason: "so" });
    await settled(asks, () => ["output-available", "output-denied"].includes(tool(asks, "notes.keep").state));
    assert.equal(tool(asks, "notes.keep").state, approved ? "output-available" : "output-denied");
    await settled(asks, () => text(asks).length > 0);
    assert.equal(asks.messages.length, 2, "one message goes on");
    assert.equal(new Set(ids(asks)).size, ids(asks).length, "each call once");
  }
  say("approval and rejection");

  const page = fresh({
    onToolCall: ({ toolCall }) => {
      if (toolCall.toolName === "ask_user") {
        page.addToolOutput({ tool: "ask_user", toolCallId: toolCall.toolCallId, output: "Blue." });
      }
    },
  });
  await page.sendMessage({ text: 'Use ask_user with question "Which colour?"' });
  await settled(page, () => tool(page, "ask_user")?.state === "output-available" && text(page).length > 0);
  assert.match(text(page), /Blue/);
  say("a tool of the page");

  const stops = fresh();
  const sent = stops.sendMessage({ text: 'Use ask_user with question "Who stops?"' });
  await sent;
  await settled(stops, () => tool(stops, "ask_user")?.state === "input-available");
  const run = stops.messages.at(-1).id;
  const status = async () => (await (await fetch(`${url}/v1/runs/${run}`)).json()).status;
  assert.equal(await status(), "waiting", "who stops to read does not end the run");
  // A page that is loaded again.
  const again = new Chat(url, stops.id);
  again.messages = [stops.messages[0]];
  await again.resumeStream();
  await settled(again, () => tool(again, "ask_user")?.state === "input-available");
  assert.equal(again.messages.length, 2);
  assert.equal((await fetch(`${url}/api/chat/${stops.id}/stream`, { method: "DELETE" })).status, 204);
  const until = Date.now() + 5_000;
  while ((await status()) !== "cancelled") {
    assert.ok(Date.now() < until, "a stop behind a reload ends the run");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal((await fetch(`${url}/api/chat/${stops.id}/stream`)).status, 204, "nothing to resume");
  say("a reload in the middle, and a stop behind it");

  const anew = fresh();
  await anew.sendMessage({ text: "What is 2 + 3?" });
  await settled(anew, () => text(anew).includes("5"));
  await anew.regenerate();
  await settled(anew, () => text(anew).includes("5"));
  assert.equal(anew.messages.length, 2);
  say("an answer made again");
};
