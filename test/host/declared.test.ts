// Declared hooks in a host: the same declaration, the same processes, the same rules as for a spawned agent.

import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { compileHostHooks, createHookHost, type HostFault, HostHooks } from "../../src/host/index.ts";
import type { HookDeclaration } from "../../src/index.ts";
import { echo, on, play } from "./support.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), "bridle-host-test-")));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const sh = (body: string, more: object = {}): HookDeclaration => ({
  PreToolUse: [{ hooks: [{ type: "command", command: ["/bin/sh", "-c", body], ...more }] }],
});

test("a command denies with exit 2, and its stderr is the reason", async () => {
  const hooks = await compileHostHooks(sh("echo not here >&2; exit 2"), { cwd });
  const { host, receipts } = play({ hooks });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "denied", reason: "not here" });
  expect(ran).toEqual([]);
  expect(receipts).toMatchObject([
    { hook: "PreToolUse[0].hooks[0]", hook_type: "command", exit: "exit 2", decision: "deny" },
  ]);
});

test("a command gets one line of JSON, no provider, a fixed environment and the run's directory", async () => {
  const out = join(cwd, "seen");
  const hooks = await compileHostHooks(sh(`cat > ${out}; env >> ${out}; pwd >> ${out}`), { cwd });
  const { host } = play({
    hooks,
    runId: "run-1",
    env: { ...process.env, API_KEY: "sk-not-for-hooks", LANG: "C" },
  });
  echo(host);
  await host.tools.invoke("Echo", { command: "ls" }, { toolUseId: "u1" });
  const [line = "", ...rest] = (await readFile(out, "utf8")).split("\n");
  expect(JSON.parse(line)).toEqual({
    session_id: host.sessionId,
    cwd,
    hook_event_name: "PreToolUse",
    harness: "lionagi",
    profile: "v1",
    run_id: "run-1",
    tool_name: "Echo",
    tool_input: { command: "ls" },
    tool_kind: "shell",
    tool_command: "ls",
    tool_use_id: "u1",
  });
  expect(rest).toContain("BRIDLE_RUN_ID=run-1");
  expect(rest).toContain(`CLAUDE_PROJECT_DIR=${cwd}`);
  expect(rest).toContain(cwd);
  expect(rest.join("\n")).not.toContain("sk-not-for-hooks");
});

test("a guard whose bytes changed after compile denies, and the host is told", async () => {
  const guard = join(cwd, "guard.sh");
  await writeFile(guard, "#!/bin/sh\nexit 0\n");
  await chmod(guard, 0o755);
  const faults: HostFault[] = [];
  const hooks = await compileHostHooks(
    { PreToolUse: [{ hooks: [{ type: "command", command: [guard] }] }] },
    { cwd },
  );
  const host = createHookHost({ hooks, onFault: (fault) => void faults.push(fault) });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { n: 1 })).toMatchObject({ status: "ok" });
  await writeFile(guard, "#!/bin/sh\nexit 0 # changed\n");
  expect(await host.tools.invoke("Echo", { n: 2 })).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("changed"),
  });
  expect(ran).toEqual([{ n: 1 }]);
  expect(faults).toMatchObject([{ kind: "command_changed" }]);
});

test("{run_dir} is a folder of the host's own that close removes", async () => {
  const hooks = await compileHostHooks(
    {
      PreToolUse: [
        {
          hooks: [
            { type: "command", command: ["/bin/sh", "-c", 'echo "$1" >&2; exit 2', "sh", "{run_dir}"] },
          ],
        },
      ],
    },
    { cwd },
  );
  const { host } = play({ hooks });
  echo(host);
  const outcome = await host.tools.invoke("Echo", {});
  const { reason } = outcome as { reason: string };
  expect(await readFile("/proc/self/stat").then(() => realpath(reason))).toBe(reason);
  await host.close();
  await expect(realpath(reason)).rejects.toThrow("ENOENT");
});

