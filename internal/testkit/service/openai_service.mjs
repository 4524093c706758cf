// The official client of OpenAI for Node against the service, whose agents are models: openai_service.mjs URL.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { VERSION } from "openai/version";

const [url] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
let scenarios = 0;
const ok = (what, holds, seen) => {
  assert.ok(holds, `${what}: ${JSON.stringify(seen)}`);
  scenarios += 1;
};
const user = (content) => ({ role: "user", content });

const models = [];
for await (const model of client.models.list()) models.push(model);
const model = models[0].id;
ok("the models", models.every((it) => it.object === "model"), models);
ok("one of them", (await client.models.retrieve(model)).id === model);

const messages = [{ role: "developer", content: "Be brief." }, user("What is 6 * 7?")];
const whole = await client.chat.completions.create({ model, messages });
const text = whole.choices[0].message.content;
ok("a whole answer", text.includes("42") && whole.choices[0].finish_reason === "stop", whole);

const stream = await client.chat.completions.create({
  model, messages, stream: true, stream_options: { include_usage: true },
});
const chunks = [];
for await (const chunk of stream) chunks.push(chunk);
const said = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
ok("a streamed answer", said === text, chunks);
ok("its usage", chunks.at(-1).usage.total_tokens === whole.usage.total_tokens, chunks.at(-1));

// The client runs the tool and sends its result by itself.
let asked;
const tools = [{
  type: "function",
  function: {
    name: "weather", description: "Tells the weather.", parse: JSON.parse,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    function: ({ city }) => { asked = city; return "Sunny."; },
  },
}];
for (const streamed of [false, true]) {
  asked = undefined;
  const runner = client.chat.completions.runTools({
    model, tools, stream: streamed, messages: [user('Use weather: "Lisbon"')],
  });
  const answer = await runner.finalContent();
  ok("a tool of the client", asked === "Lisbon" && answer.includes("Sunny."), { asked, answer });
}

const session = { headers: { "x-session-id": "new" } };
const first = await client.chat.completions.create({ model, messages: [user("What is 2 * 3?")] }, session).withResponse();
const id = first.response.headers.get("x-session-id");
session.headers["x-session-id"] = id;
const second = await client.chat.completions.create({ model, messages: [user("What is 3 * 5?")] }, session).withResponse();
ok("a session", id.startsWith("conv-") && second.response.headers.get("x-session-id") === id, id);

const refused = await client.chat.completions.create({ model: "nope", messages }).catch((error) => error);
ok("an unknown model", refused instanceof OpenAI.NotFoundError && refused.code === "model_not_found", refused);
const wrong = await client.chat.completions.create({ model, messages: [user(7)] }).catch((error) => error);
ok("a wrong message", wrong instanceof OpenAI.BadRequestError && wrong.param === "messages[0].content", wrong);

// A client that leaves ends its run.
const waits = await client.chat.completions.create({ model, stream: true, messages: [user('Call notes.keep with "Buy milk."')] }).withResponse();
const run = `${url}/v1/runs/${waits.response.headers.get("x-run-id")}`;
const until = async (wanted) => {
  for (let left = 300; left > 0; left -= 1) {
    const { status } = await (await fetch(run)).json();
    if (status === wanted) return status;
    await new Promise((done) => setTimeout(done, 100));
  }
};
ok("a run that waits", (await until("waiting")) === "waiting");
waits.data.controller.abort();
ok("a client that leaves", (await until("cancelled")) === "cancelled");

console.log(`openai ${VERSION} of Node against the service: ${scenarios} scenarios`);
process.exit(0);
