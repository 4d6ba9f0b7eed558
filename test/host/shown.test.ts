// What is shown is what runs, what is said is passed on, and what nobody would read is refused.

import { expect, test, vi } from "vitest";
import { z } from "zod";
import {
  compileHostHooks,
  compositeTool,
  createHookHost,
  describeForModel,
  HookExecutionError,
  type HostFault,
  type HostOptions,
  type HostTool,
  noOrigin,
} from "../../src/host/index.ts";
import type { JsonObject } from "../../src/json.ts";
import { addContext, deny } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

test("the approver, the hooks behind the call and the outcome see what the schema made of the input", async () => {
  const shown: unknown[] = [];
  const { host } = play({
    inProcess: [on("PostToolUse", ({ tool_input }) => void shown.push(tool_input))],
    permission: {
      approve: ({ input }) => {
        shown.push(input);
        return true;
      },
    },
  });
  const run = vi.fn();
  const input = z.object({ path: z.string().default("/"), force: z.boolean().default(true) });
  host.tools.register({ name: "rm", input, destructive: true, run });
  const whole = { path: "/", force: true };
  expect(await host.tools.invoke("rm", {})).toMatchObject({ status: "ok", input: whole });
  expect(run.mock.calls[0]?.[0]).toEqual(whole);
  expect(shown).toEqual([whole, whole]);
});

test("ask: what the guard wants instead is what the approver sees and what runs, with its context", async () => {
  const asked: unknown[] = [];
  const fields = {
    permissionDecision: "ask",
    updatedInput: { command: "safe" },
    additionalContext: "made safe",
  };
  const { host, receipts } = play({
    inProcess: [on("PreToolUse", () => ({ hookSpecificOutput: { hookEventName: "PreToolUse", ...fields } }))],
    permission: {
      approve: ({ input }) => {
        asked.push(input);
        return true;
      },
    },
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { command: "rm" })).toMatchObject({
    status: "ok",
    context: "made safe",
  });
  expect({ asked, ran }).toEqual({ asked: [{ command: "safe" }], ran: [{ command: "safe" }] });
  expect(receipts).toMatchObject([{ decision: "rewrite", asked: "approved" }]);
});

test("ask: a rewrite that cannot be read denies, whatever the approver says", async () => {
  const fields = { permissionDecision: "ask", updatedInput: "safe" };
  const { host } = play({
    inProcess: [on("PreToolUse", () => ({ hookSpecificOutput: { hookEventName: "PreToolUse", ...fields } }))],
    permission: { approve: () => true },
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "denied" });
  expect(ran).toEqual([]);
});

test("the request that was judged is the one that is sent", async () => {
  const request = { messages: ["clean"] };
  const { host } = play({
    inProcess: [
      on("PreModelCall", async () => {
        request.messages.push("SECRET");
        return undefined;
      }),
    ],
  });
  const sent: unknown[] = [];
  await host.wrapModel((asked: typeof request) => void sent.push(structuredClone(asked)))(request, {
    origin: noOrigin,
  });
  expect(sent).toEqual([{ messages: ["clean"] }]);
});

test("context and suppression of a chain that ends in a denial or a block are told", async () => {
  const note = on("PreToolUse", (envelope) => ({
    ...addContext(envelope, "know this"),
    suppressOutput: true,
  }));
  const { host } = play({
    inProcess: [
      note,
      on("PreToolUse", (envelope) => deny(envelope, "no"), { matcher: "Denied" }),
      on(
        "PostToolUse",
        (envelope) => ({ ...deny(envelope, "again"), additionalContext: "and this", suppressOutput: true }),
        {
          matcher: "Blocked",
        },
      ),
    ],
  });
  echo(host, "Denied");
  echo(host, "Blocked");
  const denied = await host.tools.invoke("Denied", {});
  expect(denied).toMatchObject({ status: "denied", context: "know this", suppressed: true });
  expect(describeForModel(denied)).toBe("Denied was denied: no\n\nknow this");
  expect(await host.tools.invoke("Blocked", {})).toMatchObject({
    status: "ok",
    feedback: "again",
    context: "know this\n\nand this",
    suppressed: true,
  });
});

