// What was said in a conversation, by this tab, by others and long ago: each turn once, in its place, as it was seen live.

import assert from "node:assert/strict";
import { ended, said, send } from "../browser.mjs";

const json = { "content-type": "application/json" };

/// Returns what the turns say, each in one line.
const turns = (page) => page.locator("#talk > article").evaluateAll((all) =>
  all.map((it) => (it.classList.contains("user") ? "U " : "A ") + it.querySelector(".said, .content").innerText.replace(/\s+/g, " ").trim()));

/// Waits until a run that another client begins has ended; returns its id.
async function run(browser, body) {
  const begun = await (await fetch(`${browser.address}/v1/runs`, { method: "POST", headers: json, body: JSON.stringify(body) })).json();
  const events = await fetch(`${browser.address}/v1/runs/${begun.run_id}/events`);
  await events.text();
  return begun.run_id;
}

const has = (page, text) => page.waitForFunction((text) => document.querySelector("#talk").innerText.includes(text), text);

/// Waits until the events of all turns are read.
const read = (page, count) => page.waitForFunction((count) => {
  const states = [...document.querySelectorAll("#talk .turn-state")];
  return states.length === count && states.every((it) => it.textContent.startsWith("Completed"));
}, count);

export async function the_same_message_twice_is_two_turns_after_a_reload(browser) {
  return browser.page(async (page) => {
    const wanted = ["U the same twice", "A You said: the same twice", "U the same twice", "A You said: the same twice"];
    await said(page, "the same twice");
    await said(page, "the same twice", 2);
    assert.deepEqual(await turns(page), wanted);
    await page.reload();
    await read(page, 2);
    assert.deepEqual(await turns(page), wanted);
    await page.getByRole("button", { name: "Ask again" }).last().click();
    await ended(page, 3);
    await page.reload();
    await read(page, 3);
    assert.deepEqual(await turns(page), [...wanted, ...wanted.slice(2)]);
  });
}

export async function turns_of_another_tab_are_shown_in_their_place(browser) {
  return browser.page(async (page) => {
    await said(page, "first of this tab");
    const other = await page.context().newPage();
    await other.goto(page.url());
    await read(other, 1);
    await said(other, "second of the other tab", 2);
    await said(page, "third of this tab", 2);
    await has(page, "You said: second of the other tab");
    const wanted = ["first of this tab", "second of the other tab", "third of this tab"].flatMap((it) => [`U ${it}`, `A You said: ${it}`]);
    assert.deepEqual(await turns(page), wanted);
    for (const tab of [page, other]) {
      await tab.reload();
      await read(tab, 3);
      assert.deepEqual(await turns(tab), wanted);
    }
    // One that is looked at again shows what came meanwhile.
    await run(browser, { input: "fourth of a program", conversation_id: new URL(page.url()).hash.split("/")[2] });
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await has(page, "You said: fourth of a program");
    assert.deepEqual((await turns(page)).slice(-2), ["U fourth of a program", "A You said: fourth of a program"]);
  });
}

export async function an_older_conversation_is_shown_as_it_was_live(browser) {
  await run(browser, { input: "think of it", conversation_id: "kept-native" });
  await run(browser, { input: "What is 6 * 7?", conversation_id: "kept-written", agent: "written" });
  for (const conversation of ["kept-native", "kept-written"]) {
    for (const isGone of [false, true]) {
      await browser.page(async (page) => {
        // Events that retention has taken.
        if (isGone) await page.route(/\/v1\/runs\/[^/]+\/(events|stream)/, (route) => route.fulfill({ status: 410, json: { code: "gone", detail: "gone" } }));
        await page.goto(`${browser.address}/#/chat/${conversation}`);
        await page.waitForFunction((isGone) => document.querySelector("#talk .turn-state")?.textContent.startsWith(isGone ? "The events of this run are no longer available" : "Completed"), isGone);
        const where = `${conversation}${isGone ? " without events" : ""}`;
        assert.equal(await page.locator(".call").count(), 1, where);
        assert.equal(await page.locator(".call-name").innerText(), "calculator", where);
        assert.match(await page.locator(".call-state").innerText(), /^done/, where);
        assert.match(await page.locator(".call-short").innerText(), /^expression: 6 \* 7$/, where);
        await page.locator(".call summary").click();
        assert.match(await page.locator(".call-inside").innerText(), /"expression": "6 \* 7"[\s\S]*42/, where);
        assert.ok(await page.locator(".thinking").count() >= 1, where);
        assert.doesNotMatch(await page.locator("#talk").evaluate((it) => it.textContent), /<tool|tool_name/, where);
        await browser.picture(page, `kept-${conversation}-${isGone}`);
      });
    }
  }
}

