import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { secretScan } from "../../src/hooks/secret-scan.ts";
import type { JsonObject } from "../../src/json.ts";
import { askHook, editCall, PROVIDERS, placeForTest, runFake, shellCall, thrownBy } from "./support.ts";

// Put together here, so that no file of the repository looks as if it held one.
const LETTERS = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z";
const SECRETS: readonly (readonly [string, string])[] = [
  ["github", `ghp_${LETTERS.slice(0, 36)}`],
  ["npm", `npm_${LETTERS.slice(0, 36)}`],
  ["slack", `xoxb-${"123456789012"}-${"1234567890123"}-${LETTERS.slice(0, 24)}`],
  [
    "privatekey",
    `-----BEGIN RSA PRIVATE ${"KEY"}-----\n${"MIIEpAIBAAKCAQEA".repeat(8)}\n-----END RSA PRIVATE ${"KEY"}-----`,
  ],
  ["vendor-key", `sk-proj-${LETTERS}`],
];
const TOKEN = SECRETS[0]?.[1] ?? "";

const ask = (event: "PreToolUse" | "PostToolUse", fields: JsonObject, options = {}) =>
  askHook(secretScan(options), event, fields);

describe("before a call", () => {
  it.each(SECRETS)(
    "a %s secret in an edit is denied, by kind and place and without its value",
    async (kind, secret) => {
      const { reason } = await ask(
        "PreToolUse",
        editCall("a.ts", { tool_input: { file_path: "a.ts", content: `line\n  ${secret}\n` } }),
      );
      expect(reason).toContain(kind);
      expect(reason).toContain("in tool_input.content at 2:3");
      for (const piece of [secret.slice(0, 14), secret.slice(-10)]) expect(reason).not.toContain(piece);
    },
  );

  it("a secret in a shell command, a web call or deep in an input is denied", async () => {
    expect((await ask("PreToolUse", shellCall(`curl -H "X: ${TOKEN}" x`))).verdict.decision).toBe("deny");
    const web = { tool_name: "WebFetch", tool_kind: "web", tool_input: { url: `https://x/?t=${TOKEN}` } };
    expect((await ask("PreToolUse", web)).verdict.decision).toBe("deny");
    const deep = editCall("a", { tool_input: { edits: [{ new_string: "x" }, { new_string: TOKEN }] } });
    expect((await ask("PreToolUse", deep)).reason).toContain("tool_input.edits[1].new_string at 1:1");
  });

  it.each([
    "secretlint-disable",
    "secretlint-disable-line",
    "SECRETLINT-disable",
    "secretlint-disable-next-line",
  ])("a comment %s does not switch it off", async (comment) => {
    const content = `// ${comment}\n${TOKEN} // ${comment}`;
    expect((await ask("PreToolUse", editCall("a", { tool_input: { content } }))).verdict.decision).toBe(
      "deny",
    );
  });

  it("ordinary text is let through", async () => {
    const content =
      "const token = process.env.GITHUB_TOKEN; // see https://example.com/a?b=c\nexport const id = 'a1b2c3d4';";
    expect((await ask("PreToolUse", editCall("a.ts", { tool_input: { content } }))).verdict).toEqual({
      decision: "none",
    });
  });

  it("names at most five places and says how many more", async () => {
    const content = Array.from(
      { length: 8 },
      (_, index) => `ghp_${LETTERS.slice(index % 2, 34 + (index % 2))}${10 + index}`,
    ).join("\n");
    expect((await ask("PreToolUse", editCall("a", { tool_input: { content } }))).reason).toMatch(
      / and 3 more/,
    );
  });
});

describe("after a call", () => {
  it("the model is told that what came back holds secrets", async () => {
    const { reason } = await ask(
      "PostToolUse",
      shellCall("env", { tool_response: { stdout: `A=1\nTOKEN=${TOKEN}` } }),
    );
    expect(reason).toMatch(/what Bash gave back holds secrets \(github.* in tool_response\.stdout at 2:7\)/);
    expect(reason).not.toContain(TOKEN.slice(4, 20));
  });

  it("a response that is a text is looked at too, and one without secrets is not remarked", async () => {
    expect((await ask("PostToolUse", shellCall("x", { tool_response: TOKEN }))).verdict.decision).toBe(
      "deny",
    );
    expect((await ask("PostToolUse", shellCall("x", { tool_response: "fine" }))).verdict.decision).toBe(
      "none",
    );
  });

  it("files that were read are looked at", async () => {
    const read = {
      tool_name: "Read",
      tool_kind: "read",
      tool_input: { file_path: ".env" },
      tool_response: TOKEN,
    };
    expect((await ask("PostToolUse", read)).verdict.decision).toBe("deny");
  });
});

describe("options and peers", () => {
  it("on limits the kinds of tools", async () => {
    const call = editCall("a", { tool_input: { content: TOKEN } });
    expect((await ask("PreToolUse", call, { on: ["shell"] })).verdict.decision).toBe("none");
    expect((await ask("PreToolUse", call, { on: ["edit"] })).verdict.decision).toBe("deny");
  });

  it.each([
    [{ on: [] }, "secretScan: on must be an array with at least one string, got [] (array)"],
    [{ on: ["files"] }, /on must be kinds of tools \(shell, .*\), got "files" \(string\)/],
    [{ only: 1 }, 'secretScan: unknown option "only"; known: on'],
  ])("%j is refused at once", (options, message) => {
    expect(thrownBy(() => secretScan(options as never)).message).toMatch(message);
  });

  it("on an event without a tool it fails, and a gate denies", async () => {
    const { reason, steps } = await askHook(secretScan(), "UserPromptSubmit", { prompt: "x" });
    expect(reason).toContain("declare it on PreToolUse or PostToolUse");
    expect(steps[0]?.failed).toBe(true);
  });

  it("without the optional packages the factory names them, and the other hooks load", async () => {
    const folder = await mkdtemp(join(tmpdir(), "bridle-peers-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await cp(inject("dist"), join(folder, "dist"), { recursive: true });
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    await mkdir(join(folder, "node_modules"));
    const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
    const { dependencies } = JSON.parse(await readFile(join(modules, "..", "package.json"), "utf8"));
    for (const name of Object.keys(dependencies))
      await symlink(join(modules, name), join(folder, "node_modules", name));
    const script = `
      const { budget } = await import("./dist/hooks/index.js");
      console.log(budget({ toolCalls: 1 }).name);
      const { secretScan } = await import("./dist/hooks/secret-scan.js");
      try { secretScan(); } catch (error) { console.log(error.message); }`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(stdout).toBe(
      "budget\nsecretScan: @secretlint/core and @secretlint/secretlint-rule-preset-recommend cannot be found; run: npm install " +
        "@secretlint/core@10 @secretlint/secretlint-rule-preset-recommend@10\n",
    );
  });
});

describe.each(PROVIDERS)("a run of %s", (provider) => {
  it("does not write the secret to a file", async () => {
    const place = await placeForTest();
    const tools = [
      { write: { path: "a.txt", content: TOKEN } },
      { write: { path: "b.txt", content: "fine" } },
    ];
    const script = { steps: [...tools.map((tool) => ({ tools: [tool] })), { text: "done" }] };
    const { denied } = await runFake(place, provider, { PreToolUse: [{ hooks: [secretScan()] }] }, script);
    expect(denied).toEqual(["PreToolUse"]);
    expect(existsSync(join(place.cwd, "a.txt"))).toBe(false);
    expect(existsSync(join(place.cwd, "b.txt"))).toBe(true);
  });
});
