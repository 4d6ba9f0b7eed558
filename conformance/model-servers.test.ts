// Whole turns of the real CLIs against the loopback model servers. What counts is the side effect on disk.
// Every run has a home of its own below the user's cache folder: codex refuses helpers below the temp folder.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Provider } from "../src/profile/events.ts";
import { startAnthropicServer } from "../src/prove/anthropic-server.ts";
import type { ModelServer } from "../src/prove/loopback-server.ts";
import { startOpenaiServer } from "../src/prove/openai-server.ts";
import {
  CLAUDE_MODEL,
  CODEX_CLASSIC_MODEL,
  CODEX_CODE_MODE_MODEL,
  loopbackProvider,
} from "../src/prove/provider-env.ts";
import { type ModelScript, scriptToken, type ToolUse } from "../src/prove/script.ts";
import { tomlValue } from "../src/render/codex/toml.ts";
import { resolveNativeBinary } from "./binaries.ts";

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly server: ModelServer;
  /** Path of a file in the run's working directory. */
  readonly at: (name: string) => string;
}

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const scratch = join(homedir(), ".cache", "bridle-model-servers");

async function run(provider: Provider, model: string, script: (at: Run["at"]) => ModelScript): Promise<Run> {
  mkdirSync(scratch, { recursive: true });
  const root = mkdtempSync(join(scratch, "run-"));
  cleanups.push(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const [home, config, tmp, cwd] = ["home", "config", "tmp", "work"].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [home, config, tmp, cwd]) mkdirSync(folder);
  const at = (name: string): string => join(cwd, name);
  const token = scriptToken("conformance");
  const start = provider === "claude" ? startAnthropicServer : startOpenaiServer;
  const server = await start({ scripts: { [token]: script(at) } });
  cleanups.push(() => server.close());
  const { env, providerConfig } = loopbackProvider(provider, server.url);
  const own = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, TMPDIR: tmp, ...env };
  const { argv, more } =
    provider === "claude"
      ? {
          argv: [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--setting-sources=",
            "--strict-mcp-config",
          ].concat(["--permission-mode", "bypassPermissions", "--model", model]),
          more: {
            CLAUDE_CONFIG_DIR: config,
            CLAUDE_CODE_TMPDIR: tmp,
            CLAUDE_CODE_MAX_RETRIES: "1",
            IS_SANDBOX: "1",
          },
        }
      : {
          argv: [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
          ].concat(
            Object.entries({ ...providerConfig, web_search: "disabled", "analytics.enabled": false }).flatMap(
              ([key, value]) => ["-c", `${key}=${tomlValue(value)}`],
            ),
            ["-m", model, "-"],
          ),
          more: { CODEX_HOME: config },
        };
  const child = spawn(resolveNativeBinary(provider), argv, { cwd, env: { ...own, ...more }, stdio: "pipe" });
  cleanups.push(() => {
    child.kill("SIGKILL");
  });
  child.stdin.on("error", () => {}); // a CLI that ends early closes its stdin: its exit code tells
  child.stdin.end(`Please follow ${token}`);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.resume();
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  return { code, stdout, server, at };
}

const shell = (command: string): ToolUse => ({ kind: "shell", command });

const columns: { provider: Provider; model: string; mode: string }[] = [
  { provider: "claude", model: CLAUDE_MODEL, mode: "claude" },
  { provider: "codex", model: CODEX_CLASSIC_MODEL, mode: "codex, classic tools" },
  { provider: "codex", model: CODEX_CODE_MODE_MODEL, mode: "codex, code mode" },
];

