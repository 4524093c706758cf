// Drives a page with `useChat` in Chromium: page.mjs CHROMIUM MAJOR, the major version of `ai`. It prints the address of a model, and
// reads the addresses of two services: the demo, and one with that model. When it prints `restart`, the latter dies and is started
// again, and a line tells when.
import assert from "node:assert/strict";
import { createInterface } from "node:readline/promises";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { SlowModel, WORDS } from "./slow_model.mjs";

const ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const TITLE = "A page of a team";

const [, , executablePath, major, only] = process.argv;
const model = new SlowModel();
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
console.log(`model ${await model.listen()}`);
const [demo, slow] = [(await lines.next()).value, (await lines.next()).value].map((link) => new URL(link).origin);

const bundled = await build({
  entryPoints: ["page.jsx"], bundle: true, write: false, format: "esm", jsx: "automatic", minify: true,
  define: { "process.env.NODE_ENV": '"production"', MAJOR: JSON.stringify(major) },
  // Two versions cannot have one name in a folder of packages.
  alias: major === "6" ? { ai: "ai6", "@ai-sdk/react": "ai6-react" } : {},
});
const html = `<!doctype html><title>${TITLE}</title><div id="root"></div><script type="module">${bundled.outputFiles[0].text.replaceAll("</script", "<\\/script")}</script>`;
const browser = await chromium.launch({ executablePath, args: ARGUMENTS });

/// A page of one chat.
class Page {
  static number = 0;

  static async open(service) {
    const context = await browser.newContext();
    const [page, wrong] = [await context.newPage(), []];
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => wrong.push(error.stack));
    await context.route(`${service}/page*`, (route) => route.fulfill({ contentType: "text/html", body: html }));
    const id = `page-${process.pid}-${Page.number++}`;
    await page.goto(`${service}/page?id=${id}`);
    return Object.assign(new Page(), { service, context, page, id, wrong });
  }

  async close() {
    assert.deepEqual(this.wrong, []);
    assert.equal(await this.page.locator("main[data-error]").count(), 0, "no error");
    await this.context.close();
  }

  async say(text, button = "Send") {
    await this.page.getByLabel("Message").fill(text);
    await this.press(button);
  }

  press(name, at = 0) {
    return this.page.getByRole("button", { name, exact: true }).nth(at).click();
  }

  /// Waits until the last answer has this text, and whatever else.
  has(text, more = "main") {
    return this.page.waitForFunction(([text, more]) => {
      const last = [...document.querySelectorAll("[data-role=assistant]")].at(-1);
      const said = [...(last?.querySelectorAll("[data-text]") ?? [])].map((it) => it.textContent).join("");
      return said.includes(text) && document.querySelector(more);
    }, [text, more]);
  }

  /// Waits until it is ready, and has a call in this state.
  ready(call) {
    return this.page.waitForSelector(call ? `main[data-status=ready] [data-tool="${call[0]}"][data-state="${call[1]}"]` : "main[data-status=ready]");
  }

  text() {
    return this.page.locator("[data-role=assistant]").last().locator("[data-text]").allInnerTexts().then((all) => all.join(""));
  }

  /// The number of messages, and of calls that are in one of them twice.
  async counts() {
    const calls = await this.page.locator("[data-call]").evaluateAll((all) => all.map((it) => `${it.closest("article").dataset.id} ${it.dataset.call}`));
    return [await this.page.locator("article").count(), calls.length - new Set(calls).size];
  }

  async run() {
    const id = await this.page.locator("[data-role=assistant]").last().getAttribute("data-id");
    return (await fetch(`${this.service}/v1/runs/${id}`)).json();
  }

  async ends(status) {
    for (const until = Date.now() + 10_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const run = await this.run();
      if (run.end) return assert.equal(run.status, status);
      assert.ok(Date.now() < until, `the run is ${run.status}`);
    }
  }
}

const text = (messages) => messages.map(({ content }) => (typeof content === "string" ? content : content.map((it) => it.text).join(""))).join("\n");
const WHOLE = (number) => `Answer ${number}: ${WORDS.join(" ")}`;

const until = async (holds, told) => {
  for (const end = Date.now() + 10_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 10))) assert.ok(Date.now() < end, told());
};

/// Lets the service with the model die in what it does, and start again.
const restart = async () => {
  console.log("restart");
  assert.equal((await lines.next()).value, "restarted");
};

/// Waits until the model has had this many requests.
const requests = (count) => until(() => model.requests.length >= count, () => `${model.requests.length} requests`);

/// Waits until this many requests to the model are open.
const open = (count) => until(() => model.open.size === count, () => `${model.open.size} requests are open`);

