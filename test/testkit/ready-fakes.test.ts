// The ready executables, as a launcher in another language starts them: no Bridle between.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { readSessionLine } from "../../src/render/codex/session-log.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-ready-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function run(provider: "claude" | "codex", argv: readonly string[], script?: unknown, input = "") {
  const file = join(folder, "script.json");
  if (script !== undefined)
    await writeFile(file, typeof script === "string" ? script : JSON.stringify(script));
  const binary = fileURLToPath(new URL(`../../src/testkit/fake-${provider}.mjs`, import.meta.url));
  const env = { ...process.env, ...(script === undefined ? {} : { BRIDLE_FAKE_SCRIPT: file }) };
  const { status, stdout, stderr } = spawnSync(binary, argv, { cwd: folder, env, input, encoding: "utf8" });
  return { status, stdout, stderr, lines: stdout.split("\n").filter((line) => line.startsWith("{")) };
}

/** What Bridle reads of the one session file below a home, in its order. */
function sessionFacts(home: string): { kind: string; name?: string; how?: string }[] {
  const sessions = join(home, "sessions");
  if (!existsSync(sessions)) return [];
  const files = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  );
  expect(files).toHaveLength(1);
  return readFileSync(join(sessions, files[0] ?? ""), "utf8")
    .split("\n")
    .flatMap((line) => readSessionLine(line) ?? []);
}

const TOUCH = { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "you said {{prompt}}" }] };
const hasRun = () => existsSync(join(folder, "ran"));
const DENY = "echo no >&2; exit 2";

test.each([
  ["claude", "2.1.332+fake (Claude Code)\n"],
  ["codex", "codex-cli 0.171.0+fake\n"],
] as const)("%s tells its version without a script", async (provider, version) => {
  expect(await run(provider, ["--version"])).toMatchObject({ status: 0, stdout: version });
});

test.each(["claude", "codex"] as const)(
  "%s without a script says which variable is missing",
  async (provider) => {
    expect(await run(provider, ["exec", "-"])).toMatchObject({
      status: 64,
      stderr: expect.stringContaining("BRIDLE_FAKE_SCRIPT"),
    });
  },
);

test.each(["claude", "codex"] as const)(
  "%s with a bad script names file, place and value",
  async (provider) => {
    const { status, stderr } = await run(provider, ["exec", "-"], { steps: [{ text: 1 }] });
    expect(status).toBe(64);
    expect(stderr).toMatch(/script\.json: steps\[0\]\.text: .*, got 1\n$/);
    expect((await run(provider, ["exec", "-"], "{")).stderr).toMatch(/script\.json: is no JSON/);
  },
);

describe("claude", () => {
  const settings = (onFailure: object, command: string) =>
    `--settings=${JSON.stringify({ hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command, ...onFailure }] }] } })}`;

  test("answers a prompt of the command line as text", async () => {
    expect(await run("claude", ["-p", "hello"], TOUCH)).toMatchObject({
      status: 0,
      stdout: "you said hello\n",
    });
    expect(hasRun()).toBe(true);
  });

  test("answers a prompt on stdin as one JSON object", async () => {
    const { lines } = await run("claude", ["-p", "--output-format", "json"], TOUCH, "hello\n");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      type: "result",
      result: "you said hello",
      num_turns: 2,
    });
  });

  test("asks the hooks of inline settings", async () => {
    const { stdout } = await run(
      "claude",
      ["-p", "x", "--output-format=stream-json", "--verbose", settings({}, DENY)],
      TOUCH,
    );
    expect(stdout).toContain("PreToolUse:Bash hook error: no");
    expect(hasRun()).toBe(false);
  });

  test.each([
    ["a crash lets the call run", {}, "exit 1", true],
    ["a crash under onFailure blocks", { onFailure: "block" }, "exit 1", false],
    [
      "noise before a deny lets the call run, also under onFailure",
      { onFailure: "block" },
      `echo noise; echo '{"decision":"block","reason":"no"}'`,
      true,
    ],
    ["ask denies", {}, `echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'`, false],
  ])("as the real one: %s", async (_name, onFailure, command, isRun) => {
    await run("claude", ["-p", "x", settings(onFailure, command)], TOUCH);
    expect(hasRun()).toBe(isRun);
  });

  test("goes on without hooks when its settings are cut short, and not when they are missing", async () => {
    await writeFile(join(folder, "cut.json"), '{"hooks":');
    expect(await run("claude", ["-p", "x", "--settings=cut.json"], TOUCH)).toMatchObject({
      status: 0,
      stderr: "",
    });
    expect(await run("claude", ["-p", "x", "--settings=gone.json"], TOUCH)).toMatchObject({
      status: 1,
      stdout: "",
    });
  });

  test("does not know every flag", async () => {
    expect(await run("claude", ["--prompt-file=x"], TOUCH)).toMatchObject({
      status: 1,
      stderr: "error: unknown option '--prompt-file'\n",
    });
  });
});

