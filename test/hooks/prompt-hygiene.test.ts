// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of shells and scripts

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { promptHygiene } from "../../src/hooks/index.ts";
import { findInvisible, findSecrets, placeOf } from "../../src/hooks/prompt-text.ts";
import { AgentHooksRefused } from "../../src/index.ts";
import { askHook, PROVIDERS, placeForTest, runFake, thrownBy } from "./support.ts";

const ask = (prompt: string, options = {}) => askHook(promptHygiene(options), "UserPromptSubmit", { prompt });
const TOKEN = `ghp_${"aB3dE5fG7h".repeat(4)}`;
const char = (code: number) => String.fromCodePoint(code);

describe("a prompt with a secret", () => {
  it.each([
    ["vendor-key", `use ${TOKEN}`, "1:5"],
    ["pem", `a\nb -----BEGIN RSA PRIVATE ${"KEY"}-----\nMIIE`, "2:3"],
    ["url-credentials", `clone https://me:${"hunter2hunter2"}@example.com`, "1:15"],
    ["assignment", `API_TOKEN=${"abcdefgh12345678"}`, "1:11"],
  ])("%s is denied with kind and place and without the value", async (kind, prompt, place) => {
    const { reason } = await ask(prompt);
    expect(reason).toContain(`promptHygiene: the prompt holds a secret (${kind}) at ${place}`);
    expect(reason).not.toContain(prompt.slice(-8));
  });

  it.each([
    "TOKEN=$TOKEN",
    "set API_KEY=<your key>",
    "curl -H 'Authorization: Bearer $TOKEN'",
    "https://${USER}@example.com",
    "PASSWORD=***",
  ])("of which only a placeholder stands there is let through: %s", async (prompt) =>
    expect((await ask(prompt)).verdict.decision).toBe("none"),
  );
});