test("a {run_dir} that could not be made denies, and keeps no receipt from being written and no store from being closed", async () => {
  const command = ["/bin/sh", "-c", "exit 0", "sh", "{run_dir}"];
  const hooks = await compileHostHooks({ PreToolUse: [{ hooks: [{ type: "command", command }] }] }, { cwd });
  const closed = vi.fn();
  const { host } = play({ hooks, receipts: { write: () => {}, close: closed } });
  const ran = echo(host);
  vi.stubEnv("TMPDIR", join(cwd, "gone"));
  try {
    for (const n of [1, 2])
      expect(await host.tools.invoke("Echo", { n })).toMatchObject({
        status: "denied",
        reason: expect.stringContaining("could not be asked: ENOENT"),
      });
  } finally {
    vi.unstubAllEnvs();
  }
  await host.close();
  expect(closed).toHaveBeenCalledOnce();
  expect(ran).toEqual([]);
});

test("env:NAME is read when the host is made, and one that is not set refuses", async () => {
  const hooks = await compileHostHooks(
    sh('echo "$TOKEN, $(printf %s "$TOKEN" | wc -c) letters" >&2; exit 2', {
      env: { TOKEN: "env:GUARD_TOKEN" },
    }),
    { cwd },
  );
  expect(() => createHookHost({ hooks, env: {} })).toThrow(
    "placeholder_unset PreToolUse[0].hooks[0]: it names GUARD_TOKEN",
  );
  const { host, receipts } = play({ hooks, env: { ...process.env, GUARD_TOKEN: "secret-of-the-guard" } });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ reason: "[redacted], 19 letters" });
  expect(JSON.stringify(receipts)).not.toContain("secret-of-the-guard");
});

test("a declaration is checked as a whole, before anything runs", async () => {
  const declaration = {
    PreToolUse: [{ matcher: "(", hooks: [{ type: "command", command: "rm -rf" }] }],
    agent_exit: [{ hooks: [{ type: "command", command: ["/bin/true"] }] }],
    Nope: [],
  } as unknown as HookDeclaration;
  await expect(compileHostHooks(declaration, { cwd })).rejects.toMatchObject({
    issues: expect.arrayContaining([
      expect.objectContaining({ code: "matcher_invalid" }),
      expect.objectContaining({ code: "command_invalid" }),
      expect.objectContaining({ code: "event_unsupported", path: "declaration: agent_exit" }),
      expect.objectContaining({ code: "event_unknown" }),
    ]),
  });
  await expect(compileHostHooks({}, { cwd: "relative" })).rejects.toThrow("expected an absolute path");
  await expect(compileHostHooks({}, { cwd: join(cwd, "gone") })).rejects.toThrow("is not a directory");
});

test("hooks of a host are a token: it cannot be made, copied, or taken from another compile", async () => {
  const hooks = await compileHostHooks({}, { cwd });
  expect(() => new (HostHooks as unknown as new (...args: unknown[]) => unknown)(Symbol("mint"), {})).toThrow(
    "token_forged",
  );
  for (const forged of [{ ...hooks }, Object.create(HostHooks.prototype), structuredClone({})])
    expect(() => createHookHost({ hooks: forged })).toThrow("token_forged");
});

test("self-tests that fail refuse, where they are required", async () => {
  const declaration = sh("exit 0", {
    selftest: [{ input: { tool_input: { command: "rm -rf /" } }, expect: "deny" }],
  });
  await expect(compileHostHooks(declaration, { cwd, selftest: "require" })).rejects.toThrow(
    "selftest_failed",
  );
  await expect(compileHostHooks(declaration, { cwd })).resolves.toBeInstanceOf(HostHooks);
});

test("a process that a hook leaves behind is ended with it", async () => {
  const hooks = await compileHostHooks(sh("sleep 300 & exit 0"), { cwd });
  const { host, receipts } = play({ hooks });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(receipts).toMatchObject([{ status: "ok" }]);
});

test("a rewrite of a command is what a function behind it sees, and what runs", async () => {
  const answer = JSON.stringify({
    hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: { command: "ls -l" } },
  });
  const hooks = await compileHostHooks(sh(`echo '${answer}'`), { cwd });
  const seen = vi.fn();
  const { host } = play({ hooks, inProcess: [on("PreToolUse", ({ tool_command }) => seen(tool_command))] });
  const ran = echo(host);
  await host.tools.invoke("Echo", { command: "ls" });
  expect(seen).toHaveBeenCalledWith("ls -l");
  expect(ran).toEqual([{ command: "ls -l" }]);
});
