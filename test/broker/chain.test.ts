import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChainOptions, type ChainStep, runChain } from "../../src/broker/chain.ts";
import { createChainSession } from "../../src/broker/chain-session.ts";
import type { CompiledCommand, CompiledEntry, CompiledFunction } from "../../src/compiler/plan.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import type { EventName } from "../../src/profile/events.ts";
import { SHELL_CALL } from "./chain-support.ts";

let dir: string;
let steps: ChainStep[];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "bridle-chain-"));
  steps = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const envelope = (event: EventName = "PreToolUse"): Envelope => ({
  ...SHELL_CALL,
  cwd: dir,
  hook_event_name: event,
  tool_kind: "shell",
  tool_command: "ls",
});

let made = 0;
const base = (event: EventName) => {
  made += 1;
  return {
    id: `${event}[${made}]`,
    event,
    matcher: undefined,
    timeoutMs: 10_000,
    onFailure: "closed",
    grants: false,
  } as const;
};

async function command(body: string, overrides: Partial<CompiledCommand> = {}): Promise<CompiledCommand> {
  const common = base(overrides.event ?? "PreToolUse");
  const path = join(dir, `hook-${made}`);
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return { ...common, type: "command", argv: [path], argv0: path, env: {}, files: [], ...overrides };
}

function fn(
  handler: CompiledFunction["handler"],
  overrides: Partial<CompiledFunction> = {},
): CompiledFunction {
  return { ...base(overrides.event ?? "PreToolUse"), type: "function", name: "f", handler, ...overrides };
}

const chain = (entries: CompiledEntry[], overrides: Partial<ChainOptions> = {}) =>
  runChain({
    session: createChainSession(),
    event: "PreToolUse",
    envelope: envelope(overrides.event),
    entries,
    cwd: dir,
    hookEnv: { PATH: "/usr/bin:/bin", BRIDLE_RUN_ID: "r" },
    marker: "m",
    signal: new AbortController().signal,
    deadlineMs: 20_000,
    checkFiles: async () => [],
    onStep: (step) => steps.push(step),
    ...overrides,
  });

const answer = (fields: JsonObject): JsonObject => ({
  hookSpecificOutput: { hookEventName: "PreToolUse", ...fields },
});
const rewrite = (command: string) => answer({ permissionDecision: "allow", updatedInput: { command } });

describe("the hooks of one event", () => {
  it("run in declaration order, one after another", async () => {
    const entries = [
      await command("sleep 0.2; echo a >>order"),
      await command("echo b >>order"),
      fn(() => undefined),
    ];
    expect((await chain(entries)).verdict).toEqual({ decision: "none" });
    expect(await readFile(join(dir, "order"), "utf8")).toBe("a\nb\n");
    expect(steps.map(({ entryId }) => entryId)).toEqual(entries.map(({ id }) => id));
  });

  it("get the envelope as one line and its end", async () => {
    await chain([await command("cat >got")]);
    expect(await readFile(join(dir, "got"), "utf8")).toBe(`${JSON.stringify(envelope())}\n`);
  });

  it("see the rewrite of the one before, replaced whole, with what is derived from it", async () => {
    const seen: Envelope[] = [];
    const entries = [
      fn(() => answer({ updatedInput: { command: "echo 1", extra: true } })),
      fn((given) => {
        seen.push(given);
        return answer({ updatedInput: { command: "echo 2" } });
      }),
      await command("cat >third"),
    ];
    const { verdict } = await chain(entries);
    expect(seen[0]).toMatchObject({ tool_input: { command: "echo 1", extra: true }, tool_command: "echo 1" });
    expect(JSON.parse(await readFile(join(dir, "third"), "utf8"))).toMatchObject({
      tool_input: { command: "echo 2" },
      tool_command: "echo 2",
    });
    expect(verdict).toMatchObject({ decision: "rewrite", updatedInput: { command: "echo 2" } });
  });

  it("cannot change the envelope of the next but by an answer", async () => {
    const seen: Envelope[] = [];
    await chain([
      fn((given) => {
        given.tool_name = "Other";
      }),
      fn((given) => {
        seen.push(given);
      }),
    ]);
    expect(seen[0]?.tool_name).toBe("Bash");
  });

  it("end with the first deny, which takes all else back", async () => {
    let later = false;
    const { verdict } = await chain([
      fn(() => answer({ updatedInput: { command: "x" }, additionalContext: "c" })),
      await command("echo no >&2; exit 2"),
      fn(() => {
        later = true;
      }),
    ]);
    expect(verdict).toEqual({ decision: "deny", reason: "no" });
    expect(later).toBe(false);
    expect(steps).toHaveLength(2);
  });

  it("join their contexts in order, with a blank line between", async () => {
    const entries = [
      fn(() => answer({ additionalContext: "one" })),
      fn(() => answer({ additionalContext: "two" })),
    ];
    expect((await chain(entries)).verdict).toEqual({ decision: "none", context: "one\n\ntwo" });
  });

  it("grant only when every one that rewrites grants", async () => {
    const verdict = async (first: boolean, second: boolean) =>
      (await chain([fn(() => rewrite("1"), { grants: first }), fn(() => rewrite("2"), { grants: second })]))
        .verdict;
    expect(await verdict(true, true)).toMatchObject({ decision: "rewrite", grants: true });
    expect(await verdict(true, false)).toMatchObject({ decision: "rewrite", grants: false });
    expect(await verdict(false, true)).toMatchObject({ decision: "rewrite", grants: false });
  });

  it("allow only by an entry that grants", async () => {
    const allow = answer({ permissionDecision: "allow" });
    expect((await chain([fn(() => allow)])).verdict.decision).toBe("none");
    expect((await chain([fn(() => allow, { grants: true })])).verdict.decision).toBe("allow");
  });

  it("that do not match cost no process and are told as unmatched", async () => {
    const { verdict } = await chain([await command("echo x >ran; exit 2", { matcher: "Edit" })]);
    expect(verdict).toEqual({ decision: "none" });
    expect(existsSync(join(dir, "ran"))).toBe(false);
    expect(steps).toMatchObject([{ matched: false, exit: undefined, decision: "none" }]);
  });

  it("are asked when their matcher cannot be evaluated", async () => {
    expect((await chain([await command("exit 2", { matcher: "(" })])).verdict.decision).toBe("deny");
  });
});