describe("a prompt with characters that nobody sees", () => {
  it.each([
    ["a bidirectional control (U+202E)", 0x202e],
    ["a bidirectional control (U+2066)", 0x2066],
    ["a bidirectional control (U+200F)", 0x200f],
    ["an invisible character (U+200B)", 0x200b],
    ["an invisible character (U+2060)", 0x2060],
    ["an invisible character (U+00AD)", 0xad],
    ["an invisible character (U+FEFF)", 0xfeff],
    ["an invisible character (U+3164)", 0x3164],
    ["a tag or hidden selector (U+E0041)", 0xe0041],
    ["a tag or hidden selector (U+E0100)", 0xe0100],
    ["a control character (U+001B)", 0x1b],
    ["a control character (U+0000)", 0],
    ["a control character (U+0085)", 0x85],
    ["an invisible character (U+200D)", 0x200d],
    ["half of a surrogate pair (U+D800)", 0xd800],
  ])("%s is denied with its place", async (what, code) => {
    expect((await ask(`one\ntwo ${char(code)}three`)).reason).toContain(`${what} at 2:5`);
  });

  it.each([
    ["tabs and line ends", "a\tb\r\nc\n"],
    ["accents, CJK, Hebrew and Arabic", "é ñ 漢字 שלום مرحبا"],
    ["emoji with joiners and skin", "👩‍💻 👨‍👩‍👧 👍🏽 ❤️ 🏳️‍🌈"],
    ["a flag of tags", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"],
    ["Persian with a joiner", "می‌خواهم"],
    ["a byte order mark at the start", "\ufefftext"],
  ])("%s are let through", async (_name, prompt) => {
    expect((await ask(prompt)).reason).toBe("");
  });
});

describe("limits and patterns", () => {
  it("a prompt above maxChars is denied with both figures, one at it is not", async () => {
    expect((await ask("x".repeat(11), { maxChars: 10 })).reason).toBe(
      "promptHygiene: the prompt has 11 characters; at most 10 are admitted",
    );
    expect((await ask("x".repeat(10), { maxChars: 10 })).verdict.decision).toBe("none");
    expect((await ask("x".repeat(200_001))).verdict.decision).toBe("deny");
  });

  it("denyPatterns deny with the place and without the text", async () => {
    const { reason } = await ask("a\nmy codename Falcon", { denyPatterns: ["zzz", "(?i)falcon"] });
    expect(reason).toBe("promptHygiene: the prompt holds what denyPatterns[1] names at 2:13");
  });

  it("warnPatterns tell the model and let the prompt through", async () => {
    expect((await ask("deploy to prod", { warnPatterns: ["prod"] })).verdict).toEqual({
      decision: "none",
      context: "promptHygiene: the prompt holds what warnPatterns[0] names at 1:11",
    });
  });

  it("names five findings and says how many more there are", async () => {
    const { reason } = await ask(char(0x200b).repeat(8));
    expect(reason.match(/U\+200B/g)).toHaveLength(5);
    expect(reason).toContain("and 3 more");
  });

  it("a prompt that is no text is denied", async () => {
    expect((await askHook(promptHygiene(), "UserPromptSubmit", {})).reason).toContain("is no text");
  });

  it("on an event without a prompt it fails, and a gate denies", async () => {
    const { reason, steps } = await askHook(promptHygiene(), "PreToolUse", { tool_name: "Bash" });
    expect(reason).toContain("PreToolUse carries no prompt");
    expect(steps[0]?.failed).toBe(true);
  });

  it.each([
    [{ maxChars: 0 }, "maxChars must be a whole number, 1 or more, got 0 (number)"],
    [{ maxChars: "9" }, 'maxChars must be a whole number, 1 or more, got "9" (string)'],
    [{ denyPatterns: ["(?=x)"] }, "denyPatterns[0] must be an RE2 expression"],
    [{ warnPatterns: "x" }, 'warnPatterns must be an array of strings, got "x" (string)'],
    [{ deny: [] }, 'unknown option "deny"'],
  ])("%j are refused at once", (options, message) => {
    expect(thrownBy(() => promptHygiene(options as never)).message).toContain(`promptHygiene: ${message}`);
  });
});

describe("whatever the text", () => {
  it("a place is a line and a column that lead back to the character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 40 }),
        fc.string({ maxLength: 40 }),
        (before, after) => {
          const lines = before.split("\n");
          const expected = `${lines.length}:${[...(lines.at(-1) ?? "")].length + 1}`;
          return placeOf(before + after, before.length) === expected;
        },
      ),
    );
  });

  it("an invisible character between words is found wherever it stands", () => {
    const words = fc.string({ unit: fc.constantFrom(..."abc 漢é\n"), minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(
        words,
        words,
        fc.constantFrom(0x200b, 0x200d, 0x202e, 0x2062, 0xe0061, 0x1b),
        (before, after, code) =>
          findInvisible(before + char(code) + after).some(({ index }) => index === before.length),
      ),
    );
  });

  it("secrets are found wherever they stand, and nothing throws", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: "binary" }),
        (before, after) =>
          findSecrets(`${before} ${TOKEN} ${after}`).length > 0 && findInvisible(before + after).length >= 0,
      ),
    );
  });
});

describe.each(PROVIDERS)("a run of %s", (provider) => {
  const script = { steps: [{ text: "did it" }] };

  it("does not start with such a prompt when agent_prompt asks", async () => {
    const place = await placeForTest();
    const run = runFake(
      place,
      provider,
      { agent_prompt: [{ hooks: [promptHygiene()] }] },
      script,
      `use ${TOKEN}`,
    );
    const error = await run.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(AgentHooksRefused);
    expect((error as AgentHooksRefused).issues.map(({ code }) => code)).toEqual(["prompt_denied"]);
  });

  it("ends before any work when UserPromptSubmit asks", async () => {
    const place = await placeForTest();
    const { result, denied } = await runFake(
      place,
      provider,
      { UserPromptSubmit: [{ hooks: [promptHygiene()] }] },
      script,
      `use ${TOKEN}`,
    );
    expect(denied).toEqual(["UserPromptSubmit"]);
    expect(result.outcome).toBe("prompt_blocked");
  });
});