describe("codex", () => {
  const hook = (command: string) =>
    `hooks={PreToolUse=[{hooks=[{type="command",command='''${command}''',timeout=5}]}]}`;
  const key = "/<session-flags>/config.toml:pre_tool_use:0:0";
  const start = (config: string[], script: unknown = TOUCH) =>
    run("codex", ["exec", "--json", ...config.flatMap((value) => ["-c", value]), "-"], script, "hello");

  async function hashOf(command: string) {
    const requests = `{"id":1,"method":"initialize"}\n{"method":"initialized"}\n{"id":2,"method":"hooks/list"}\n`;
    const { lines } = await run("codex", ["app-server", "-c", hook(command)], TOUCH, requests);
    return JSON.parse(lines[1] ?? "").result.data[0].hooks[0];
  }

  test("lists a hook without trust as untrusted, and skips it in silence", async () => {
    expect(await hashOf(DENY)).toMatchObject({ key, trustStatus: "untrusted", enabled: true, timeoutSec: 5 });
    expect(await start([hook(DENY)])).toMatchObject({ status: 0, stderr: "" });
    expect(hasRun()).toBe(true);
  });

  const trusted = async (command: string) => {
    const { currentHash } = await hashOf(command);
    return [`${hook(command).slice(0, -1)},state={"${key}"={trusted_hash="${currentHash}"}}}`];
  };

  test("asks a hook with trust, and shows nothing of the call it denied", async () => {
    const { lines } = await start(await trusted(DENY));
    expect(lines.map((line) => JSON.parse(line).type)).toEqual([
      "thread.started",
      "turn.started",
      "item.completed",
      "turn.completed",
    ]);
    expect(hasRun()).toBe(false);
  });

  test.each([
    ["a crash", "exit 1"],
    ["exit 2 without stderr", "exit 2"],
    [
      "a deny with a blank reason",
      `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":" "}}'`,
    ],
    ["a deny with an unknown field", `echo '{"decision":"block","reason":"no","extra":1}'`],
  ])("as the real one: %s lets the call run", async (_name, command) => {
    await start(await trusted(command));
    expect(hasRun()).toBe(true);
  });

  test("with a home writes what it did into its session file, and goes on there when it is resumed", async () => {
    vi.stubEnv("CODEX_HOME", folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const script = {
      steps: [
        { tools: [{ shell: "echo out" }] },
        { tools: [{ write: { path: "a.txt", content: "a\n" } }] },
        { tools: [{ raw: { name: "mcp__files__read", input: { path: "p" }, output: "content" } }] },
        { tools: [{ raw: { name: "view_image", input: { path: "p" } } }] },
      ],
    };
    const { lines } = await start([], script);
    const { thread_id: thread } = JSON.parse(lines[0] ?? "");
    const facts = () => sessionFacts(folder);
    expect(facts().map(({ kind, name }) => [kind, name])).toEqual([
      ["called", "exec_command"],
      ["ran", "CommandExecution"],
      ["returned", undefined],
      ["called", "apply_patch"],
      ["ran", "FileChange"],
      ["returned", undefined],
      ["called", "mcp__files.read"],
      ["ran", "McpToolCall"],
      ["returned", undefined],
      ["called", "view_image"],
      ["returned", undefined],
    ]);
    expect(facts().flatMap(({ how }) => how ?? [])).toEqual(["ran", "ran", "ran", "ran"]);
    await run("codex", ["exec", "--json", "resume", thread, "-"], TOUCH, "again");
    expect(facts()).toHaveLength(14);
  });

  test("tells a denied call in its session file as denied, and without --ephemeral alone", async () => {
    vi.stubEnv("CODEX_HOME", folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const config = await trusted(DENY);
    await run(
      "codex",
      ["exec", "--json", "--ephemeral", ...config.flatMap((value) => ["-c", value]), "-"],
      TOUCH,
      "x",
    );
    expect(sessionFacts(folder)).toEqual([]);
    await start(config);
    expect(sessionFacts(folder)).toMatchObject([{ kind: "called" }, { kind: "returned", how: "denied" }]);
  });

  test("with its hooks switched off asks none", async () => {
    await start([...(await trusted(DENY)), "features.hooks=false"]);
    expect(hasRun()).toBe(true);
  });

  test("does not know every flag, and no config without =", async () => {
    expect(await run("codex", ["exec", "--prompt-file=x"], TOUCH)).toMatchObject({ status: 2 });
    expect(await run("codex", ["exec", "-c", "hooks"], TOUCH)).toMatchObject({ status: 1 });
  });
});
