// What the model wrote, as it wrote it, and what would not be seen.

import assert from "node:assert/strict";
import { said } from "../browser.mjs";

// Rows: N-67
export async function formulas_stand_as_they_were_written(browser) {
  return browser.page(async (page) => {
    const rows = [
      ["\\(a\\,b\\)", ["\\(a\\,b\\)"]],
      ["so $x_1 \\cdot y_1 = \\{0\\}$ holds", ["$x_1 \\cdot y_1 = \\{0\\}$"]],
      ["\\[\\int_0^1 f(x)\\,dx * 2 * 3\\]", ["\\[\\int_0^1 f(x)\\,dx * 2 * 3\\]"]],
      ["$$a \\\\\nb\\;c$$", ["$$a \\\\\nb\\;c$$"]],
      ["- in a list $\\lambda\\!$\n- and $[x](y)$", ["$\\lambda\\!$", "$[x](y)$"]],
      // Sums of money, code, and a sign that nothing closes are no formulas.
      ["it costs $5 and *not* $6", []],
      ["from $5-$10 a piece", []],
      ["`$a$` and \\$b\\$", []],
      ["\\(open and *still* text", []],
    ];
    const found = await page.evaluate(async (rows) => {
      const { Markdown } = await import("/console/markdown.js");
      const read = (text, cut) => {
        const root = document.createElement("div");
        const markdown = new Markdown(root);
        for (let at = 0; at < text.length; at += cut) markdown.push(text.slice(at, at + cut));
        markdown.end();
        return root;
      };
      return rows.map(([text]) => [1, 3, text.length].map((cut) => {
        const root = read(text, cut);
        return { formulas: [...root.querySelectorAll(".tex")].map((it) => it.textContent), html: root.innerHTML };
      }));
    }, rows);
    for (const [at, [text, formulas]] of rows.entries()) {
      for (const cut of found[at]) {
        assert.deepEqual(cut.formulas, formulas, text);
        assert.equal(cut.html, found[at][0].html, `the same at every cut: ${text}`);
      }
    }
    assert.match(found[5][0].html, /<em>not<\/em>/);
  });
}

// Rows: N-67
export async function copy_gives_the_source(browser) {
  return browser.page(async (page) => {
    const { origin } = new URL(page.url());
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    await said(page, "think of it");
    await page.locator(".turn-buttons").getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const live = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(live, /\*\*42\*\*/);
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".turn-state")?.textContent.startsWith("Completed"));
    await page.locator(".turn-buttons").getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), live, "read again it is the same");
  });
}

// Rows: N-67
export async function thinking_is_seen_while_it_comes_and_folded_behind_it(browser) {
  return browser.page(async (page) => {
    await page.evaluate(async () => {
      const { RunView } = await import("/console/run_view.js");
      document.querySelector("#welcome").hidden = true;
      const views = [{ isPast: false }, { isPast: true }].map((of) => {
        const node = document.createElement("div");
        document.querySelector("#talk").append(node);
        return new RunView(node, { reply: () => {}, ...of });
      });
      const all = (type, members) => {
        for (const view of views) view.event({ type, turn: 1, at: Date.now(), ...members });
        for (const view of views) view.flush();
      };
      window.all = all;
      all("thinking_start");
      all("thinking_content", { content: "First I look. ".repeat(200) });
    });
    const [live, past] = [page.locator(".thought").first(), page.locator(".thought").last()];
    assert.deepEqual([await live.isVisible(), await past.isVisible()], [true, false]);
    const rest = await live.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);
    assert.ok(rest < 2, `the end is in view: ${rest}`);
    await page.evaluate(() => window.all("thinking_end"));
    assert.equal(await live.isVisible(), false);
    // Whoever unfolds it keeps it.
    await page.evaluate(() => window.all("thinking_start"));
    await page.locator(".thinking summary").nth(1).click();
    await page.locator(".thinking summary").nth(1).click();
    await page.evaluate(() => window.all("thinking_end"));
    assert.equal(await page.locator(".thought").nth(1).isVisible(), true);
  });
}