describe.each(columns)("the model server of $mode", ({ provider, model, mode }) => {
  it("runs a turn without tools in one model call", async () => {
    const { code, stdout, server } = await run(provider, model, () => [
      { text: "nothing to do, said the model" },
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain("nothing to do, said the model");
    expect(server.modelCalls).toBe(1);
  });

  it("has a shell command run, and sees its output", async () => {
    const { code, server, at } = await run(provider, model, () => [
      { tools: [{ ...shell("echo written > shell.txt; echo told-the-model"), id: "call_shell" }] },
    ]);
    expect(code).toBe(0);
    expect(readFileSync(at("shell.txt"), "utf8")).toBe("written\n");
    expect(server.toolResults().get("call_shell")).toContain("told-the-model");
  });

  it("has a file written", async () => {
    const { server, at } = await run(provider, model, (path) => [
      { tools: [{ kind: "write", path: path("written.txt"), content: "one\ntwo\n", id: "call_write" }] },
    ]);
    expect(readFileSync(at("written.txt"), "utf8")).toBe("one\ntwo\n");
    expect(server.toolResults().has("call_write")).toBe(true);
  });

  it("has parallel calls run in one turn", async () => {
    const { code, server, at } = await run(provider, model, (path) => [
      {
        tools: [
          shell("touch first.txt"),
          shell("touch second.txt"),
          { kind: "write", path: path("third.txt"), content: "x" },
        ],
      },
    ]);
    expect(code).toBe(0);
    expect(["first.txt", "second.txt", "third.txt"].map((name) => existsSync(at(name)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(server.modelCalls).toBe(2);
  });

  it("follows its steps in order", async () => {
    const { at } = await run(provider, model, () => [
      { text: "first", tools: [shell("echo 1 >> order.txt")] },
      { tools: [shell("echo 2 >> order.txt")] },
      { text: "third", tools: [shell("echo 3 >> order.txt")] },
    ]);
    expect(readFileSync(at("order.txt"), "utf8")).toBe("1\n2\n3\n");
  });

  it("has subagents follow scripts of their own before the next step", async () => {
    const child = (name: string): ToolUse => ({
      kind: "agent",
      prompt: "Help out.",
      script: [{ tools: [shell(`sleep 0.3; touch ${name}`)] }],
    });
    const { code, at } = await run(provider, model, () => [
      { tools: [child("child-1.txt"), child("child-2.txt")] },
      { tools: [shell("ls > seen.txt")] },
    ]);
    expect(code).toBe(0);
    expect(readFileSync(at("seen.txt"), "utf8")).toBe("child-1.txt\nchild-2.txt\nseen.txt\n");
  });

  it("repeats a tool loop as often as asked", async () => {
    const { code, at } = await run(provider, model, () => [
      { tools: [shell("echo again >> loop.txt")], fault: { kind: "tool-loop", turns: 4 } },
    ]);
    expect(code).toBe(0);
    expect(readFileSync(at("loop.txt"), "utf8")).toBe("again\n".repeat(4));
  });

  it("makes the run fail with a status", async () => {
    const { code, at } = await run(provider, model, () => [
      { tools: [shell("touch never.txt")], fault: { kind: "status", status: 403 } },
    ]);
    expect(code).toBe(1);
    expect(existsSync(at("never.txt"))).toBe(false);
  });

  it("brings a slow answer and a big one through whole", async () => {
    const { code, stdout, at } = await run(provider, model, () => [
      { tools: [shell("touch slow.txt")], fault: { kind: "drip", bytes: 64, intervalMs: 1 } },
      { text: "the end of it", fault: { kind: "big-text", bytes: 2_000_000 } },
    ]);
    expect(code).toBe(0);
    expect(existsSync(at("slow.txt"))).toBe(true);
    expect(stdout.length).toBeGreaterThan(2_000_000);
    expect(stdout).toContain("the end of it");
  });

  it("is offered the tools the translation relies on", async () => {
    const { server } = await run(provider, model, () => []);
    const needed: Record<string, string[]> = {
      claude: ["Agent", "Bash", "Write"],
      "codex, classic tools": ["apply_patch", "exec_command"],
      "codex, code mode": ["collaboration.spawn_agent", "collaboration.wait_agent", "exec"],
    };
    expect(server.offeredTools()).toEqual(expect.arrayContaining(needed[mode] as string[]));
  });
});

describe("codex patches", () => {
  it.each([CODEX_CLASSIC_MODEL, CODEX_CODE_MODE_MODEL])("%s has a patch applied", async (model) => {
    const { at } = await run("codex", model, () => [
      { tools: [shell("printf 'a\\nb\\n' > p.txt")] },
      {
        tools: [
          {
            kind: "edit-patch",
            patch: "*** Begin Patch\n*** Update File: p.txt\n@@\n a\n-b\n+c\n*** End Patch",
          },
        ],
      },
    ]);
    expect(readFileSync(at("p.txt"), "utf8")).toBe("a\nc\n");
  });
});
