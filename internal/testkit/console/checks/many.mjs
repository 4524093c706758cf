// A run of ten thousand events, and the time that things take.

import assert from "node:assert/strict";
import { ended, inTime, listed, send } from "../browser.mjs";

const PAUSE = 100;

/// Collects the tasks that held the page up for 50 ms or more.
const watch = (page) => page.evaluate(() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longest = Math.max(window.longest, Math.round(task.duration));
  }).observe({ type: "longtask" });
});

export async function ten_thousand_events_stream_and_scroll(browser) {
  return browser.page(async (page) => {
    await watch(page);
    await send(page, "many events");
    assert.match(await ended(page), /^Completed/);
    const text = await page.locator(".turn.agent .md").first().evaluate((it) => it.textContent);
    const wanted = Array.from({ length: 10_000 }, (_, at) => `delta${at + 1}`).join(" ");
    assert.equal(text.replace(/[\s.]+/g, " ").replace(/(\d)delta/g, "$1 delta").trim(), wanted, "each delta once, in order");
    const chat = await page.evaluate(() => window.longest);

    await page.locator("#talk a[href^='#/events/']").click();
    await listed(page);
    await watch(page);
    const facts = await page.locator("#events .facts").innerText();
    assert.ok(Number(facts.split(" ")[0].replace(",", "")) > 10_000, facts);
    const rows = await page.evaluate(async () => {
      const list = document.querySelector(".rows");
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      let most = 0;
      for (let at = 0; at <= 100; at += 1) {
        list.scrollTop = (list.scrollHeight * at) / 100;
        await frame();
        await frame();
        most = Math.max(most, list.querySelectorAll(".row").length);
        const top = list.getBoundingClientRect();
        const seen = [...list.querySelectorAll(".row:not([hidden])")].some((row) => Math.abs(row.getBoundingClientRect().top - top.top) <= 28);
        if (!seen) throw new Error(`nothing is shown at ${at} %`);
      }
      return most;
    });
    assert.ok(rows < 120, `${rows} rows are in the page`);
    await page.locator(".rows").press("End");
    assert.match(await page.locator(".row[aria-selected=true]").innerText(), /run_end/);
    await page.locator("input[type=search]").fill("token_usage");
    await page.waitForFunction(() => /^[12] of /.test(document.querySelector("#events .facts").textContent));
    const scroll = await page.evaluate(() => window.longest);
    return [facts, inTime("the longest pause while it streams", chat, PAUSE), inTime("while it scrolls", scroll, PAUSE)].join("; ");
  });
}

export async function the_first_paint_is_quick(browser) {
  const times = [];
  for (let round = 0; round < 5; round += 1) {
    times.push(await browser.page((page) => page.evaluate(() => new Promise((resolve) => {
      new PerformanceObserver((list) => {
        const paint = list.getEntries().find((it) => it.name === "first-contentful-paint");
        if (paint) resolve(Math.round(paint.startTime));
      }).observe({ type: "paint", buffered: true });
    }))));
  }
  times.sort((one, other) => one - other);
  return inTime("first paint, the middle of five", times[2], 300);
}