test("a composite tells the blocks and notes behind its steps", async () => {
  const { host } = play({
    inProcess: [
      on("PostToolUse", (envelope) => deny(envelope, "step one is wrong"), { matcher: "One" }),
      on("PostToolUse", (envelope) => ({ ...addContext(envelope, "note of two"), suppressOutput: true }), {
        matcher: "Two",
      }),
    ],
  });
  host.tools.register({ name: "One", run: () => 1 });
  host.tools.register({ name: "Two", run: () => 2 });
  const steps = ["One", "Two"].map((tool) => ({ tool, input: () => ({}) }));
  host.tools.register(compositeTool({ name: "Both", steps }));
  const outcome = await host.tools.invoke("Both", {});
  expect(outcome).toMatchObject({ status: "ok", result: 2, suppressed: true });
  expect(describeForModel(outcome)).toBe("2\n\nBlocked by a hook: step one is wrong\n\nnote of two");
});

test("close waits for a call, its guards and their receipts, and lets no tool begin", async () => {
  let answer: () => void = () => {};
  const store = { write: vi.fn(), close: vi.fn() };
  const host = createHookHost({
    receipts: store,
    inProcess: [
      on("PreToolUse", () => new Promise((resolve) => (answer = () => resolve(undefined)))),
      on("PostToolUse", () => undefined),
    ],
  });
  const ran = echo(host);
  const call = host.tools.invoke("Echo", { n: 1 });
  await vi.waitFor(() => expect(answer).toHaveLength(0));
  await vi.waitFor(() => expect(store.write).not.toHaveBeenCalled());
  const closed = host.close();
  expect(await host.tools.invoke("Echo", { n: 2 })).toMatchObject({ status: "failed", stage: "aborted" });
  answer();
  expect(await call).toMatchObject({ status: "ok" });
  await closed;
  expect(ran).toEqual([{ n: 1 }]);
  expect(store.write).toHaveBeenCalledTimes(2);
  expect(store.close).toHaveBeenCalledAfter(store.write);
});

test("an error that a hook of a call within throws comes out of the call around it", async () => {
  const { host } = play({
    inProcess: [
      on("PreToolUse", () => Promise.reject(new Error("audit is down")), {
        onFailure: "error",
        matcher: "Inner",
      }),
    ],
  });
  echo(host, "Inner");
  host.tools.register({ name: "Outer", run: async (_input, { invoke }) => invoke("Inner", {}) });
  await expect(host.tools.invoke("Outer", {})).rejects.toBeInstanceOf(HookExecutionError);
});

test("words of errors are redacted wherever they go", async () => {
  const secrets = ["hunter2-hunter2"];
  const leak = () => Promise.reject(new Error("key hunter2-hunter2"));
  const thrown = play({ secrets, inProcess: [on("PreToolUse", leak, { onFailure: "error" })] }).host;
  echo(thrown);
  await expect(thrown.tools.invoke("Echo", {})).rejects.toThrow("key [redacted]");
  const describing = play({ secrets, inProcess: [on("PreToolUse", () => undefined)] }).host;
  describing.tools.register({
    name: "T",
    command: () => {
      throw new Error("key hunter2-hunter2");
    },
    run: () => 1,
  });
  expect(await describing.tools.invoke("T", {})).toMatchObject({
    reason: expect.stringContaining("key [redacted]"),
  });
  const storing = createHookHost({
    secrets,
    receipts: leak,
    onFault: () => {},
    inProcess: [on("PreToolUse", () => ({ "hunter2-hunter2": 1 }))],
  });
  echo(storing);
  await storing.tools.invoke("Echo", {});
  await expect(storing.close()).rejects.toThrow("key [redacted]");
  const { host, receipts } = play({
    secrets,
    inProcess: [on("PreToolUse", () => ({ "hunter2-hunter2": 1 }))],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(receipts[0]?.output_keys).toEqual(["[redacted]"]);
});

test("what a caller does later to its hooks and tools moves no guard", async () => {
  const where = { tool_name: "Echo" };
  const guard = on("PreToolUse", (envelope) => deny(envelope, "no"), { where });
  const pre: unknown[] = [() => ({ deny: "never" })];
  const { host } = play({ inProcess: [guard] });
  echo(host);
  const tool: HostTool = { name: "Kept", pre: pre as never, run: () => 1 };
  host.tools.register(tool);
  where.tool_name = "Other";
  pre.length = 0;
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "denied", reason: "no" });
  expect(await host.tools.invoke("Kept", {})).toMatchObject({ status: "denied", reason: "never" });
});

test("a tool whose function is a method keeps its object", async () => {
  class Counter {
    readonly name = "Counter";
    count = 41;
    run() {
      this.count += 1;
      return this.count;
    }
  }
  const { host } = play();
  const counter = new Counter();
  host.tools.register({ name: counter.name, run: counter.run.bind(counter) });
  expect(await host.tools.invoke("Counter", {})).toMatchObject({ result: 42 });
});

