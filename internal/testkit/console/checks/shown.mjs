// What the pages show of figures, signs and states is what there is.

import assert from "node:assert/strict";
import { choose, ended, said, send, toAsk } from "../browser.mjs";

export async function figures_of_a_service_are_drawn(browser) {
  return browser.page(async (page) => {
    // A call that takes no time, and one that does: figures as `0.0`, and as they come.
    assert.match(await said(page, "think of it"), /^Completed/);
    const text = await page.evaluate(async () => (await fetch("dev/latency")).text());
    assert.match(text, /:\d+\.0[,}]/, "the service spells numbers so");
    await page.goto(`${browser.address}/#/latency`);
    await page.waitForSelector(".percentiles");
    const names = await page.locator("#latency figure").evaluateAll((all) => all.map((it) => `${it.querySelector("h3").innerText}: ${it.querySelectorAll("tbody tr, .share").length}`));
    assert.deepEqual(names.slice(0, 3).map((it) => it.split(":")[0]), ["Time to the first token", "Turn", "Emission"]);
    // Where people were waited for, that stands by itself.
    const people = names.filter((it) => it.startsWith("Waiting for people")).length;
    assert.equal(await page.locator("#latency .percentiles").count(), 4 + people, names.join("; "));
    assert.match(await page.locator("#latency").innerText(), /calculator/);
    assert.doesNotMatch(await page.locator("#latency").innerText(), /NaN|undefined|rawJSON|object|000 s/);
    await browser.picture(page, "latency-real");
    return names.join("; ");
  });
}

export async function numbers_with_a_point_are_numbers_of_a_form_and_kept_in_arguments(browser) {
  return browser.page(async (page) => {
    await send(page, "price of it");
    await toAsk(page);
    const field = page.locator(".ask input[type=number]");
    assert.deepEqual([await field.inputValue(), await field.getAttribute("min"), await field.getAttribute("max")], ["2", "1", "100"]);
    await page.locator(".call summary").first().click();
    assert.match(await page.locator(".call-inside").innerText(), /"of": 1\.0/, "as the model wrote it");
    await field.fill("12.345678901234567890123");
    const sent = page.waitForRequest("**/inputs");
    await choose(page, "Send");
    assert.match((await sent).postData(), /12\.345678901234567890123/, "no number is rounded");
    await ended(page);
  });
}

const HIDDEN = "hidden/a\\u202egnp.exe\\u202c.md";

