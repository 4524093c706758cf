// The renderer of Markdown: the same at every cut, and in a time that grows with the text.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const scenes = new URL("../../../itest/src/bin/scripted_service/", import.meta.url);
const TEXTS = ["long.md", "hostile.md"].map((name) => readFileSync(new URL(name, scenes), "utf8"));
TEXTS.push(`Text with *an open sign, and ${"a word of many and ".repeat(60)}its end*. Then **another ${"without an end ".repeat(300)}`,
  `${"one line without an end ".repeat(120)}\n- item\n  with more\n\n  > quote\n  lazy\n\n1. a\n2. b\n   - c\n     \`\`\`js\n     x\n\n     y\n     \`\`\`\n3. d\n\n\`\`\`\nopen`,
  "a | b\n--|--\n1 | 2\n\ntext\n\n| x |\n|:-:|\n| `a\\|b` |\n| **z** | more |\n***\n# End #\r\n\ta\n    b\n",
  "> ".repeat(200) + "deep\n" + "- ".repeat(200) + "deep\n" + "[".repeat(500) + "*".repeat(500) + "`".repeat(500) + "<".repeat(500));

export async function every_cut_makes_the_same_page(browser) {
  return browser.page(async (page) => page.evaluate(async (texts) => {
    const { Markdown } = await import("/console/markdown.js");
    const render = (pieces) => {
      const node = document.createElement("div");
      const markdown = new Markdown(node);
      for (const piece of pieces) markdown.push(piece);
      markdown.end();
      node.normalize();
      return node.innerHTML;
    };
    let seed = 20261125;
    const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);
    let count = 0;
    for (const [at, text] of texts.entries()) {
      const whole = render([text]);
      const same = (pieces, how) => {
        count += 1;
        const got = render(pieces);
        if (got === whole) return;
        let first = 0;
        while (got[first] === whole[first]) first += 1;
        throw new Error(`text ${at}, ${how}: …${got.slice(first - 60, first + 80)}… instead of …${whole.slice(first - 60, first + 80)}…`);
      };
      same([...text], "each sign alone");
      const step = Math.max(1, Math.floor(text.length / 400));
      for (let cut = 1; cut < text.length; cut += step) same([text.slice(0, cut), text.slice(cut)], `cut at ${cut}`);
      for (let round = 0; round < 60; round += 1) {
        const pieces = [];
        for (let from = 0; from < text.length;) {
          const size = 1 + Math.floor(random() ** 3 * 200);
          pieces.push(text.slice(from, from + size));
          from += size;
        }
        same(pieces, `round ${round}`);
      }
    }
    return `${count} cuts of ${texts.length} texts`;
  }, TEXTS));
}

export async function work_grows_with_the_text(browser) {
  return browser.page(async (page) => {
    const shapes = {
      prose: "The quick *brown* fox [jumps](https://example.org) over `the` lazy dog. ",
      lines: "- an item with **strong** words\n",
      code: "let x = a[i] * 2; // and so on\n",
      open: "a *b **c `d [e <f ~~g ",
      table: "| a | *b* | c |\n",
      blanks: " \t  \n",
    };
    const factors = await page.evaluate(async (shapes) => {
      const { Markdown } = await import("/console/markdown.js");
      const scanned = (text) => {
        const markdown = new Markdown(document.createElement("div"));
        for (let at = 0; at < text.length; at += 5) markdown.push(text.slice(at, at + 5));
        markdown.end();
        return markdown.scanned;
      };
      const found = {};
      for (const [name, part] of Object.entries(shapes)) {
        const head = name === "code" ? "```\n" : name === "table" ? "| a | b | c |\n|---|---|---|\n" : "";
        const text = (size) => head + part.repeat(size / part.length);
        found[name] = [scanned(text(10_000)), scanned(text(40_000))];
      }
      return found;
    }, shapes);
    const told = [];
    for (const [name, [small, large]] of Object.entries(factors)) {
      assert.ok(large / small < 4.6, `${name}: four times the text is ${(large / small).toFixed(2)} times the work`);
      told.push(`${name} ${(large / 40_000).toFixed(1)}`);
    }
    return `characters looked at for each one, in pieces of 5: ${told.join(", ")}`;
  });
}

export async function what_is_written_is_shown(browser) {
  return browser.page(async (page) => {
    const cases = [
      ["a *b* **c** ***d*** ~~e~~ `f` _g_ __h__ i_j_k 2*3*4", "<p>a <em>b</em> <strong>c</strong> <strong><em>d</em></strong> <s>e</s> <code>f</code> <em>g</em> <strong>h</strong> i_j_k 2<em>3</em>4</p>"],
      ["# One\n## Two ##\ntext", "<h3>One</h3><h4>Two</h4><p>text</p>"],
      ["- a\n- b\n  1. c\n  2. d\n\ntext", "<ul><li><p>a</p></li><li><p>b</p><ol><li><p>c</p></li><li><p>d</p></li></ol></li></ul><p>text</p>"],
      ["3. c\n4. d", '<ol start="3"><li><p>c</p></li><li><p>d</p></li></ol>'],
      ["> a\nb\n> > c", "<blockquote><p>a\nb</p><blockquote><p>c</p></blockquote></blockquote>"],
      ["a  \nb\\\nc\nd", "<p>a<br>b<br>c\nd</p>"],
      ["\\*a\\* &amp; &#42; &lt;b&gt;", "<p>*a* &amp; * &lt;b&gt;</p>"],
      ["a\n---\nb", "<p>a</p><hr><p>b</p>"],
      ["<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"],
      ["`a **b` c**", "<p><code>a **b</code> c**</p>"],
    ];
    const wrong = await page.evaluate(async (cases) => {
      const { Markdown } = await import("/console/markdown.js");
      return cases.flatMap(([text, want]) => {
        const node = document.createElement("div");
        const markdown = new Markdown(node);
        markdown.push(text);
        markdown.end();
        node.normalize();
        return node.innerHTML === want ? [] : [{ text, got: node.innerHTML, want }];
      });
    }, cases);
    assert.deepEqual(wrong, []);
  });
}
