import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeText, html, Markup, showUnseen } from "../../src/report/markup.ts";

describe("text in a template", () => {
  test.each([
    ["<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"],
    [`"onload='x'&`, "&quot;onload=&#39;x&#39;&amp;"],
    ["a\u202eb\u2066c", "a\\u202eb\\u2066c"],
    ["\u0000\u001b[31m\u009b", "\\u0000\\u001b[31m\\u009b"],
    ["line\nline\ttab\u2028", "line\\u000aline\\u0009tab\\u2028"],
    ["\u200b\ufeff\u00ad\u{e0041}", "\\u200b\\ufeff\\u00ad\\u{e0041}"],
    ["\ud800x\udc00", "\\ud800x\\udc00"],
    ["é 😀 👩‍💻 العربية", "é 😀 👩‍💻 العربية"],
  ])("%j is shown as %j", (given, expected) => {
    expect(html`${given}`.text).toBe(expected);
  });

  test("markup is kept, lists are joined, nothing is nothing, numbers are numbers", () => {
    expect(html`<i>${html`<b>${"<"}</b>`}${["a", html`<u></u>`, ["&"]]}${undefined}${0}</i>`.text).toBe(
      "<i><b>&lt;</b>a<u></u>&amp;0</i>",
    );
  });

  test("no text can leave its place or hide", () => {
    const odd = fc.string({ unit: "binary", maxLength: 40 });
    fc.assert(
      fc.property(odd, (text) => {
        const shown = escapeText(text);
        expect(shown).not.toMatch(/[<>"']/);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none must be left
        expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(Buffer.from(shown).toString()).toBe(shown); // no half of a pair
      }),
      { numRuns: 2_000 },
    );
  });

  test("an object that looks like markup is none", () => {
    const fake = { text: "<script>" } as unknown as Markup;
    expect(() => html`${fake}`.text).toThrow();
    expect(html`${new Markup("<i>")}`.text).toBe("<i>");
    expect(showUnseen("plain")).toBe("plain");
  });
});
