// A service that asks for a token.

import assert from "node:assert/strict";
import { accessible, enter, said } from "../browser.mjs";

export async function a_token_is_asked_for_kept_in_the_tab_and_forgotten(browser) {
  return browser.page(async (page) => {
    await page.waitForSelector("#ask-token[open]");
    await accessible(page, "the token");
    await browser.picture(page, "token");
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#token-text").textContent.includes("does not know this token"));
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
    assert.equal(await page.evaluate(() => sessionStorage.getItem("forgeline.token")), null);
  });
}
