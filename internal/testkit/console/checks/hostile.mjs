// Text of models, tools and users that tries to be more than text.

import assert from "node:assert/strict";
import { listed, said } from "../browser.mjs";

const TAGS = new Set(["A", "ARTICLE", "BLOCKQUOTE", "BR", "BUTTON", "CODE", "DETAILS", "DIV", "EM", "FIGCAPTION", "FIGURE", "FOOTER",
  "H2", "H3", "H4", "H5", "H6", "HR", "INPUT", "LI", "OL", "P", "PRE", "S", "SECTION", "SPAN", "STRONG", "SUMMARY", "TABLE", "TBODY",
  "TD", "TH", "THEAD", "TR", "UL", "SMALL"]);

export async function text_of_models_is_inert(browser) {
  return browser.page(async (page) => {
    await said(page, "hostile <img src=x onerror=window.hurt=1> [me](javascript:window.hurt=1)");
    // The page is what it is; what could be pressed is pressed.
    for (const summary of await page.locator("#talk summary").all()) await summary.click();
    const links = await page.locator("#talk a").evaluateAll((all) => all.map((it) => [it.protocol, it.rel, it.target, it.getAttribute("href")]));
    const outside = links.filter(([, , , href]) => !href.startsWith("#/events/"));
    assert.ok(outside.length >= 3, JSON.stringify(links));
    for (const [protocol, rel, target, href] of outside) {
      assert.ok(["https:", "http:", "mailto:"].includes(protocol), href);
      assert.match(rel, /noopener/);
      assert.equal(target, "_blank");
    }
    const found = await page.locator("#talk *").evaluateAll((all) => all.map((it) => [it.tagName, it.getAttributeNames()]));
    for (const [tag, names] of found) {
      assert.ok(TAGS.has(tag), tag);
      assert.deepEqual(names.filter((it) => it.startsWith("on") || it === "srcdoc" || it === "style"), [], tag);
    }
    assert.equal(await page.evaluate(() => window.hurt), undefined);
    const text = await page.locator("#talk").innerText();
    for (const part of ["<script>window.hurt = 1</script>", '<img src=x onerror="window.hurt = 1">', "<iframe srcdoc", "<style>body{display:none}</style>"]) {
      assert.ok(text.includes(part), `${part} is shown as it was written`);
    }
    await page.locator("#talk a[href^='#/events/']").click();
    await listed(page);
    await page.locator(".rows").press("End");
    assert.match(await page.locator(".detail").innerText(), /run_end/);
    assert.equal(await page.evaluate(() => window.hurt), undefined);
    return `${found.length} elements, ${outside.length} links`;
  });
}

export async function addresses_are_read_as_a_browser_reads_them(browser) {
  return browser.page(async (page) => {
    const wrong = await page.evaluate(async () => {
      const { address } = await import("/console/links.js");
      const bad = ["javascript:alert(1)", "JAVASCRIPT:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)",
        "\u0001javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:https://a/b", "/relative", "//host", "x",
        "ws://host", "ftp://host", "http://", "https://a b", "view-source:https://a", ""];
      const good = ["https://example.org", "http://example.org/a?b=c#d", "mailto:ann@example.org", "HTTPS://EXAMPLE.ORG/"];
      return [...bad.filter((it) => address(it) !== null), ...good.filter((it) => address(it) === null)];
    });
    assert.deepEqual(wrong, []);
  });
}
