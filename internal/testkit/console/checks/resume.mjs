// What is lost on the way comes again, once.

import assert from "node:assert/strict";
import net from "node:net";
import { choose, ended, said, send, toAsk } from "../browser.mjs";

const WORDS = Array.from({ length: 160 }, (_, at) => `word${at + 1}`).join(" ");

const words = (page) => page.locator(".turn.agent .md").innerText();

export async function a_page_that_is_loaded_again_reads_on(browser) {
  return browser.page(async (page) => {
    await send(page, "slow answer");
    for (const word of ["word5 ", "word60 "]) {
      await page.waitForFunction((word) => document.querySelector("#talk").innerText.includes(word), word);
      await page.reload();
    }
    await page.waitForFunction(() => document.querySelector(".turn.user")?.innerText.includes("slow answer"));
    assert.match(await ended(page), /^Completed/);
    assert.equal(await words(page), WORDS);
    await page.reload();
    await ended(page);
    assert.equal(await words(page), WORDS, "after the end too");
    // Without what the tab remembers, the address has enough.
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await ended(page);
    assert.equal(await words(page), WORDS);
    await page.waitForFunction(() => document.querySelector("#stop").hidden);
    assert.match(await said(page, "one more", 2), /^Completed/);
  });
}

export async function a_page_that_is_loaded_again_can_stop_and_answer(browser) {
  return browser.page(async (page) => {
    await send(page, "approve after a reload");
    await page.waitForSelector("#waits:not([hidden])");
    await page.reload();
    await toAsk(page);
    await choose(page, "Allow once");
    assert.match(await ended(page), /^Completed/);
    await page.reload();
    await ended(page);
    assert.match(await page.locator(".ask .settled").innerText(), /Allowed/);
    await send(page, "slow again");
    await page.waitForFunction(() => document.querySelector("#talk").innerText.includes("word3 "));
    await page.reload();
    await page.waitForSelector("#stop:not([hidden])");
    await page.focus("#stop");
    await page.keyboard.press("Enter");
    assert.match(await ended(page, 2), /^Stopped/);
  });
}

export async function two_pages_answer_one_question_once(browser) {
  return browser.page(async (page) => {
    await send(page, "confirm in two pages");
    await page.waitForSelector("#waits:not([hidden])");
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole("button", { name: "No", exact: true }).click();
    await ended(page);
    assert.match(await page.locator(".ask .settled").innerText(), /No longer needed/);
    assert.match(await page.locator("#talk").innerText(), /The result is: no/);
  });
}

/// Passes connections on to the service, and cuts each that has sent so many bytes.
function cutting(to, most) {
  const state = { cuts: 0 };
  const server = net.createServer((client) => {
    const service = net.connect(Number(to.port), to.hostname);
    let sent = 0;
    const end = () => {
      client.destroy();
      service.destroy();
    };
    service.on("data", (data) => {
      sent += data.length;
      client.write(data);
      if (sent > most && String(data).includes("message_content")) {
        state.cuts += 1;
        end();
      }
    });
    client.on("data", (data) => service.write(data));
    for (const side of [client, service]) side.on("error", end).on("close", end);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({ server, state, address: `http://127.0.0.1:${server.address().port}` })));
}

export async function a_connection_that_is_cut_again_and_again_loses_nothing(browser) {
  const { server, state, address } = await cutting(new URL(browser.address), 4000);
  try {
    return await browser.page(async (page) => {
      await send(page, "slow and cut");
      assert.match(await ended(page), /^Completed/);
      assert.equal(await words(page), WORDS);
      assert.ok(state.cuts >= 3, `${state.cuts} cuts`);
      return `${state.cuts} cuts`;
    }, { address });
  } finally {
    server.close();
  }
}
