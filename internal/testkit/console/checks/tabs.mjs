// Many tabs of one browser, which has six connections to a service.

import assert from "node:assert/strict";
import { ended, send } from "../browser.mjs";

const WORDS = Array.from({ length: 160 }, (_, at) => `word${at + 1}`).join(" ");

/// Opens further tabs beside a page, and counts the streams that all of them have open.
async function tabs(page, count) {
  const context = page.context();
  const begun = new Set();
  const isStream = (request) => /\/v1\/(events|runs\/[^/]+\/events)$/.test(new URL(request.url()).pathname);
  context.on("request", (request) => isStream(request) && begun.add(request));
  for (const end of ["requestfinished", "requestfailed"]) context.on(end, (request) => begun.delete(request));
  // Of a tab that is closed no end is told.
  const open = () => [...begun].filter((request) => !request.frame().page().isClosed()).map((request) => request.url());
  const all = [page];
  while (all.length < count) {
    const other = await context.newPage();
    other.setDefaultTimeout(20_000);
    await other.goto(new URL("/", page.url()).href);
    all.push(other);
  }
  return { all, open };
}

// Rows: N-63
export async function twelve_tabs_wait_for_twelve_approvals_on_one_connection(browser) {
  return browser.page(async (page) => {
    const { all, open } = await tabs(page, 12);
    for (const [at, tab] of all.entries()) await send(tab, `approve in tab ${at}`);
    for (const tab of all) await tab.waitForSelector("#waits:not([hidden])");
    assert.equal(open().length, 1, open().join(" "));
    // One that was open all the time, and one that reads it again.
    await all[7].reload();
    for (const tab of all.reverse()) {
      await tab.getByRole("button", { name: "Allow once" }).click();
      assert.match(await ended(tab), /^Completed/);
      assert.equal(await tab.locator(".turn.agent").count(), 1);
    }
    assert.equal(open().length, 1);
  });
}

// Rows: N-63
export async function a_tab_that_is_closed_hands_the_connection_over_without_loss(browser) {
  return browser.page(async (page) => {
    const { all, open } = await tabs(page, 4);
    // The first one that follows a run has the connection.
    await send(all[0], "slow in the first tab");
    await all[0].waitForFunction(() => document.querySelector("#talk").innerText.includes("word2 "));
    for (const tab of all.slice(1)) await send(tab, "slow elsewhere");
    for (const [at, word] of [[0, "word20 "], [1, "word60 "]]) {
      await all[3].waitForFunction((word) => document.querySelector("#talk").innerText.includes(word), word);
      await all[at].close();
    }
    for (const tab of all.slice(2)) {
      assert.match(await ended(tab), /^Completed/);
      assert.equal(await tab.locator(".turn.agent .md").innerText(), WORDS);
    }
    // Of the runs of closed tabs nothing is lost either.
    const later = await page.context().newPage();
    await later.goto(new URL("/", browser.address).href);
    await later.locator("#conversations a", { hasText: "slow in the first tab" }).first().click();
    await later.waitForFunction((words) => document.querySelector(".turn.agent .md")?.innerText === words, WORDS);
    assert.ok(open().length <= 1, open().join(" "));
  });
}

// Rows: N-63
export async function one_run_in_many_tabs_is_seen_in_each(browser) {
  return browser.page(async (page) => {
    await send(page, "slow and watched");
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("word5 "));
    const context = page.context();
    const others = [];
    for (let at = 0; at < 7; at += 1) {
      const other = await context.newPage();
      await other.goto(page.url());
      others.push(other);
    }
    for (const tab of [page, ...others]) {
      await tab.waitForFunction((words) => document.querySelector(".turn.agent .md")?.innerText === words, WORDS);
      await tab.waitForFunction(() => document.querySelectorAll(".turn.agent.is-open").length === 0);
    }
  });
}

// Rows: N-63
export async function without_locks_a_page_that_is_not_seen_has_no_connection(browser) {
  return browser.page(async (page) => {
    const context = page.context();
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, "locks", { value: undefined });
      let isHidden = false;
      Object.defineProperty(Document.prototype, "hidden", { get: () => isHidden });
      window.see = (isSeen) => {
        isHidden = !isSeen;
        document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
      };
    });
    const { all: [, tab], open } = await tabs(page, 2);
    await send(tab, "slow and hidden");
    await tab.waitForFunction(() => document.querySelector("#talk").innerText.includes("word3 "));
    assert.equal(open().length, 1);
    await tab.evaluate(() => window.see(false));
    await tab.waitForFunction(() => true);
    for (let at = 0; at < 100 && open().length > 0; at += 1) await tab.evaluate(() => new Promise((resolve) => setTimeout(resolve, 20)));
    assert.equal(open().length, 0);
    assert.doesNotMatch(await tab.locator("#talk").innerText(), /word150/, "the run goes on");
    await tab.evaluate(() => window.see(true));
    assert.match(await ended(tab), /^Completed/);
    assert.equal(await tab.locator(".turn.agent .md").innerText(), WORDS);
  });
}
