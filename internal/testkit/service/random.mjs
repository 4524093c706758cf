// Reads runs that numbers decide by AG-UI's own client: random.mjs URL COUNT.
import { random } from "./ag_ui.mjs";

const [url, count] = process.argv.slice(2);
await random(url, Number(count), (line) => console.log(`ok AG-UI: ${line}`));
process.exit(0);
