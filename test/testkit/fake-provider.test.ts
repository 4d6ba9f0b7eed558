import { readFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { planOf } from "../../src/compiler/token.ts";
import { type CompileOptions, compileAgentHooks } from "../../src/index.ts";
import { PROVIDERS } from "../../src/profile/events.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";
import { leftovers, makePlace, type Place } from "../spawn/support.ts";
import { block, DENIAL, deny, type Handler, isThere, play, rewrite, start } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const touch = { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "done" }] };

describe.each(PROVIDERS)("a fake %s", (provider) => {
  test("without sins is attested, runs its call and is a success", async () => {
    const { result, run } = await play(place, { provider, script: touch });
    expect(result).toMatchObject({ outcome: "success", finalText: "done", exitCode: 0 });
    expect(run.providerVersion).toMatch(/\+fake$/);
    expect(isThere(place, "ran")).toBe(true);
    expect(await leftovers(place)).toEqual([]);
  });

  test("does not run what the guard denies", async () => {
    const { result, events } = await play(place, { provider, script: touch, handlers: { PreToolUse: deny } });
    expect(result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
    expect(events).toContainEqual(expect.objectContaining({ type: "hook", decision: "deny" }));
    expect(isThere(place, "ran")).toBe(false);
  });

  test("runs what the guard rewrites it to, and not the original", async () => {
    const { result } = await play(place, { provider, script: touch, handlers: { PreToolUse: rewrite } });
    expect(result.outcome).toBe("success");
    expect([isThere(place, "ran"), isThere(place, "rewritten")]).toEqual([false, true]);
  });

  test("writes the file of a write", async () => {
    const script = { steps: [{ tools: [{ write: { path: "sub/a.txt", content: "one\ntwo\n" } }] }] };
    const seen: unknown[] = [];
    await play(place, {
      provider,
      script,
      handlers: { PreToolUse: ({ tool_kind, tool_paths }) => void seen.push(tool_kind, tool_paths) },
    });
    expect(readFileSync(join(place.cwd, "sub", "a.txt"), "utf8")).toBe("one\ntwo\n");
    expect(seen).toEqual(["edit", [expect.stringMatching(/sub\/a\.txt$/)]]);
  });

  test("asks for parallel calls apart: the denied one does not run, the other does", async () => {
    const tools = [{ shell: "touch one" }, { shell: "touch two" }];
    const script = { steps: [{ tools }, { text: "done" }] };
    const { result } = await play(place, {
      provider,
      script,
      handlers: {
        PreToolUse: (envelope) => (envelope.tool_command === "touch one" ? DENIAL : undefined),
      },
    });
    expect(result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
    expect([isThere(place, "one"), isThere(place, "two")]).toEqual([false, true]);
  });

  test("shows a raw call to the guard as it is written", async () => {
    const raw = { name: "mcp__files__read", input: { path: "x", deep: { a: [1] } }, output: "content" };
    const seen: unknown[] = [];
    const { events } = await play(place, {
      provider,
      script: { steps: [{ tools: [{ raw }] }] },
      handlers: {
        PreToolUse: ({ tool_name, tool_input, tool_kind }) =>
          void seen.push(tool_name, tool_input, tool_kind),
      },
    });
    expect(seen).toEqual([raw.name, raw.input, "mcp"]);
    expect(JSON.stringify(events.find(({ type }) => type === "tool_result"))).toContain("content");
  });

  test("ends a blocked prompt without a step", async () => {
    const { result } = await play(place, { provider, script: touch, handlers: { UserPromptSubmit: block } });
    expect(result).toMatchObject({ outcome: "prompt_blocked", exitCode: 0 });
    expect(isThere(place, "ran")).toBe(false);
  });

  test("fires the events of a run in the CLI's order", async () => {
    const fired: string[] = [];
    const note: Handler = ({ hook_event_name: name }) => void fired.push(String(name));
    const names = ["SessionEnd", "Stop", "PostToolUse", "PreToolUse", "UserPromptSubmit", "SessionStart"];
    await play(place, {
      provider,
      script: touch,
      handlers: Object.fromEntries(names.map((name) => [name, note])),
    });
    expect(fired).toEqual(names.reverse());
  });

  test("goes on when Stop blocks once, and tells Stop so", async () => {
    const active: unknown[] = [];
    const { result } = await play(place, {
      provider,
      script: touch,
      handlers: {
        Stop: ({ stop_hook_active: isAgain }) => {
          active.push(isAgain);
          return isAgain === true ? undefined : { decision: "block", reason: "not yet" };
        },
      },
    });
    expect(active).toEqual([false, true]);
    expect(result.outcome).toBe("success");
  });

  test("whose Stop hook always blocks is ended by Bridle, or by its own cap", async () => {
    const { result } = await play(place, {
      provider,
      script: touch,
      handlers: { Stop: () => ({ decision: "block", reason: "never" }) },
    });
    expect(result).toMatchObject({ outcome: "failed", reason: expect.stringContaining("stop_hook_loop") });
  });

  test("tells a command that fails as an error", async () => {
    const { events, result } = await play(place, {
      provider,
      script: { steps: [{ tools: [{ shell: "exit 3" }] }, { text: "done" }] },
    });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool_result", isError: true, denied: false }),
    );
    expect(result.outcome).toBe("success");
  });

  test("says what it thinks, and knows the prompt", async () => {
    const script = { steps: [{ thinking: "hm", text: "you said {{prompt}}" }] };
    const { events, result } = await play(place, { provider, script, options: { prompt: "$& twice" } });
    expect(events).toContainEqual(expect.objectContaining({ type: "thinking", text: "hm" }));
    expect(result).toMatchObject({ finalText: "you said $& twice", turns: 1 });
  });

  test("is interrupted in the middle of a tool, and ends the tool", async () => {
    const { starting } = await start(place, {
      provider,
      script: {
        steps: [{ tools: [{ shell: "touch begun; sleep 1000" }] }, { tools: [{ shell: "touch later" }] }],
      },
    });
    const run = await starting;
    await vi.waitFor(() => expect(isThere(place, "begun")).toBe(true), { timeout: 10_000 });
    expect(await run.interrupt()).toMatchObject({
      outcome: "interrupted",
    });
    expect(isThere(place, "later")).toBe(false);
  });
});

describe("every option of a run", () => {
  const common = {
    model: "some-model",
    addDirs: ["/opt"],
    mcpServers: { files: { command: "/bin/true", args: [] } },
    keepSession: true,
  };
  const options = {
    claude: {
      ...common,
      permissionMode: "acceptEdits",
      tools: ["Bash"],
      allowedTools: ["Bash"],
      disallowedTools: ["Read"],
      maxTurns: 3,
      extraArgs: ["--effort=high", "--debug", "--no-chrome"],
    },
    codex: { ...common, sandbox: "read-only", extraArgs: ["--color=never"] },
  } as const;

  test.each(PROVIDERS)(
    "renders flags that a fake %s knows, and its session can be resumed",
    async (provider) => {
      await writeFile(join(place.cwd, provider === "claude" ? "CLAUDE.md" : "AGENTS.md"), "be brief\n");
      const what = { provider, script: touch, options: options[provider] };
      const { result } = await play(place, what);
      expect(result).toMatchObject({ outcome: "success", finalText: "done" });
      const resume = result.providerSessionId ?? "";
      const again = await play(place, { ...what, options: { ...options[provider], resume } });
      expect(again.result).toMatchObject({ outcome: "success", providerSessionId: resume });
    },
  );
});

describe("a script in the place of the binary", () => {
  const compile = (options: Partial<CompileOptions>) =>
    compileAgentHooks(
      { PreToolUse: [{ hooks: [{ type: "function", handler: deny }] }] },
      { provider: "claude", cwd: place.cwd, prove: "off", ...options },
    );

  test("that is a fake is accepted when it is named, and shows itself in token, receipts and run", async () => {
    const { run, seen } = await play(place, { provider: "claude", script: touch });
    expect(seen.receipts[0]).toMatchObject({ kind: "run_started", provider_version: "2.1.332+fake" });
    expect(run).toMatchObject({ provider: "claude", providerVersion: "2.1.332+fake" });
  });

  test("that is a fake is refused when it is found on PATH", async () => {
    const directory = join(place.home, "bin");
    const { binary } = await createFakeProvider({ provider: "claude", script: touch, directory });
    await symlink(binary, join(directory, "claude"));
    await expect(compile({ path: directory })).rejects.toMatchObject({
      issues: [{ code: "provider_unsupported", message: expect.stringContaining("found on PATH") }],
    });
    expect(planOf(await compile({ binary: join(directory, "claude") })).binary.version).toBe("2.1.332+fake");
  });

  test("with the mark anywhere but in its second line is refused also when it is named", async () => {
    const binary = join(place.home, "wrapper");
    await writeFile(binary, `#!/bin/sh\n\n${FAKE_PROVIDER_MARK}\necho 2.1.332\n`, { mode: 0o755 });
    await expect(compile({ binary })).rejects.toMatchObject({ issues: [{ code: "provider_unsupported" }] });
  });

  test("that is a fake of an old claude is refused for its version", async () => {
    const script = { ...touch, version: "2.1.294" };
    await expect(play(place, { provider: "claude", script })).rejects.toMatchObject({
      issues: [{ code: "provider_unsupported", message: expect.stringContaining("2.1.294+fake") }],
    });
  });

  test("that is a fake and named never gives way to a real CLI in the folders above it", async () => {
    const folder = join(
      place.home,
      "node_modules",
      "@anthropic-ai",
      `claude-code-${process.platform}-${process.arch}`,
    );
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "claude"), "\x7fELF", { mode: 0o755 });
    const { binary } = await createFakeProvider({
      provider: "claude",
      script: touch,
      directory: join(place.home, "a"),
    });
    expect(planOf(await compile({ binary })).binary.version).toBe("2.1.332+fake");
  });
});
