// What the gate hands from one station of a call to the next: copies, ids, contexts, and what may grant.

import { mkdtemp, readdir, readFile, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { compileHostHooks, type HostTool, INVOKE_DEPTH_LIMIT } from "../../src/host/index.ts";
import type { JsonObject } from "../../src/json.ts";
import { addContext, rewrite } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), "bridle-host-test-")));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(cwd, { recursive: true, force: true });
});

test("tools call each other at most eight deep", () => {
  expect(INVOKE_DEPTH_LIMIT).toBe(8);
});

test("a call inside of a call has no id of the model's: hooks of it are not told the outer one's", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [on("PreToolUse", ({ tool_name, tool_use_id }) => void seen.push([tool_name, tool_use_id]))],
  });
  echo(host);
  host.tools.register({ name: "Outer", run: async (_input, { invoke }) => invoke("Echo", {}) });
  await host.tools.invoke("Outer", {}, { toolUseId: "u1" });
  expect(seen).toEqual([
    ["Outer", "u1"],
    ["Echo", undefined],
  ]);
});

test("hooks, functions and the tool are told whose call it is, and where", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", ({ cwd: at, agent_id, agent_type }) => void seen.push([at, agent_id, agent_type])),
      on("PostToolUse", ({ cwd: at, agent_id, agent_type }) => void seen.push([at, agent_id, agent_type])),
    ],
    inner: {
      pre: [(_input, { cwd: at, agentId, toolUseId }) => void seen.push([at, agentId, toolUseId])],
    },
  });
  host.tools.register({
    name: "T",
    run: (_input, { cwd: at, agentId, toolUseId, sessionId, tool }) =>
      void seen.push([at, agentId, toolUseId, sessionId, tool]),
  });
  const context = { cwd, agentId: "a1", agentType: "Explore", toolUseId: "u1", sessionId: "s1" };
  await host.tools.invoke("T", {}, context);
  expect(seen).toEqual([
    [cwd, "a1", "Explore"],
    [cwd, "a1", "u1"],
    [cwd, "a1", "u1", "s1", "T"],
    [cwd, "a1", "Explore"],
  ]);
});

test("a command runs where its call is", async () => {
  const hooks = await compileHostHooks(
    {
      PreToolUse: [{ hooks: [{ type: "command", command: ["/bin/sh", "-c", "pwd >&2; exit 2"] }] }],
    },
    { cwd: "/" },
  );
  const { host } = play({ hooks });
  echo(host);
  expect(await host.tools.invoke("Echo", {}, { cwd })).toMatchObject({ reason: cwd });
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ reason: "/" });
});

test("an input that is none is denied with the same error as data", async () => {
  const { host } = play();
  echo(host);
  expect(await host.tools.invoke("Echo", { at: [1n] })).toMatchObject({
    validation: [{ path: [], message: "input.at[0] is a bigint, which JSON cannot hold" }],
  });
});

test("the tool gets what its own schema makes of the input; hooks and the outcome show what was judged", async () => {
  const seen: unknown[] = [];
  const { host } = play({ inProcess: [on("PostToolUse", ({ tool_input }) => void seen.push(tool_input))] });
  const run = vi.fn();
  const input = z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(7) });
  host.tools.register({ name: "T", input, run });
  const given = { at: "1970-01-01T00:00:00.000Z" };
  expect(await host.tools.invoke("T", given)).toMatchObject({ status: "ok", input: given });
  expect(run.mock.calls[0]?.[0]).toEqual({ at: new Date(0), n: 7 });
  expect(seen).toEqual([given]);
});

test("a JSON Schema judges and changes nothing: a default of it is not filled in", async () => {
  const { host } = play();
  const run = vi.fn();
  const input = { type: "object", properties: { n: { type: "integer", default: 7 } } };
  host.tools.register({ name: "T", input, run });
  await host.tools.invoke("T", { other: true });
  expect(run.mock.calls[0]?.[0]).toEqual({ other: true });
});

test.each<[string, Partial<HostTool>]>([
  ["pre", { pre: [() => ({ deny: "no" })] }],
  ["final check", { securityPre: () => ({ deny: "no" }) }],
])("a tool's own %s is heard in a host that has neither hooks nor functions", async (_name, own) => {
  const { host } = play();
  const run = vi.fn();
  host.tools.register({ name: "T", run, ...own });
  expect(await host.tools.invoke("T", {})).toMatchObject({ status: "denied", reason: "no" });
  expect(run).not.toHaveBeenCalled();
});

test("what an inner function does to its copy changes nothing, and what it keeps of its answer neither", async () => {
  const kept: { command: string } = { command: "ls" };
  const { host } = play({
    inner: {
      pre: [
        (input) => {
          input.command = "changed in place";
          return undefined;
        },
        (input) => (input.command === "ask" ? { input: kept } : undefined),
      ],
    },
    securityPre: async () => {
      kept.command = "rm -rf /";
      await nextTurn();
      return undefined;
    },
  });
  const ran = echo(host);
  await host.tools.invoke("Echo", { command: "ask" });
  await host.tools.invoke("Echo", { command: "plain" });
  expect(ran).toEqual([{ command: "ls" }, { command: "plain" }]);
});

