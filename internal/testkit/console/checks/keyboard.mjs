// Every flow, by the keyboard alone.

import assert from "node:assert/strict";
import { choose, ended, listed, said, send, tabTo, toAsk } from "../browser.mjs";

const talk = (page) => page.locator("#talk").innerText();
const press = (page, key) => page.keyboard.press(key);


export async function thinking_and_calls_are_unfolded(browser) {
  return browser.page(async (page) => {
    const state = await said(page, "think of it");
    assert.match(state, /^Completed · scripted · scripted/);
    assert.match(state, /1,840|3,680/);
    assert.match(await talk(page), /Six times seven is 42, as the calculator says\./);
    assert.equal(await page.locator(".md strong").innerText(), "42");
    await tabTo(page, ".thinking summary", { back: true });
    assert.equal(await page.locator(".thought").isVisible(), false, "thinking is folded");
    await press(page, "Enter");
    assert.match(await page.locator(".thought").innerText(), /the calculator is surer; it takes `6 \* 7`/);
    await tabTo(page, ".call summary", { text: "calculator" });
    await press(page, "Space");
    assert.match(await page.locator(".call-inside").innerText(), /"expression": "6 \* 7"[\s\S]*42/);
    assert.match(await page.locator(".call-state").innerText(), /^done/);
    await tabTo(page, "button.quiet", { text: "Ask again" });
    await press(page, "Enter");
    await ended(page, 2);
    assert.equal(await page.locator(".turn.user").count(), 2);
    await tabTo(page, "a.quiet", { text: "Events", back: true });
    await press(page, "Enter");
    await listed(page);
    await tabTo(page, ".rows");
    await press(page, "End");
    assert.match(await page.locator(".detail").innerText(), /run_end[\s\S]*"status": "completed"/);
    await press(page, "Home");
    await press(page, "ArrowDown");
    assert.match(await page.locator("#events .facts").innerText(), /^\d+ events in .* · completed$/);
    await tabTo(page, "input[type=search]", { back: true });
    await page.keyboard.type("calculator");
    await page.waitForFunction(() => /\d+ of \d+ events/.test(document.querySelector("#events .facts").textContent));
  });
}

export async function approvals_are_answered(browser) {
  return browser.page(async (page) => {
    await send(page, "approve the change");
    await toAsk(page);
    const shown = await page.locator(".ask").innerText();
    assert.match(shown, /notes\.edit asks for your permission/);
    assert.match(shown, /Change: 2 lines added, 1 removed/);
    assert.match(await page.locator(".diff .added").first().innerText(), /^\+\s+added:\s+- green tea, 200 g$/);
    await choose(page, "Allow once");
    assert.match(await ended(page, 1), /^Completed/);
    assert.match(await talk(page), /Allowed once[\s\S]*The result is: changed:/);

    await send(page, "approve it again");
    await toAsk(page);
    await tabTo(page, ".ask details:not([open]) summary", { text: "All arguments" });
    await press(page, "Enter");
    await tabTo(page, ".ask textarea");
    await press(page, "ControlOrMeta+a");
    await page.keyboard.type('{"path": "x"');
    await choose(page, "Allow once");
    assert.match(await page.locator(".ask:not(.is-settled)").innerText(), /must be one JSON object/);
    await page.waitForFunction(() => document.activeElement.matches(".ask textarea"));
    await press(page, "End");
    await page.keyboard.type(', "text": "soap"}');
    await choose(page, "Allow once");
    await ended(page, 2);
    assert.match(await talk(page), /with edited arguments[\s\S]*changed: \{"path":"x","text":"soap"\}/);

    await send(page, "approve and be refused");
    await toAsk(page);
    await tabTo(page, ".ask input[type=text]");
    await page.keyboard.type("not on a Sunday");
    await choose(page, "Reject");
    await ended(page, 3);
    assert.match(await talk(page), /Rejected[\s\S]*not on a Sunday/);

    await send(page, "command please");
    await toAsk(page);
    assert.match(await page.locator(".preview.command").last().innerText(), /cargo build --release/);
    await choose(page, "Always allow");
    await ended(page, 4);
    assert.match(await said(page, "command once more", 5), /^Completed/);
  });
}