test.each<[string, () => unknown]>([
  [
    "a misspelt list of inner functions",
    () => createHookHost({ inner: { pree: [() => undefined] } } as HostOptions),
  ],
  ["a misspelt word of permission", () => createHookHost({ permission: { timout: 5 } } as HostOptions)],
  ["permission that is null", () => createHookHost({ permission: null } as unknown as HostOptions)],
  ["inner that is null", () => createHookHost({ inner: null } as unknown as HostOptions)],
  ["env that is null", () => createHookHost({ env: null } as unknown as HostOptions)],
  ["secrets that are text", () => createHookHost({ secrets: "abc" } as unknown as HostOptions)],
  ["options that are null", () => createHookHost(null as unknown as HostOptions)],
  ["options that are a number", () => createHookHost(5 as unknown as HostOptions)],
  ["options that are a list", () => createHookHost([] as unknown as HostOptions)],
])("a host with %s is refused as an option", (_name, make) => {
  expect(make).toThrow(/option_invalid/);
});

test.each<[string, JsonObject, string]>([
  ["destructive that is text", { destructive: "true" }, "destructive must be true or false"],
  ["a misspelt destructive", { destuctive: true }, 'unknown key "destuctive"'],
  ["a misspelt final check", { secuirtyPre: 1 }, 'unknown key "secuirtyPre"'],
  ["a pre that is no list", { pre: 1 }, "pre must be a list of functions"],
])("a tool with %s is not registered", (_name, fields, message) => {
  const { host } = play();
  expect(() => host.tools.register({ name: "T", run: () => 1, ...fields } as HostTool)).toThrow(message);
});

test.each<[string, unknown, string]>([
  ["a misspelt mode", { permision: "DENY" }, "permision"],
  ["a relative directory", { cwd: "rel" }, 'cwd: expected an absolute path, got "rel"'],
  ["a session that is a number", { sessionId: 7 }, "sessionId"],
  ["a signal that is none", { signal: {} }, "signal"],
  ["no object", 5, "context"],
])("a call with %s refuses, and nothing runs", async (_name, context, message) => {
  const { host } = play();
  const ran = echo(host);
  await expect(host.tools.invoke("Echo", {}, context as never)).rejects.toThrow(message);
  expect(ran).toEqual([]);
});

test.each<[string, unknown]>([
  ["paths that are text", { paths: () => "/etc" }],
  ["paths that hold a number", { paths: () => [1] }],
  ["a command that is a number", { command: () => 1 }],
])("a tool that answers with %s is denied: a guard would see something else", async (_name, fields) => {
  const { host } = play({ inProcess: [on("PreToolUse", () => undefined)] });
  const run = vi.fn();
  host.tools.register({ name: "T", run, ...(fields as object) });
  expect(await host.tools.invoke("T", {})).toMatchObject({ status: "denied" });
  expect(run).not.toHaveBeenCalled();
});

test("options of compileHostHooks that nobody would read are refused", async () => {
  for (const options of [
    { cwd: "/", selfTest: "require" },
    { cwd: "/", origin: new Map() },
  ])
    await expect(compileHostHooks({}, options as never)).rejects.toThrow(/option_invalid (selfTest|origin)/);
  await expect(compileHostHooks({}, undefined as never)).rejects.toThrow("option_invalid options");
});

test("a declared hook that nobody trusts is told: as a fault, and in the host's warnings", async () => {
  const entry = { type: "command" as const, command: ["/bin/sh", "-c", "exit 2"], source: "imported:claude" };
  const hooks = await compileHostHooks({ PostToolUse: [{ hooks: [entry] }] }, { cwd: "/" });
  const faults: HostFault[] = [];
  const host = createHookHost({ hooks, onFault: (fault) => void faults.push(fault) });
  expect(faults).toMatchObject([
    { kind: "command_untrusted", detail: expect.stringContaining("PostToolUse[0].hooks[0]") },
  ]);
  expect(host.warnings).toMatchObject([{ code: "command_untrusted" }]);
  expect(host.describe()).toEqual([]);
});

test("a gate in the background is warned of, and described as such", () => {
  const { host } = play({ inProcess: [on("PreToolUse", () => undefined, { async: true, where: { a: 1 } })] });
  expect(host.warnings).toMatchObject([{ code: "async_never_blocks" }]);
  expect(host.describe()).toMatchObject([{ async: true, where: { a: 1 } }]);
});
