// Drives /agui with AG-UI's own client, which refuses events out of order: an answer, an interrupt, a tool of the page, and runs that numbers decide.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";

let number = 0;
const agent = (url, content) => {
  const threadId = `thread-${process.pid}-${number++}`;
  return new HttpAgent({ url, threadId, initialMessages: [{ id: "u1", role: "user", content }] });
};
const run = async (agent, parameters = {}) => {
  const events = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => { events.push(event); } });
  return events;
};
const of = (events, type) => events.filter((event) => event.type === type);
const text = (agent) => agent.messages.filter((message) => message.role === "assistant").map((message) => message.content ?? "").join("");

export default async (url, say) => {
  const answer = agent(`${url}/agui`, "What is 6 * 7?");
  await run(answer);
  assert.match(text(answer), /42/);
  say("an answer");

  const asks = agent(`${url}/agui`, 'Use notes.keep with text "Milk"');
  const first = await run(asks);
  const { outcome } = of(first, "RUN_FINISHED")[0];
  assert.equal(outcome.type, "interrupt");
  const [{ id }] = outcome.interrupts;
  const second = await run(asks, { resume: [{ interruptId: id, status: "resolved", payload: { approved: true } }] });
  assert.match(of(second, "TOOL_CALL_RESULT")[0].content, /Kept/);
  assert.equal(of(second, "RUN_FINISHED")[0].outcome.type, "success");
  say("an interrupt and its resume");

  const tools = [{ name: "tint", description: "Tints the page.", parameters: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] } }];
  const page = agent(`${url}/agui`, 'Use tint with colour "blue"');
  const begun = await run(page, { tools });
  const call = of(begun, "TOOL_CALL_START").find((event) => event.toolCallName === "tint");
  assert.ok(call, JSON.stringify(begun));
  page.addMessage({ id: "r1", role: "tool", toolCallId: call.toolCallId, content: "It is blue now." });
  await run(page, { tools });
  assert.match(text(page), /blue now/);
  say("a tool of the page");
};

// Runs of the agent `random`.
export const random = async (url, count, say) => {
  const ends = {};
  for (let seed = 0; seed < count; seed++) {
    const one = agent(`${url}/agui?agent=random`, `Run ${seed}`);
    let events = [];
    try {
      events = await run(one);
    } catch (error) {
      // An error of the run is told by RUN_ERROR; the client refuses everything else.
      if (error.name === "AGUIError" || !/model is gone|ended|cut|stopped|incomplete/i.test(error.message)) throw new Error(`run ${seed}: ${error.message}`);
      ends.RUN_ERROR = (ends.RUN_ERROR ?? 0) + 1;
      continue;
    }
    const end = events.at(-1)?.type ?? "nothing";
    ends[end] = (ends[end] ?? 0) + 1;
  }
  say(`${count} runs that numbers decide: ${JSON.stringify(ends)}`);
};
