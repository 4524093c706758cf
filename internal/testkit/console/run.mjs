// Runs checks of the console in Chromium: `node run.mjs ADDRESS FOLDER CHECK…`. Pictures go into the folder.

import { browse } from "./browser.mjs";

const [address, folder, ...names] = process.argv.slice(2);
let failed = 0;
const browser = await browse(address, folder);
try {
  for (const name of names) {
    const checks = await import(`./checks/${name}.mjs`);
    for (const [title, check] of Object.entries(checks)) {
      const began = Date.now();
      try {
        const said = await check(browser);
        console.log(`ok ${name}: ${title}${said ? `: ${said}` : ""} (${Date.now() - began} ms)`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED ${name}: ${title}: ${error.stack ?? error}`);
      }
    }
  }
} finally {
  await browser.close();
}
process.exit(failed > 0 ? 1 : 0);