test("an inner function that answers with more than JSON did not clear the call", async () => {
  const { host } = play({ inner: { pre: [() => ({ input: { at: new Date(0) } as never })] } });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({
    status: "denied",
    stage: "inner_pre",
    reason: "input.at is not a plain object, which JSON cannot hold",
  });
  expect(ran).toEqual([]);
});

const rewriteAndAllow = (grants: boolean) =>
  on(
    "PreToolUse",
    (envelope) => ({
      hookSpecificOutput: {
        ...(rewrite(envelope, { path: "safe" }).hookSpecificOutput as JsonObject),
        permissionDecision: "allow",
      },
    }),
    { grants },
  );

test.each([
  [true, "ok"],
  [false, "denied"],
])("a rewrite that allows, with grants %s: the destructive tool is %s under AUTO", async (grants, status) => {
  const { host } = play({ inProcess: [rewriteAndAllow(grants)] });
  const run = vi.fn();
  host.tools.register({ name: "rm", destructive: true, run });
  expect(await host.tools.invoke("rm", { path: "x" })).toMatchObject({ status });
  expect(run).toHaveBeenCalledTimes(grants ? 1 : 0);
});

test("an allow that may grant does not clear ASK", async () => {
  const { host } = play({ inProcess: [rewriteAndAllow(true)] });
  host.tools.register({ name: "rm", destructive: true, run: () => 1 });
  expect(await host.tools.invoke("rm", {}, { permission: "ASK" })).toMatchObject({ stage: "permission" });
});

test("suppression of a permission hook counts too", async () => {
  const { host } = play({
    inProcess: [on("PermissionRequest", () => ({ suppressOutput: true }))],
    permission: { approve: () => true },
  });
  host.tools.register({ name: "rm", destructive: true, run: () => 1 });
  expect(await host.tools.invoke("rm", {})).toMatchObject({ status: "ok", suppressed: true });
});

test("contexts before and behind the call are joined, with a blank line between, also when the tool failed", async () => {
  const { host } = play({
    inProcess: [
      on("PreToolUse", (envelope) => addContext(envelope, "before")),
      on("PostToolUse", (envelope) => addContext(envelope, "behind")),
      on("PostToolUseFailure", (envelope) => addContext(envelope, "it broke")),
    ],
  });
  echo(host);
  host.tools.register({ name: "Fails", run: () => Promise.reject(new Error("x")) });
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok", context: "before\n\nbehind" });
  expect(await host.tools.invoke("Fails", {})).toMatchObject({
    status: "failed",
    context: "before\n\nit broke",
  });
});

test.each(["PostToolUse", "PostToolUseFailure"] as const)(
  "%s is shown what ran, whatever the tool did to its copy",
  async (event) => {
    const seen: unknown[] = [];
    const { host } = play({ inProcess: [on(event, ({ tool_input }) => void seen.push(tool_input))] });
    host.tools.register({
      name: "T",
      run: (input: JsonObject) => {
        input.command = "hidden";
        if (event === "PostToolUseFailure") throw new Error("x");
      },
    });
    await host.tools.invoke("T", { command: "seen" });
    expect(seen).toEqual([{ command: "seen" }]);
  },
);

test("an inner post that answers later is waited for", async () => {
  const { host } = play({
    inner: {
      post: [
        async (result) => {
          await nextTurn();
          return { result: `${result}, scrubbed` };
        },
      ],
    },
  });
  host.tools.register({ name: "T", run: () => "secret" });
  expect(await host.tools.invoke("T", {})).toMatchObject({ result: "secret, scrubbed" });
});

test("{run_dir} is one folder for all calls of a host, told by its real path, and none is left", async () => {
  await symlink(cwd, join(cwd, "link"));
  vi.stubEnv("TMPDIR", join(cwd, "link"));
  const out = join(cwd, "out");
  const command = ["/bin/sh", "-c", `echo "$1" >> ${out}`, "sh", "{run_dir}"];
  const hooks = await compileHostHooks({ PreToolUse: [{ hooks: [{ type: "command", command }] }] }, { cwd });
  const { host } = play({ hooks });
  echo(host);
  await Promise.all([host.tools.invoke("Echo", {}), host.tools.invoke("Echo", {})]);
  await host.tools.invoke("Echo", {});
  const [first = "", ...others] = (await readFile(out, "utf8")).trim().split("\n");
  expect(others).toEqual([first, first]);
  expect(await realpath(first)).toBe(first);
  await host.close();
  expect(await readdir(cwd)).toEqual(["link", "out"]);
});

test("the failure mode of a command is its own, in descriptions and receipts", async () => {
  const hooks = await compileHostHooks(
    {
      PreToolUse: [
        { hooks: [{ type: "command", command: ["/bin/sh", "-c", "exit 7"], on_failure: "open" }] },
      ],
    },
    { cwd },
  );
  const { host, receipts } = play({ hooks });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok" });
  expect(host.describe()).toMatchObject([{ type: "command", failureMode: "open" }]);
  expect(receipts).toMatchObject([{ hook_type: "command", failure_mode: "open", status: "failed" }]);
});