export async function tools_of_the_page_are_answered(browser) {
  return browser.page(async (page) => {
    await send(page, "ask me");
    await toAsk(page);
    await choose(page, "Answer");
    assert.match(await page.locator(".ask").innerText(), /Enter an answer first/);
    await tabTo(page, ".ask textarea", { back: true });
    await page.keyboard.type("Green");
    await choose(page, "Answer");
    await ended(page, 1);
    assert.match(await talk(page), /You answered: Green[\s\S]*The result is: Green/);

    await send(page, "choose a day");
    await toAsk(page);
    await tabTo(page, ".ask input[type=radio]");
    await press(page, "ArrowDown");
    await choose(page, "Answer");
    await ended(page, 2);
    assert.match(await talk(page), /The result is: Tuesday/);

    await send(page, "confirm it");
    await toAsk(page);
    await choose(page, "Yes");
    await ended(page, 3);
    assert.match(await talk(page), /The result is: yes/);

    await send(page, "unknown tool");
    await toAsk(page);
    await choose(page, "Not available");
    await ended(page, 4);
    assert.match(await talk(page), /has no such tool/);
  });
}

export async function questions_of_tools_are_forms(browser) {
  return browser.page(async (page) => {
    await send(page, "book a table");
    await toAsk(page);
    await choose(page, "Send");
    assert.equal(await page.locator(".ask input[required]").first().evaluate((it) => it === document.activeElement), true, "what is missing is shown");
    await page.keyboard.type("Ann");
    await tabTo(page, ".ask input[type=number]");
    await press(page, "ArrowUp");
    await tabTo(page, ".ask select");
    await press(page, "ArrowDown");
    await press(page, "ArrowDown");
    await tabTo(page, ".ask input[type=checkbox]");
    await press(page, "Space");
    await choose(page, "Send");
    await ended(page, 1);
    assert.match(await talk(page), /booked: \{"name":"Ann","guests":3,"place":"terrace","quiet":true\}/);

    await send(page, "sign it");
    await toAsk(page);
    assert.equal(await page.locator(".ask a").last().getAttribute("href"), "https://example.org/sign/7");
    await choose(page, "I have opened it");
    await ended(page, 2);
    assert.match(await talk(page), /Accept/);

    await send(page, "book another");
    await toAsk(page);
    await choose(page, "Decline");
    await ended(page, 3);
    assert.match(await talk(page), /the user declined/);
  });
}

export async function agents_below_stand_inside(browser) {
  return browser.page(async (page) => {
    await send(page, "nested work");
    await toAsk(page);
    assert.equal(await page.locator(".below .below .call-name").textContent(), "calculator");
    assert.match(await page.locator(".below .ask").innerText(), /notes\.edit asks for your permission/);
    await choose(page, "Allow once");
    assert.match(await ended(page), /^Completed/);
    assert.match(await talk(page), /The result is: They sold 42 boats\./);
  });
}

export async function steers_stops_and_goes_on(browser) {
  return browser.page(async (page) => {
    await send(page, "steer this");
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("step3"));
    await send(page, "and be brief");
    await page.waitForSelector("#queued li");
    await ended(page);
    const text = await talk(page);
    assert.match(text, /step80[\s\S]*and be brief[\s\S]*You said: and be brief/);
    assert.equal(await page.locator("#queued li").count(), 0);

    await send(page, "slow then stop");
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("word4"));
    await tabTo(page, "#stop");
    await press(page, "Enter");
    assert.match(await ended(page, 2), /^Stopped/);
    assert.doesNotMatch(await talk(page), /word160/);
    assert.equal(await page.evaluate(() => document.activeElement.id), "text", "one can go on writing");

    await send(page, "slow and too late");
    await page.waitForFunction(() => document.querySelectorAll(".turn.agent")[2]?.innerText.includes("word4"));
    await tabTo(page, "#when");
    await press(page, "ArrowDown");
    await press(page, "ArrowDown");
    await send(page, "at the end");
    await page.waitForSelector("#queued li");
    await press(page, "Escape");
    await ended(page, 3);
    assert.equal(await page.locator("#text").inputValue(), "at the end", "what was not read is not lost");
  });
}

export async function conversations_are_left_and_found_again(browser) {
  return browser.page(async (page) => {
    await said(page, "first of all");
    await tabTo(page, "#new", { back: true });
    await press(page, "Enter");
    await page.waitForSelector("#welcome:not([hidden])");
    await page.waitForFunction(() => document.activeElement.id === "text");
    await said(page, "second of all");
    await page.waitForFunction(() => document.querySelector("#conversations").innerText.includes("second of all"));
    await tabTo(page, "#conversations a", { text: "first of all", back: true });
    await press(page, "Enter");
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("You said: first of all"));
    assert.doesNotMatch(await talk(page), /second/);
    assert.match(await said(page, "fail now", 2), /^Failed/);
    assert.match(await page.locator(".failure").innerText(), /the key <b>was<\/b> refused/);
    await press(page, "Shift+Tab");
    await tabTo(page, "#skip", { back: true });
    await press(page, "Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "text");
  });
}