describe("a function handler decides like a command", () => {
  it.each<[string, () => unknown, string]>([
    ["nothing", () => undefined, ":"],
    [
      "a deny",
      () => answer({ permissionDecision: "deny", permissionDecisionReason: "why" }),
      `echo '${JSON.stringify(answer({ permissionDecision: "deny", permissionDecisionReason: "why" }))}'`,
    ],
    [
      "ask",
      () => answer({ permissionDecision: "ask" }),
      `echo '${JSON.stringify(answer({ permissionDecision: "ask" }))}'`,
    ],
    [
      "an unknown decision",
      () => answer({ permissionDecision: "maybe" }),
      `echo '${JSON.stringify(answer({ permissionDecision: "maybe" }))}'`,
    ],
    ["a rewrite", () => rewrite("2"), `echo '${JSON.stringify(rewrite("2"))}'`],
  ])("%s", async (_name, handler, body) => {
    const ofFunction = await chain([fn(handler as CompiledFunction["handler"])]);
    const ofCommand = await chain([await command(body)]);
    expect(ofFunction.verdict).toEqual(ofCommand.verdict);
    expect(steps[0]?.notes).toEqual(steps[1]?.notes);
  });

  it.each<[string, CompiledFunction["handler"]]>([
    [
      "throws",
      () => {
        throw new Error("boom");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("boom");
      },
    ],
    ["returns a string", () => "ok" as never],
    ["returns a list", () => [] as never],
    ["returns what is no JSON", () => ({ n: 1n }) as never],
    ["never settles", () => new Promise(() => {})],
  ])("a gate is denied when it %s, and a feedback event is not", async (_name, handler) => {
    const { verdict } = await chain([fn(handler, { timeoutMs: 100 })]);
    expect(verdict.decision).toBe("deny");
    expect(steps[0]).toMatchObject({ failed: true });
    const stop = await chain([fn(handler, { timeoutMs: 100, event: "Stop" })], { event: "Stop" });
    expect(stop.verdict).toEqual({ decision: "none" });
  });

  it("is told by its signal that it is late", async () => {
    let late: AbortSignal | undefined;
    const handler: CompiledFunction["handler"] = (_envelope, { signal }) => {
      late = signal;
      return new Promise(() => {});
    };
    await chain([fn(handler, { timeoutMs: 50 })]);
    expect(late?.aborted).toBe(true);
  });
});

describe("a guard whose files changed", () => {
  it("is not run, and denies a gate also when its failures are forgiven", async () => {
    const { verdict } = await chain([await command("echo x >ran", { onFailure: "open" })], {
      checkFiles: async () => ["guard.js: sha256 differs"],
    });
    expect(verdict).toMatchObject({ decision: "deny", reason: expect.stringContaining("guard.js") });
    expect(existsSync(join(dir, "ran"))).toBe(false);
    expect(steps).toMatchObject([{ changed: true, failed: true, notes: [{ code: "command_changed" }] }]);
  });

  it("is not run on another event either, and that is told", async () => {
    const { verdict } = await chain([await command("echo x >ran", { event: "Stop" })], {
      event: "Stop",
      checkFiles: async () => ["gone"],
    });
    expect(verdict).toEqual({ decision: "none" });
    expect(existsSync(join(dir, "ran"))).toBe(false);
    expect(steps).toMatchObject([{ changed: true }]);
  });

  it("is taken for changed when it cannot be checked", async () => {
    const checkFiles = () => Promise.reject(new Error("EIO"));
    expect((await chain([await command(":")], { checkFiles })).verdict).toMatchObject({ decision: "deny" });
  });
});

describe("the chain's own deadline", () => {
  it("bounds each hook, and one that finds no time left denies a gate", async () => {
    const entries = [await command("exec sleep 1000", { event: "PreToolUse" })];
    const { verdict } = await chain(entries, { deadlineMs: 200 });
    expect(verdict.decision).toBe("deny");
    expect(steps).toMatchObject([{ exit: { kind: "timeout" } }]);
    expect((await chain([await command(":")], { deadlineMs: 0 })).verdict.decision).toBe("deny");
  });

  it("an abandoned chain ends its hook, runs no further one, and denies a gate", async () => {
    const abort = new AbortController();
    let later = false;
    const entries = [
      fn(
        () => {
          abort.abort();
          return new Promise(() => {});
        },
        { onFailure: "open" },
      ),
      fn(() => {
        later = true;
      }),
    ];
    const { verdict } = await chain(entries, { signal: abort.signal });
    expect(verdict.decision).toBe("deny");
    expect(later).toBe(false);
  });
});

it("5 MB of output denies a gate and is told as cut", async () => {
  const { verdict } = await chain([await command("head -c 5000000 /dev/zero | tr '\\0' a")]);
  expect(verdict.decision).toBe("deny");
  expect(steps).toMatchObject([{ truncated: true }]);
});

it("concurrent chains do not end each other's hooks", async () => {
  const results = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => chain([await command(`sleep 0.${index}; exit 0`)])),
  );
  expect(results.map(({ verdict }) => verdict.decision)).toEqual(Array.from({ length: 8 }, () => "none"));
});
