// A service that asks for a token.

import assert from "node:assert/strict";
import { accessible, ended, enter, said } from "../browser.mjs";

export async function a_token_is_asked_for_kept_in_the_tab_and_forgotten(browser) {
  return browser.page(async (page) => {
    await page.waitForSelector("#ask-token[open]");
    await accessible(page, "the token");
    await browser.picture(page, "token");
    await page.keyboard.type("tökén☃");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#token-text").textContent.includes("ASCII letters"));
    assert.equal(await page.evaluate(() => sessionStorage.getItem("forgeline.token")), null, "no request can carry it");
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#token-text").textContent.includes("does not recognize this token"));
    await page.keyboard.type("s3cret-of-ann");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#forget:not([hidden])");
    assert.match(await said(page, "think of me"), /^Completed/);
    await page.reload();
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("Six times seven"));
    assert.equal(await page.locator("#ask-token[open]").count(), 0, "it is not asked for again");
    const kept = await page.evaluate(() => [document.cookie, JSON.stringify(localStorage), location.href, document.documentElement.outerHTML].join());
    assert.ok(!kept.includes("s3cret-of-ann"), "it is in the tab's own store alone");
    await enter(page, "#forget", { back: true });
    await page.waitForSelector("#ask-token[open]");
    assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), [], "nor is what was said");
    assert.doesNotMatch(await page.locator("body").evaluate((it) => it.textContent), /think of me/);
  });
}

export async function one_who_gives_no_token_is_asked_again_when_something_is_sent(browser) {
  return browser.page(async (page) => {
    await page.waitForSelector("#ask-token[open]");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector("#status").textContent.includes("The service does not respond"));
    // The list and the figures are asked for behind it.
    await page.waitForFunction(() => document.querySelector("#no-conversations").textContent.includes("Conversations in this browser tab"));
    assert.equal(await page.locator("#ask-token[open]").count(), 0);
    await page.fill("#text", "think now");
    await page.focus("#text");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#ask-token[open]");
    await page.keyboard.type("s3cret-of-ann");
    await page.keyboard.press("Enter");
    assert.match(await ended(page), /^Completed/);
  });
}

export async function another_token_shows_nothing_of_the_one_before(browser) {
  return browser.page(async (page) => {
    await page.waitForSelector("#ask-token[open]");
    await page.keyboard.type("s3cret-of-ann");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#forget:not([hidden])");
    await said(page, "think of my secret");
    // The token is not known any more, and someone else has one.
    await page.route("**/v1/**", (route) => route.request().headers().authorization === "Bearer of-bob" ? route.fulfill({ json: {} }) : route.fulfill({ status: 401, json: { detail: "no" } }));
    await page.goto(`${browser.address}/#/`);
    await page.reload();
    await page.waitForSelector("#ask-token[open]");
    await page.keyboard.type("of-bob");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#ask-token[open]", { state: "hidden" });
    await page.waitForFunction(() => !document.querySelector("#side").textContent.includes("my secret"));
    assert.equal(await page.evaluate(() => sessionStorage.getItem("forgeline.runs")), null);
  });
}