export async function a_long_conversation_begins_at_its_end(browser) {
  const count = 130;
  for (let at = 0; at < count; at += 1) await run(browser, { input: `turn ${at}.`, conversation_id: "long-one" });
  return browser.page(async (page) => {
    await page.goto(`${browser.address}/#/chat/long-one`);
    await has(page, `You said: turn ${count - 1}.`);
    let shown = await turns(page);
    assert.equal(shown.at(-1), `A You said: turn ${count - 1}.`);
    assert.ok(!shown.includes("U turn 0."), "the beginning is read when it is wanted");
    await page.getByRole("button", { name: "Earlier messages" }).click();
    await page.waitForFunction(() => document.querySelector("#talk > article .said").innerText === "turn 0.");
    shown = await turns(page);
    assert.deepEqual(shown, Array.from({ length: count }, (_, at) => [`U turn ${at}.`, `A You said: turn ${at}.`]).flat());
    assert.equal(await page.getByRole("button", { name: "Earlier messages" }).count(), 0);
  });
}

/// Holds requests that begin runs until the function that it returns is called.
async function held(page) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/v1/runs", async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

export async function two_messages_at_once_begin_one_conversation(browser) {
  return browser.page(async (page) => {
    const release = await held(page);
    await send(page, "one of two");
    await send(page, "two of two");
    release();
    await ended(page, 2);
    await has(page, "You said: two of two");
    const id = new URL(page.url()).hash.split("/")[2];
    const { page: { messages } } = await (await fetch(`${browser.address}/v1/conversations/${id}`)).json();
    assert.deepEqual(messages.filter((it) => it.message.role === "user").map((it) => it.message.parts[0].text), ["one of two", "two of two"]);
    assert.deepEqual((await turns(page)).filter((it) => it.startsWith("U ")), ["U one of two", "U two of two"]);
  });
}

export async function a_message_that_is_answered_elsewhere_moves_no_one(browser) {
  return browser.page(async (page) => {
    await said(page, "stay with me");
    const there = new URL(page.url()).hash;
    await page.locator("#new").click();
    await page.waitForSelector("#welcome:not([hidden])");
    const release = await held(page);
    await send(page, "said and left");
    await page.goto(`${browser.address}/${there}`);
    await has(page, "You said: stay with me");
    release();
    await page.waitForFunction(() => document.querySelector("#conversations").innerText.includes("said and left"));
    assert.equal(new URL(page.url()).hash, there);
    assert.deepEqual((await turns(page)).filter((it) => it.startsWith("U ")), ["U stay with me"]);
  });
}

export async function a_conversation_that_is_left_takes_no_words(browser) {
  return browser.page(async (page) => {
    await send(page, "slow and left");
    await page.waitForSelector("#stop:not([hidden])");
    await page.goto(`${browser.address}/#/`);
    await page.waitForSelector("#welcome:not([hidden])");
    await page.waitForSelector("#stop", { state: "hidden" });
    await said(page, "for a new one");
    assert.deepEqual(await turns(page), ["U for a new one", "A You said: for a new one"]);
  });
}

export async function words_that_come_too_late_are_given_back_once(browser) {
  return browser.page(async (page) => {
    await send(page, "slow and over");
    await has(page, "word3 ");
    let answered;
    const answer = new Promise((resolve) => (answered = resolve));
    await page.route("**/inputs", async (route) => {
      await answer;
      await route.fulfill({ status: 404, json: { code: "run_ended", detail: "the run has ended" } });
    });
    await send(page, "and this too");
    await page.waitForSelector("#queued li");
    await page.locator("#stop").click();
    await ended(page);
    assert.equal(await page.inputValue("#text"), "and this too");
    const back = page.waitForResponse("**/inputs");
    answered();
    await (await back).finished();
    await said(page, " now", 2);
    assert.deepEqual((await turns(page)).filter((it) => it.startsWith("U ")), ["U slow and over", "U and this too now"]);
  });
}

export async function a_long_message_is_asked_again_to_its_end(browser) {
  return browser.page(async (page) => {
    // Words that repeat themselves would be cut.
    const text = `${Array.from({ length: 1_000 }, (_, at) => `n${at}`).join(" ")} END`;
    await page.fill("#text", text);
    await page.keyboard.press("Enter");
    await ended(page);
    await page.reload();
    await read(page, 1);
    await page.getByRole("button", { name: "Ask again" }).click();
    await ended(page, 2);
    const id = new URL(page.url()).hash.split("/")[2];
    const { page: { messages } } = await (await fetch(`${browser.address}/v1/conversations/${id}`)).json();
    assert.deepEqual(messages.filter((it) => it.message.role === "user").map((it) => it.message.parts[0].text === text), [true, true]);
    // Where the service has no messages, what the tab has is not all of it.
    await page.route("**/v1/conversations/*", (route) => route.fulfill({ status: 404, json: { code: "not_found", detail: "no" } }));
    await page.reload();
    await ended(page, 2);
    await page.waitForSelector("#talk a[href^='#/events/']");
    assert.equal(await page.getByRole("button", { name: "Ask again" }).count(), 0);
  });
}

export async function a_conversation_that_is_not_there_says_so(browser) {
  return browser.page(async (page) => {
    await page.goto(`${browser.address}/#/chat/unknown`);
    await has(page, "This conversation does not exist");
  });
}