/// Says what runs off the page, and what is so narrow that it has a letter a line.
const outside = (page) => page.evaluate(() => {
  const wrong = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].filter((it) => it.nodeType === 3).map((it) => it.data.trim()).join("");
    if (text === "" || !node.checkVisibility() || node.closest("h1, .hidden, .row-buttons, svg, pre, .table, .rows, .diff")) continue;
    const box = node.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(node);
    const seen = range.getBoundingClientRect();
    const size = Number.parseFloat(getComputedStyle(node).fontSize);
    const isCut = getComputedStyle(node).overflow !== "visible";
    if (!isCut && seen.right > innerWidth + 1) wrong.push(`off the page: ${node.className} ${text.slice(0, 40)}`);
    if (text.length > 3 && box.width < size * 2.2 && seen.height > size * 4) wrong.push(`narrow: ${node.tagName} ${node.className} ${text.slice(0, 40)}`);
  }
  return wrong;
});

// Rows: N-67
export async function nothing_runs_off_the_page_or_has_a_letter_a_line(browser) {
  for (const width of [320, 390, 1280]) {
    await browser.page(async (page) => {
      await page.evaluate(async () => {
        const { RunView } = await import("/console/run_view.js");
        document.querySelector("#welcome").hidden = true;
        const node = document.createElement("div");
        node.className = "content";
        document.querySelector("#talk").append(node);
        const view = new RunView(node, { reply: () => {} });
        const long = `https://host.example/${"a".repeat(300)}`;
        const now = { turn: 1, at: Date.now() };
        view.event({ type: "retry", attempt: 1, max_attempts: 3, delay_ms: 1000, message: long, ...now });
        view.event({ type: "failover", from_provider: "one", to_provider: "two", to_model: "m".repeat(200), reason: long, ...now });
        view.event({ type: "error", code: "server", message: long, ...now });
        view.event({ type: "custom", name: "steered", data: { text: long }, ...now });
        const call = { id: "c", tool_name: `notes.${"edit".repeat(30)}`, ...now };
        view.event({ type: "tool_call", arguments: { path: long }, ...call });
        view.event({ type: "tool_approval_request", approval_id: "a", arguments: { path: long, text: "b" }, ...call });
        const schema = { type: "object", properties: { ["name_of_the_guest_that_comes"]: { type: "string", title: "Name of the guest that comes" }, quiet: { type: "boolean", title: "A quiet place near the window" } }, required: ["quiet"] };
        view.event({ type: "tool_question", question_id: "q", message: long, schema, ...call, id: "d" });
        view.event({ type: "client_tool_request", client_call_id: "k", ...call, id: "e", tool_name: "ask_user", arguments: { question: "Which of these do you want?", options: ["The first one of them", long] } });
        document.querySelector("#status").textContent = `Not sent: ${long}`;
        document.querySelector("#waits").hidden = false;
        document.querySelector("#waits-text").textContent = `notes.${"edit".repeat(30)} asks for your permission`;
        for (const details of document.querySelectorAll("#talk details")) details.open = true;
      });
      await browser.picture(page, `long-texts-${width}`);
      assert.deepEqual(await outside(page), [], `${width}`);
      await page.goto(new URL("/#/latency", page.url()).href);
      await page.waitForSelector("#latency .figures, #latency .empty");
      await browser.picture(page, `latency-${width}`);
      assert.deepEqual(await outside(page), [], `latency, ${width}`);
    }, { width, height: 860 });
  }
}

// Rows: N-67
export async function rename_and_delete_are_found_without_a_mouse_over_them(browser) {
  return browser.page(async (page) => {
    await said(page, "a row of its own");
    const row = page.locator("#conversations li", { hasText: "a row of its own" }).first();
    await page.mouse.move(900, 400);
    const more = row.getByRole("button", { name: /^More for/ });
    assert.equal(await more.isVisible(), true);
    await more.dispatchEvent("click");
    const rename = row.getByRole("button", { name: /^Rename/ });
    const box = await rename.boundingBox();
    assert.ok(box.width > 20 && box.height > 10, JSON.stringify(box));
    await rename.press("Enter");
    await page.waitForSelector("#dialog[open]");
  });
}
