// A service behind a proxy, below a path of its own: CONSOLE_PATH is the rest of its address.

import assert from "node:assert/strict";
import { said } from "../browser.mjs";

export async function the_page_and_all_that_it_asks_for_is_below_the_path(browser) {
  const hash = process.env.CONSOLE_PATH;
  const place = `/${hash.split("#")[0]}`;
  return browser.page(async (page) => {
    const outside = [];
    page.on("request", (request) => {
      const path = new URL(request.url()).pathname;
      if (!path.startsWith(place)) outside.push(path);
    });
    await page.waitForSelector("#forget:not([hidden])");
    assert.ok(!page.url().includes("token="), "the token has left the address");
    assert.match(await said(page, "What is 6 * 7?"), /^Completed/);
    await page.reload();
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("42"));
    assert.match(await said(page, "What is 2 * 3?", 2), /^Completed/);
    assert.deepEqual(outside, []);
  }, { hash });
}
