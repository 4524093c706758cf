// Reads a run by EventSource, and as a Durable Stream by its own client: from the start, the middle and the end, in each mode.
import assert from "node:assert/strict";
import { stream } from "@durable-streams/client";
import { EventSource } from "eventsource";

const begin = async (url, input) => {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/v1/runs`, { method: "POST", headers, body: JSON.stringify({ input }) });
  assert.equal(response.status, 202);
  return `${url}/v1/runs/${(await response.json()).run_id}`;
};

const whole = async (run) => {
  const frames = await (await fetch(`${run}/events`)).text();
  return frames.split("\n\n").filter((frame) => frame.startsWith("id:")).map((frame) => JSON.parse(frame.split("\ndata: ")[1]));
};

const kinds = ["update_busy", "api_call_start", "message_start", "message_content", "message_end", "tool_call_start", "tool_call_content", "tool_call_end", "tool_call", "tool_result", "api_call_end", "turn_end", "token_usage", "thinking_start", "thinking_content", "thinking_end", "no_tool_call", "run_end"];

// Reads until the server says that nothing follows.
const source = (url) => new Promise((resolve) => {
  const events = new EventSource(url);
  const ids = [];
  for (const kind of kinds) events.addEventListener(kind, (event) => { ids.push(Number(event.lastEventId)); });
  events.onerror = (error) => {
    if (error.code === 204 || events.readyState === EventSource.CLOSED) {
      events.close();
      resolve({ ids, code: error.code });
    }
  };
});

export default async (url, say) => {
  const run = await begin(url, "What is 6 * 7?");
  const { ids, code } = await source(`${run}/events`);
  const all = await whole(run);
  assert.equal(code, 204, "the reconnect behind the end");
  assert.deepEqual(ids, all.map((_, index) => index), "each event once, in order");
  say("EventSource reads to the end, comes back, and stays away");

  for (const protocol of ["native", "ag-ui"]) {
    const read = async (offset, live) => {
      const answer = await stream({ url: `${run}/stream?as=${protocol}`, offset, live });
      return { values: await answer.json(), end: answer.offset };
    };
    const { values, end } = await read("-1", false);
    assert.equal(values.at(-1).type, protocol === "native" ? "run_end" : "RUN_FINISHED");
    if (protocol === "native") assert.deepEqual(values, all);
    for (const live of [false, "long-poll", "sse"]) {
      assert.deepEqual((await read("-1", live)).values, values, `${protocol}, ${live}, from the start`);
      assert.deepEqual((await read(end, live)).values, [], `${protocol}, ${live}, behind the end`);
      const middle = `${end.split("_")[0]}_${String(Math.floor(all.length / 2)).padStart(16, "0")}`;
      const rest = (await read(middle, live)).values;
      assert.ok(rest.length > 0 && rest.length < values.length);
      assert.deepEqual(rest, values.slice(-rest.length), `${protocol}, ${live}, from the middle`);
    }
  }
  say("Durable Streams read a run from each place in each mode");
  return run;
};
