// Runs clients that others made against a service: clients.mjs URL.
import agUi from "./ag_ui.mjs";
import chat from "./chat.mjs";
import streams from "./streams.mjs";

const [url] = process.argv.slice(2);
// The reconnect timer of EventSource does not keep the process.
setInterval(() => {}, 1_000);
const say = (name) => (line) => console.log(`ok ${name}: ${line}`);
await chat(url, say("AI SDK"));
await agUi(url, say("AG-UI"));
const run = await streams(url, say("streams"));
console.log(`run ${run}`);
process.exit(0);