const scenarios = {
  async "an answer streams, with its call and its thinking"() {
    const page = await Page.open(demo);
    await page.say("What is 6 * 7?");
    await page.has("42", '[data-tool="calculator"][data-state="output-available"]');
    await page.ready();
    assert.ok(await page.page.locator("[data-reasoning]").count() > 0);
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.close();
  },

  async "an answer is seen while it is written"() {
    const [page, before] = [await Page.open(slow), model.requests.length];
    model.upTo(3);
    await page.say("Tell me.");
    await page.has("word3", "main[data-status=streaming]");
    assert.ok(!(await page.text()).includes("word4"));
    model.upTo(WORDS.length);
    await page.has(WHOLE(before + 1), "main[data-status=ready]");
    await page.close();
  },

  async "a person approves, and it goes on in the same message"() {
    const page = await Page.open(demo);
    await page.say('Use notes.keep with text "Milk"');
    await page.ready(["notes.keep", "approval-requested"]);
    await page.press("Approve");
    await page.has("Kept as note", '[data-tool="notes.keep"][data-state="output-available"]');
    await page.ready();
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.ends("completed");
    await page.close();
  },

  async "a person rejects, and the model hears why"() {
    const page = await Page.open(demo);
    await page.say('Use notes.keep with text "Bread"');
    await page.ready(["notes.keep", "approval-requested"]);
    await page.press("Reject");
    await page.has("Not today.", '[data-tool="notes.keep"][data-state="output-denied"]');
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.close();
  },

  async "a person approves for a helper, in a page that is loaded again too"() {
    const page = await Page.open(demo);
    // The task of the helper names the tool, and the words around it do not.
    await page.say('Use helper with "Use notes.keep"now.');
    await page.ready(["notes.keep", "approval-requested"]);
    await page.page.reload();
    await page.ready(["notes.keep", "approval-requested"]);
    await page.press("Approve");
    await page.has("Kept as note", '[data-tool="notes.keep"][data-state="output-available"]');
    await page.ready(["helper", "output-available"]);
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.ends("completed");
    await page.close();
  },

  async "a tool runs on the page"() {
    const page = await Page.open(demo);
    await page.say('Use ask_user with question "What is the page called?"');
    await page.has(TITLE, '[data-tool="ask_user"][data-state="output-available"]');
    await page.ready();
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.ends("completed");
    await page.close();
  },

  async "a stop ends the run and the request to the model"() {
    const [page, before] = [await Page.open(slow), model.requests.length];
    model.upTo(5);
    await page.say("Tell me.");
    await page.has("word5");
    await open(1);
    await page.press("Stop");
    await page.ready();
    await page.ends("cancelled");
    await open(0);
    await page.say("And now?");
    model.upTo(WORDS.length);
    await page.has(WHOLE(before + 2), "main[data-status=ready]");
    await page.close();
  },

  async "an answer is given again, and the model does not see the old one"() {
    const [page, before] = [await Page.open(slow), model.requests.length];
    model.upTo(WORDS.length);
    for (const [at, said] of ["First?", "Second?"].entries()) {
      await page.say(said);
      await page.has(WHOLE(before + at + 1), "main[data-status=ready]");
    }
    await page.press("Again");
    await page.has(WHOLE(before + 3), "main[data-status=ready]");
    assert.deepEqual(await page.counts(), [4, 0]);
    const [first, second, again] = model.requests.slice(before);
    assert.equal(text(again), text(second));
    assert.ok(text(again).includes(WHOLE(before + 1)) && !text(again).includes(WHOLE(before + 2)));
    // An answer before the last one: what followed it is gone too.
    await page.press("This again", 0);
    await page.has(WHOLE(before + 4), "main[data-status=ready]");
    assert.deepEqual(await page.counts(), [2, 0]);
    assert.equal(text(model.requests.at(-1)), text(first));
    await page.say("Third?");
    await page.has(WHOLE(before + 5), "main[data-status=ready]");
    assert.ok(!text(model.requests.at(-1)).includes("Second?"));
    await page.close();
  },

  async "an answer that is not wanted any more is given again"() {
    const [page, before] = [await Page.open(slow), model.requests.length];
    model.upTo(5);
    await page.say("Tell me.");
    await page.has("word5");
    // Stopped for the reader, and not by DELETE.
    await page.page.evaluate(() => window.stop());
    await page.page.waitForSelector("main:not([data-status=streaming])");
    await page.press("Again");
    await requests(before + 2);
    model.upTo(WORDS.length);
    await page.has(WHOLE(before + 2), "main[data-status=ready]");
    assert.equal(text(model.requests.at(-1)), text(model.requests.at(-2)));
    await page.close();
  },

  async "a message that is edited takes the place of what it was"() {
    const [page, before] = [await Page.open(slow), model.requests.length];
    model.upTo(WORDS.length);
    await page.say("Frist?");
    await page.has(WHOLE(before + 1), "main[data-status=ready]");
    await page.say("First?", "Edit");
    await page.has(WHOLE(before + 2), "main[data-status=ready]");
    assert.deepEqual(await page.counts(), [2, 0]);
    assert.ok(!text(model.requests.at(-1)).includes("Frist?"));
    await page.close();
  },

  async "a page that is loaded again in mid-answer reads on"() {
    const [page, before] = [await Page.open(slow), model.requests.length];
    model.upTo(4);
    await page.say("Tell me.");
    for (const words of [8, 12, 16, 20]) {
      await page.has(`word${words - 4}`);
      await page.page.reload();
      // What the tab kept is there before it is connected, and a run that ends before that has nothing to resume.
      await page.has(`word${words - 4}`, "main[data-status=streaming]");
      model.upTo(words);
    }
    model.upTo(WORDS.length);
    await page.has(WHOLE(before + 1), "main[data-status=ready]");
    assert.equal(await page.text(), WHOLE(before + 1), "each word once");
    assert.deepEqual(await page.counts(), [2, 0]);
    assert.equal(model.requests.length, before + 1, "one run");
    await page.close();
  },

  async "a stop behind a resume ends the run"() {
    const page = await Page.open(slow);
    model.upTo(5);
    await page.say("Tell me.");
    await page.has("word5");
    await page.page.reload();
    await page.has("word5", "main[data-status=streaming]");
    await page.press("Stop");
    await page.ready();
    await page.ends("cancelled");
    await open(0);
    await page.page.reload();
    await page.has("word5", "main[data-status=ready]");
    await page.close();
  },

  async "an answer that a restart broke off is read to its end"() {
    const [page, before] = [await Page.open(slow), model.requests.length];
    model.upTo(5);
    await page.say("Tell me.");
    await page.has("word5");
    await restart();
    await requests(before + 2);
    await page.page.reload();
    await page.has(`Answer ${before + 2}: word1`, "main[data-status=streaming]");
    model.upTo(WORDS.length);
    await page.has(WHOLE(before + 2), "main[data-status=ready]");
    // Where the first attempt cannot be taken back, it stands before the second.
    const broken = major === "6" ? `Answer ${before + 1}: ${WORDS.slice(0, 5).join(" ")}` : "";
    assert.equal(await page.text(), broken + WHOLE(before + 2));
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.ends("completed");
    await page.say("And now?");
    await page.has(WHOLE(before + 3), "main[data-status=ready]");
    assert.ok(!text(model.requests.at(-1)).includes(`Answer ${before + 1}:`), "the model sees the second alone");
    await page.close();
  },

  async "a page that is loaded again while it is asked decides"() {
    const page = await Page.open(demo);
    await page.say('Use notes.keep with text "Salt"');
    await page.ready(["notes.keep", "approval-requested"]);
    await page.page.reload();
    await page.ready(["notes.keep", "approval-requested"]);
    await page.press("Approve");
    await page.has("Kept as note", '[data-tool="notes.keep"][data-state="output-available"]');
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.ends("completed");
    await page.close();
  },

  async "a page that is loaded again behind the end has all, and nothing twice"() {
    const page = await Page.open(demo);
    await page.say("What is 6 * 7?");
    await page.has("42");
    await page.ready();
    const told = await page.text();
    await page.page.reload();
    await page.has("42", "main[data-status=ready]");
    assert.equal(await page.text(), told);
    assert.deepEqual(await page.counts(), [2, 0]);
    await page.say("What is 2 + 3?");
    await page.has("5");
    await page.ready();
    assert.deepEqual(await page.counts(), [4, 0]);
    await page.close();
  },
};

let failed = 0;
for (const [name, scenario] of Object.entries(scenarios).filter(([name]) => !only || name.includes(only))) {
  try {
    await scenario();
    console.log(`ok useChat: ${name}`);
  } catch (error) {
    failed += 1;
    const page = browser.contexts().at(-1)?.pages()[0];
    console.log(`FAILED useChat: ${name}: ${error.stack}\n${await page?.content().then((it) => it.slice(it.indexOf("<main"), it.indexOf("</main>"))).catch(() => "")}`);
    for (const context of browser.contexts()) await context.close();
    model.upTo(WORDS.length);
  }
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
