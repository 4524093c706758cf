// How the pages look, and what stands in the way of those who cannot see or point. The pictures are for a person to look at.

import assert from "node:assert/strict";
import { accessible, ended, enter, said, send } from "../browser.mjs";

const SHAPES = [
  { name: "light-1280", dark: false, width: 1280, height: 860 },
  { name: "dark-1280", dark: true, width: 1280, height: 860 },
  { name: "light-390", dark: false, width: 390, height: 800 },
  { name: "dark-390", dark: true, width: 390, height: 800 },
];

/// Does `work` in each shape; it returns the name of the picture.
async function each(browser, work) {
  let passes = 0;
  for (const shape of SHAPES) {
    await browser.page(async (page) => {
      const look = async (name) => {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${name} ${shape.name}: ${wide} pixels wider than the window`);
        passes += await accessible(page, `${name} ${shape.name}`);
        await browser.picture(page, `${name}-${shape.name}`);
      };
      await work(page, look, shape);
    }, shape);
  }
  return `${passes} rules of axe hold, none serious is broken`;
}

export const a_conversation = (browser) => each(browser, async (page, look) => {
  await look("begin");
  await said(page, "think about six times seven");
  await said(page, "markdown about the tides", 2);
  await look("chat-end");
  await page.locator(".scroll").evaluate((it) => (it.scrollTop = 0));
  await page.locator(".thinking summary").first().click();
  await page.locator(".call summary").first().click();
  await look("chat");
});

export const what_waits = (browser) => each(browser, async (page, look) => {
  await send(page, "approve the new list");
  await page.waitForSelector("#waits:not([hidden])");
  await look("approval");
  await page.getByRole("button", { name: "Allow once" }).click();
  await ended(page);
  await send(page, "choose a day");
  await page.waitForSelector("#waits:not([hidden])");
  await look("client-tool");
  await page.getByRole("button", { name: "Do not answer" }).click();
  await ended(page, 2);
  await send(page, "book a table");
  await page.waitForSelector("#waits:not([hidden])");
  await look("question");
  await page.getByRole("button", { name: "Decline" }).click();
  await ended(page, 3);
  await send(page, "nested work");
  await page.waitForSelector("#waits:not([hidden])");
  await look("nested");
});

export const meanwhile = (browser) => each(browser, async (page, look) => {
  await send(page, "slow work");
  await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("word5 "));
  await send(page, "and the boats too");
  await page.waitForSelector("#queued li");
  await look("meanwhile");
  await page.locator("#stop").click();
  await ended(page);
  // What was not read is in the box again.
  await page.locator("#text").fill("");
  assert.match(await said(page, "fail now", 2), /^Failed/);
  await look("failed");
});

export const events_of_a_run = (browser) => each(browser, async (page, look) => {
  await send(page, "nested work");
  await page.getByRole("button", { name: "Allow once" }).click();
  await ended(page);
  await page.locator("#talk a[href^='#/events/']").click();
  await page.waitForFunction(() => /· completed$/.test(document.querySelector("#events .facts")?.textContent));
  await page.locator(".rows").evaluate((it) => (it.scrollTop = 28 * 40));
  await page.locator(".row:not([hidden])").nth(16).click();
  await look("events");
});

const times = (count, p50, p95, p99) => ({ count, p50, p95, p99 });
const MEASURED = {
  window_seconds: 3600,
  models: [
    { provider: "anthropic", model: "claude-sonnet-5", cache_hit_rate: 0.83, first_token_ms: times(902, 640, 1320, 3900), emission_ms: times(902, 0.021, 0.048, 0.31), turn_ms: times(902, 5200, 14800, 41000) },
    { provider: "openai", model: "gpt-6-mini", cache_hit_rate: 0.61, first_token_ms: times(382, 410, 900, 2100), emission_ms: times(382, 0.018, 0.039, 0.12), turn_ms: times(382, 2900, 7700, 19000) },
  ],
  tools: [
    { tool: "files.read", place: "here", error_rate: 0, duration_ms: times(2210, 1.2, 4.1, 22) },
    { tool: "web.fetch", place: "here", error_rate: 0.02, duration_ms: times(310, 480, 1900, 8200) },
    { tool: "ask_user", place: "client", error_rate: 0, duration_ms: times(57, 9100, 31000, 74000) },
  ],
};

export const figures_of_latency = (browser) => each(browser, async (page, look) => {
  // The figures of a service that was used; those of a test are of no use to look at.
  await page.route("**/dev/latency", (route) => route.fulfill({ json: MEASURED }));
  await page.reload();
  await page.waitForSelector("#to-latency:not([hidden])");
  await enter(page, "#to-latency", { back: true });
  await page.waitForSelector(".percentiles");
  assert.equal(await page.locator(".percentiles").count(), 4);
  await look("latency");
});

export const lists_on_a_phone = (browser) => each(browser, async (page, look, { width }) => {
  await said(page, "one conversation");
  await page.goto(`${browser.address}/#/`);
  await said(page, "another one with a title that is much too long for the list of conversations");
  if (width < 800) await enter(page, "#menu", { back: true });
  await page.locator("#conversations li a").first().focus();
  await look("list");
});
