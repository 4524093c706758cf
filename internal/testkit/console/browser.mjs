// A browser that keeps watch: what a page must never do fails the check that did it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const modules = createRequire(path.join(path.resolve(process.env.CONSOLE_MODULES), "x.js"));
const { chromium } = modules("playwright-core");
const AXE = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-device-scale-factor=1"];

export async function browse(address, folder) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS });
  return new Browser(browser, new URL(address).origin, folder);
}

class Browser {
  constructor(browser, address, folder) {
    Object.assign(this, { browser, address, folder });
  }

  close() {
    return this.browser.close();
  }

  /// Opens a page in a window of its own, does `work` with it, and checks that it kept the rules.
  async page(work, { dark = false, width = 1280, height = 860, address = this.address, hash = "" } = {}) {
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
    });
    const wrong = [];
    await context.route("**/*", (route) => {
      const url = new URL(route.request().url());
      if (url.origin === address || url.protocol === "data:" || url.protocol === "blob:") return served(route, url);
      wrong.push(`a request left the host: ${url.href}`);
      return route.abort();
    });
    await context.exposeBinding("__wrong", (_, text) => wrong.push(text));
    await context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => window.__wrong(`the policy was hurt: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => wrong.push(`an error in the page: ${error.stack}`));
    page.on("dialog", (dialog) => {
      wrong.push(`a dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    try {
      await page.goto(`${address}/${hash}`);
      const said = await work(page);
      assert.deepEqual(wrong, []);
      return said;
    } catch (error) {
      if (wrong.length > 0) error.message += `\n${wrong.join("\n")}`;
      await page.screenshot({ path: path.join(this.folder, "failed.png") }).catch(() => {});
      throw error;
    } finally {
      await context.close();
    }
  }

  /// Saves a picture of the page.
  picture(page, name) {
    return page.screenshot({ path: path.join(this.folder, `${name}.png`) });
  }
}

const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };

/// Serves files of the console from a folder while they are written, so that the service need not be built again.
async function served(route, url) {
  const folder = process.env.CONSOLE_ASSETS;
  const name = url.pathname === "/" ? "index.html" : /^\/console\/([\w.]+)$/.exec(url.pathname)?.[1];
  if (!folder || !name) return route.continue();
  // The page may be closed meanwhile.
  const response = await route.fetch().catch(() => null);
  if (response === null) return undefined;
  const body = readFileSync(path.join(folder, name), "utf8").replaceAll("{base}", "");
  return route.fulfill({ response, body, status: 200, contentType: TYPES[path.extname(name)] }).catch(() => {});
}

/// Fails where axe finds something serious.
export async function accessible(page, where) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter((it) => it.impact === "serious" || it.impact === "critical");
  const told = serious.map((it) => `${it.id}: ${it.nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
  assert.deepEqual(told, [], where);
  return found.passes.length;
}

/// Types a message and sends it.
export async function send(page, text) {
  await page.focus("#text");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

/// Waits until the last run has come to its end, and returns what it says of it.
export async function ended(page, runs = 1) {
  await page.waitForFunction((runs) => {
    const turns = document.querySelectorAll(".turn.agent");
    return turns.length >= runs && document.querySelectorAll(".turn.agent.is-open").length === 0;
  }, runs);
  return page.locator(".turn-state").last().innerText();
}

/// Waits until all events of a run that has ended are listed.
export async function listed(page) {
  await page.waitForFunction(() => /· (completed|failed|cancelled)$/.test(document.querySelector("#events .facts")?.textContent));
}

/// Sends a message in a conversation that has `runs` turns then, and waits for the end.
export async function said(page, text, runs = 1) {
  await send(page, text);
  return ended(page, runs);
}

/// Presses Tab, or Shift+Tab, until the focus is on what a selector means and a text names; the mouse is not used.
export async function tabTo(page, selector, { text = "", back = false } = {}) {
  for (let at = 0; at < 120; at += 1) {
    const isThere = await page.evaluate(([selector, text]) => {
      const node = document.activeElement;
      return Boolean(node?.matches(selector)) && `${node.textContent} ${node.value ?? ""} ${node.getAttribute("aria-label") ?? ""}`.includes(text);
    }, [selector, text]);
    if (isThere) {
      const outline = await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        const frame = document.activeElement.closest(".compose");
        return style.outlineStyle !== "none" || (frame && getComputedStyle(frame).boxShadow !== "none");
      });
      assert.ok(outline, `the focus on ${selector} is seen`);
      return;
    }
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
  }
  assert.fail(`the keyboard does not reach ${selector} ${text}`);
}

/// Goes to what a selector means, and presses Enter on it.
export async function enter(page, selector, where) {
  await tabTo(page, selector, where);
  await page.keyboard.press("Enter");
}

/// Waits for a question, and goes to it by the button above the box.
export async function toAsk(page) {
  await page.waitForSelector("#waits:not([hidden])");
  await enter(page, "#waits-go", { back: true });
}

/// Answers the question by the button with this text.
export const choose = (page, text) => enter(page, ".ask .button", { text });

/// Fails only where times count.
export function inTime(what, ms, most) {
  if (ms > most && !process.env.FORGELINE_TIMES_MAY_FAIL) assert.fail(`${what}: ${ms} ms, more than ${most} ms`);
  return `${what} ${ms} ms (at most ${most})`;
}
