// The list of conversations, by the keyboard alone.

import assert from "node:assert/strict";
import { ended, said, send, tabTo } from "../browser.mjs";

const list = (page) => page.locator("#conversations").innerText();

const listed = (page, text) => page.waitForFunction((text) => document.querySelector("#conversations").innerText.includes(text), text);

const gone = (page, text) => page.waitForFunction((text) => !document.querySelector("#conversations").innerText.includes(text), text);

async function press(page, selector, text) {
  await tabTo(page, selector, { text, back: true });
  await page.keyboard.press("Enter");
}

/// Begins a run as another tab does; returns its id.
const begin = (page, input, conversation) =>
  page.evaluate(async ([input, conversation]) => {
    const body = JSON.stringify({ input, conversation_id: conversation });
    const answer = await fetch("v1/runs", { method: "POST", headers: { "content-type": "application/json" }, body });
    return (await answer.json()).run_id;
  }, [input, conversation]);

export async function a_conversation_is_renamed_and_deleted(browser) {
  return browser.page(async (page) => {
    await said(page, "rename me");
    await listed(page, "rename me");
    await press(page, "#conversations button", "Rename rename me");
    await page.waitForSelector("#dialog[open]");
    await page.keyboard.type("A better name");
    await page.keyboard.press("Enter");
    await listed(page, "A better name");
    await page.reload();
    await listed(page, "A better name");
    assert.doesNotMatch(await list(page), /rename me/);
    const address = page.url();
    await press(page, "#conversations button", "Delete A better name");
    await page.waitForSelector("#dialog[open]");
    await tabTo(page, "#dialog-yes");
    await page.keyboard.press("Enter");
    await gone(page, "A better name");
    await page.waitForSelector("#welcome:not([hidden])");
    const [, id, run] = /chat\/([^/]+)\/(.+)$/.exec(address);
    const statuses = await page.evaluate((paths) => Promise.all(paths.map(async (path) => (await fetch(path)).status)), [`v1/conversations/${id}`, `v1/runs/${run}`, `v1/runs/${run}/events`]);
    assert.deepEqual(statuses, [404, 404, 404], "its runs and their events are gone too");
  });
}

export async function a_conversation_with_a_run_under_way_is_not_deleted(browser) {
  return browser.page(async (page) => {
    await send(page, "slow and kept");
    await listed(page, "slow and kept");
    await press(page, "#conversations button", "Delete slow and kept");
    await page.waitForSelector("#dialog[open]");
    await tabTo(page, "#dialog-yes");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#dialog-title").textContent === "The service refused the request");
    assert.match(await page.locator("#dialog-text").innerText(), /under way/);
    await page.keyboard.press("Escape");
    assert.match(await list(page), /slow and kept/);
    assert.match(await ended(page), /^Completed/);
  });
}

export async function a_conversation_from_the_list_follows_its_run(browser) {
  return browser.page(async (page) => {
    await begin(page, "slow elsewhere", "elsewhere");
    await page.reload();
    await listed(page, "slow elsewhere");
    await press(page, "#conversations a", "slow elsewhere");
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("word5 "));
    await page.waitForSelector("#stop:not([hidden])");
    assert.match(await ended(page), /^Completed/);
    assert.deepEqual([await page.locator(".turn.user").count(), await page.locator(".turn.agent").count()], [1, 1]);
    assert.match(await page.locator(".turn.agent .md").innerText(), /^word1 .* word160$/);
    // The next one is of the same conversation, and the list has it once.
    assert.match(await said(page, "and more", 2), /^Completed/);
    assert.equal(await page.locator('#conversations li[data-id="elsewhere"]').count(), 1);
  });
}

export async function older_conversations_are_read_page_by_page(browser) {
  return browser.page(async (page) => {
    const count = 115;
    for (let at = 0; at < count; at += 1) await begin(page, `older ${at}.`, `older-${at}`);
    await page.reload();
    await listed(page, `older ${count - 1}.`);
    const shown = () => page.locator('#conversations li[data-id^="older-"]').evaluateAll((all) => all.map((it) => it.dataset.id));
    let before = (await shown()).length;
    assert.ok(before > 0 && before <= 50, `${before} at first`);
    for (let pages = 0; before < count; pages += 1) {
      assert.ok(pages < 4, `${before} behind ${pages} pages`);
      await tabTo(page, "#more", { back: true });
      await page.keyboard.press("Enter");
      await page.waitForFunction((before) => document.querySelectorAll('#conversations li[data-id^="older-"]').length > before, before);
      before = (await shown()).length;
    }
    const all = await shown();
    assert.equal(new Set(all).size, all.length, "each once");
    await page.waitForSelector("#more", { state: "hidden" });
    // A run that begins and ends has the list read again: what was read stays.
    await said(page, "and one of today");
    await listed(page, "and one of today");
    assert.deepEqual((await shown()).sort(), [...all].sort(), "older ones stay");
    await page.waitForSelector("#more", { state: "hidden" });
    return `${all.length} conversations`;
  });
}
