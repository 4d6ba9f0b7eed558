// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of files

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
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

  it("a secret that is the name of a field is denied and not shown", async () => {
    const { reason } = await ask(
      "PreToolUse",
      editCall("a", { tool_input: { content: { [TOKEN]: { [TOKEN]: TOKEN } } } }),
    );
    expect(reason).toContain("in a name in tool_input.content");
    expect(reason).not.toContain(TOKEN.slice(4, 20));
  });

  it.each([
    ["url-credentials", `DATABASE_URL=redis://app:${LETTERS.slice(0, 12)}@db.internal:5432/x`],
    ["bearer", `curl -H 'X: Bearer ${LETTERS.slice(0, 20)}' x`],
    ["authorization", `authorization: Basic ${LETTERS.slice(0, 20)}`],
  ])("a secret of Bridle's own shape %s is denied", async (kind, content) => {
    const { reason } = await ask("PreToolUse", editCall("a", { tool_input: { content } }));
    expect(reason).toMatch(new RegExp(`${kind}|database|basicauth`, "i"));
    expect(reason).not.toContain(LETTERS.slice(0, 10));
  });

  it.each([
    "fetch(url, { headers: { authorization: `Bearer ${token}` } })",
    "const authorization = request.headers.authorization;",
    "postgres://postgres:postgres@localhost/test",
    "https://user@example.com/a",
    "https://user:${PASSWORD}@example.com/",
    "the bearer of good news arrives tomorrow",
  ])("what only looks like one is let through: %s", async (content) => {
    const { reason } = await ask("PreToolUse", editCall("a", { tool_input: { content } }));
    expect(reason).toBe("");
  });

  it("places are those of the own string, whatever stands before it", async () => {
    const edits = [{ a: "x\ny" }, { a: "" }, { a: `1\n2 ${TOKEN}` }, { a: TOKEN }];
    const { reason } = await ask("PreToolUse", editCall("a", { tool_input: { edits } }));
    expect(reason).toContain("in tool_input.edits[2].a at 2:3");
    expect(reason).toContain("in tool_input.edits[3].a at 1:1");
  });

  it("no two strings of a call make one secret", async () => {
    const list = ["Authorization:", LETTERS.slice(0, 20), "AWS_SECRET_ACCESS_KEY =", `${LETTERS}abc`];
    const { reason } = await ask("PreToolUse", editCall("a", { tool_input: { list: list.slice(0, 2) } }));
    expect(reason).toBe("");
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

describe("however much it is", () => {
  /** Turns of the event loop until it settles. */
  const turnsDuring = async (work: Promise<unknown>) => {
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setTimeout(turn, 1);
    };
    setTimeout(turn, 1);
    await work.finally(() => {
      isOver = true;
    });
    return turns;
  };
  const slow = "ghp_".repeat(100_000);

  it("thousands of strings in one call are looked at, and other work goes on meanwhile", async () => {
    const list = [...Array.from({ length: 4_000 }, () => "x"), TOKEN];
    const scan = ask("PreToolUse", { tool_name: "mcp__x__y", tool_kind: "mcp", tool_input: { list } });
    expect(await turnsDuring(scan)).toBeGreaterThan(10);
    expect((await scan).reason).toContain("in tool_input.list[4000] at 1:1");
  });

  it("a text on which an expression is slow is denied at the deadline, and other work goes on meanwhile", async () => {
    const entry = secretScan({ scanMs: 200 });
    const askEntry = (content: string) =>
      askHook(entry, "PreToolUse", editCall("a", { tool_input: { content } }));
    const scan = askEntry(slow);
    expect(await turnsDuring(scan)).toBeGreaterThan(10);
    expect((await scan).reason).toContain("the call could not be looked at within 200 ms");
    expect((await scan).steps[0]?.failed).toBe(false);
    const after = await askHook(
      entry,
      "PostToolUse",
      shellCall("x", { tool_response: slow, tool_name: "Bash" }),
    );
    expect(after.reason).toContain("what Bash gave back could not be looked at");
  });

  it("the next call is looked at as if nothing had happened, also one that waited behind it", async () => {
    const entry = secretScan({ scanMs: 2_000 });
    const askEntry = (content: string) =>
      askHook(entry, "PreToolUse", editCall("a", { tool_input: { content } }));
    const [late, found, fine] = await Promise.all([
      askEntry("ghp_".repeat(1_000_000)),
      askEntry(TOKEN),
      askEntry("fine"),
    ]);
    expect(late.reason).toContain("could not be looked at");
    expect(found.reason).toContain("github");
    expect(fine.verdict.decision).toBe("none");
  });

  it("more text than can be looked at is denied", async () => {
    const list = Array.from({ length: 5 }, () => "x".repeat(1024 * 1024));
    const { reason } = await ask("PreToolUse", editCall("a", { tool_input: { list } }));
    expect(reason).toContain("at most 4194304");
  });

  it("nothing of the rules' profiler gathers in this thread", async () => {
    const count = () => performance.getEntries().length;
    const before = count();
    const entry = secretScan();
    for (let index = 0; index < 5; index++)
      await askHook(
        entry,
        "PreToolUse",
        editCall("a", { tool_input: { list: Array(50).fill(`x${index}`) } }),
      );
    expect(count()).toBe(before);
  });

  it("a value that is deep, or holds itself, ends", async () => {
    let deep: JsonObject = { a: TOKEN };
    for (let index = 0; index < 20_000; index++) deep = { deep };
    const loop: JsonObject = { a: TOKEN };
    loop.loop = loop;
    for (const tool_input of [deep, loop]) {
      const answer = await secretScan().handler(
        { ...editCall("a", { tool_input }), hook_event_name: "PreToolUse", cwd: "/" } as never,
        { signal: new AbortController().signal },
      );
      expect(JSON.stringify(answer)).toContain("github");
    }
  });

  it("a call that nobody waits for any more is given up", async () => {
    const nobody = new AbortController();
    const entry = secretScan({ scanMs: 60_000 });
    const answer = entry.handler(
      {
        ...editCall("a", { tool_input: { content: "ghp_".repeat(1_000_000) } }),
        hook_event_name: "PreToolUse",
        cwd: "/",
      } as never,
      { signal: nobody.signal },
    );
    nobody.abort(new Error("over"));
    await expect(answer).rejects.toThrow("over");
  });

  it("a process that used it ends by itself, run from the built package", () => {
    const url = pathToFileURL(join(inject("dist"), "hooks", "secret-scan.js")).href;
    const script = `
      const { secretScan } = await import(${JSON.stringify(url)});
      const ask = (content) => secretScan().handler(
        { hook_event_name: "PreToolUse", tool_name: "Write", tool_kind: "edit", tool_input: { content } },
        { signal: new AbortController().signal });
      console.log(JSON.stringify(await ask("gh" + "p_" + ${JSON.stringify(TOKEN.slice(4))})));
      console.log(await ask("fine"));`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/github.*\nundefined\n$/);
    expect(status).toBe(0);
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
    [{ scanMs: 0 }, "secretScan: scanMs must be a whole number, 1 or more, got 0 (number)"],
    [{ only: 1 }, 'secretScan: unknown option "only"; known: on, scanMs'],
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

describe("another major version of the rules", () => {
  it("is refused by the factory", async () => {
    const folder = await mkdtemp(join(tmpdir(), "bridle-major-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await cp(inject("dist"), join(folder, "dist"), { recursive: true });
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
    const { dependencies } = JSON.parse(await readFile(join(modules, "..", "package.json"), "utf8"));
    await mkdir(join(folder, "node_modules", "@secretlint"), { recursive: true });
    for (const name of Object.keys(dependencies))
      await symlink(join(modules, name), join(folder, "node_modules", name));
    const preset = "secretlint-rule-preset-recommend";
    for (const [name, version] of [
      ["core", "10.9.0"],
      [preset, "13.0.1"],
    ] as const) {
      const own = join(folder, "node_modules", "@secretlint", name);
      await mkdir(own);
      await writeFile(join(own, "index.js"), "");
      await writeFile(
        join(own, "package.json"),
        JSON.stringify({ name: `@secretlint/${name}`, version, exports: "./index.js" }),
      );
    }
    const script = `
      const { secretScan } = await import("./dist/hooks/secret-scan.js");
      try { secretScan(); } catch (error) { console.log(error.message); }`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(stdout).toContain(`@secretlint/${preset} is version 13.0.1, and 10 is needed; run: npm install`);
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