export async function signs_that_are_not_seen_are_told_where_one_decides(browser) {
  for (const [name, shape] of [["light", {}], ["dark", { dark: true }], ["light-390", { width: 390, height: 800 }]]) {
    await browser.page(async (page) => {
      await send(page, "disguised call");
      await page.waitForSelector("#waits:not([hidden])");
      await page.locator(".ask details summary").click();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${wide} pixels wider than the window`);
      await browser.picture(page, `signs-${name}`);
      const head = await page.locator(".diff .head").first().evaluate((it) => it.textContent);
      assert.ok(head.includes(HIDDEN), head);
      assert.match(await page.locator(".diff .added").evaluate((it) => it.textContent), /safe\\u200b 👩‍🚀$/, "a picture of several signs is one");
      assert.deepEqual(await page.locator(".diff .unseen").evaluateAll((all) => all.map((it) => it.textContent)), ["\\u202e", "\\u202c", "\\u202e", "\\u202c", "\\u200b"]);
      const box = await page.locator(".ask textarea").inputValue();
      assert.ok(box.includes(HIDDEN) && box.includes("safe\\u200b"), box);
      assert.ok((await page.locator(".call-short").innerText()).includes("a\\u202egnp.exe\\u202c.md"));
      assert.doesNotMatch(await page.locator(".call").evaluate((it) => it.textContent), /[\u202a-\u202e\u200b]/);
      // What was only shown so reads back as it was.
      await page.locator(".ask textarea").fill(box.replace("safe", "save"));
      await page.getByRole("button", { name: "Allow once" }).click();
      await ended(page);
      assert.match(await page.locator(".ask .settled").innerText(), /with edited arguments/);
      const said = await page.locator(".turn.agent .md").last().evaluate((it) => it.textContent);
      assert.ok(said.includes("a\u202egnp.exe\u202c.md") && said.includes("save\u200b"), said);
      await page.locator("#talk a[href^='#/events/']").click();
      await page.waitForFunction(() => /· completed$/.test(document.querySelector("#events .facts")?.textContent));
      assert.doesNotMatch(await page.locator("#events").evaluate((it) => it.textContent), /[\u202a-\u202e\u200b]/);
    }, shape);
  }
}

export async function signs_are_written_as_json_reads_them(browser) {
  return browser.page((page) => page.evaluate(async () => {
    const { visible } = await import("/console/unseen.js");
    const wrong = [];
    let signs = 0;
    for (let code = 0; code < 0x110000; code += 1) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const sign = String.fromCodePoint(code);
      const shown = visible(`a${sign}b`);
      if (shown === `a${sign}b`) continue;
      signs += 1;
      if (JSON.parse(`"${shown}"`) !== `a${sign}b`) wrong.push(code.toString(16));
    }
    const must = ["\u0000", "\u001b", "\r", "\u007f", "\u0085", "\u00ad", "\u061c", "\u115f", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028", "\u202e", "\u2066", "\ufeff", "\ufe01", "\u{e0041}", "\u{e0101}"];
    wrong.push(...must.filter((sign) => visible(`a${sign}b`) === `a${sign}b`).map((sign) => `not seen: ${sign.codePointAt(0).toString(16)}`));
    const seen = ["a\nb\tc", "é ü ß", "日本語", "مرحبا", "שלום", "👩‍🚀 ❤️ 👍🏽 👩🏽‍🚀"];
    wrong.push(...seen.filter((text) => visible(text) !== text));
    if (wrong.length > 0) throw new Error(wrong.join(", "));
    return `${signs} signs`;
  }));
}

export async function a_change_that_changes_nothing_is_words(browser) {
  return browser.page(async (page) => {
    await send(page, "same again");
    await page.waitForSelector("#waits:not([hidden])");
    assert.equal(await page.locator(".ask .diff").count(), 0);
    assert.equal(await page.locator(".preview pre").innerText(), "changes nothing in `same.md`");
    await page.getByRole("button", { name: "Reject" }).click();
    await ended(page);
  });
}

/// Answers a request for the events of a run with these, one after another; the kind of each comes first.
const told = (events) => ({
  headers: { "stream-closed": "true", "stream-up-to-date": "true", "stream-next-offset": "1_1" },
  json: events.map(([type, members], seq) => ({ type, run_id: "told", turn: 1, seq, at: Date.now(), ...members })),
});

const below = (run, type, members = {}) => ["custom", { name: "sub_agent", data: { call_id: "c", name: "helper", background: false, envelope: { type, run_id: run, turn: 1, seq: 0, at: Date.now(), ...members } } }];

export async function an_agent_below_tells_how_it_ended(browser) {
  const end = (status) => ["run_end", { status, usage: null }];
  const call = ["tool_call", { id: "c", tool_name: "helper", arguments: {} }];
  const begins = below("one", "message_content", { content: "at work" });
  const failed = ["tool_result_error", { id: "c", tool_name: "helper", content: "no", duration_ms: 1 }];
  const done = ["tool_result", { id: "c", tool_name: "helper", content: "yes", duration_ms: 1 }];
  const cases = [
    [[call, begins, end("interrupted")], ["interrupted"]],
    [[call, begins, end("cancelled")], ["stopped"]],
    [[call, begins, failed, end("completed")], ["failed"]],
    [[call, begins, done, end("completed")], ["done"]],
    // A restart: the call has it begin again.
    [[call, begins, below("two", "message_content", { content: "anew" }), done, end("completed")], ["interrupted", "done"]],
  ];
  for (const [events, wanted] of cases) {
    await browser.page(async (page) => {
      await page.route("**/v1/runs", (route) => route.fulfill({ status: 202, json: { run_id: "told", conversation_id: "told" } }));
      await page.route("**/v1/runs/told/stream?*", (route) => route.fulfill(told(events)));
      await send(page, "go");
      await ended(page);
      assert.deepEqual(await page.locator(".below .call-state").allInnerTexts(), wanted);
    });
  }
}

export async function a_service_that_refuses_events_is_told_in_words(browser) {
  return browser.page(async (page) => {
    let isRefused = true;
    await page.route("**/events", (route) => {
      const detail = "too many streams of this scope; close some";
      return isRefused ? route.fulfill({ status: 429, json: { code: "too_many", detail } }) : route.continue();
    });
    await send(page, "slow to tell");
    await page.waitForFunction(() => document.querySelector("#status").textContent.includes("too many streams of this scope"));
    isRefused = false;
    assert.match(await ended(page), /^Completed/);
    assert.doesNotMatch(await page.locator("#status").innerText(), /too many/);
  });
}
