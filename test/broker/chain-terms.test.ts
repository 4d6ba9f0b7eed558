// Entries that run once, in the background, or only where an envelope holds something, in one chain after another of one session.

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ChainOptions, type ChainStep, runChain } from "../../src/broker/chain.ts";
import { type ChainSession, createChainSession, settleBackground } from "../../src/broker/chain-session.ts";
import { HookExecutionError } from "../../src/broker/hook-execution-error.ts";
import type { CompiledEntry, CompiledHttp } from "../../src/compiler/plan.ts";
import type { Verdict } from "../../src/profile/verdict.ts";
import { chainTerms, fn, SHELL_CALL } from "./chain-support.ts";

let session: ChainSession;
let steps: ChainStep[];
beforeEach(() => {
  session = createChainSession();
  steps = [];
});
afterEach(() => settleBackground(session));

const envelope = SHELL_CALL;

const run = async (entries: readonly CompiledEntry[], more: Partial<ChainOptions> = {}): Promise<Verdict> =>
  (
    await runChain({
      ...chainTerms(session),
      entries,
      onStep: (step) => steps.push(step),
      ...more,
    })
  ).verdict;

const deny = () => ({ hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "no" } });
const nothing = () => undefined;
const say = (text: string) => () => ({ additionalContext: text });

describe("where", () => {
  test("asks a hook only about what it wants", async () => {
    const entry = fn(deny, { where: { tool_name: { $in: ["Edit", "Write"] } } });
    expect((await run([entry])).decision).toBe("none");
    expect(steps).toMatchObject([{ matched: false }]);
    expect((await run([entry], { envelope: { ...envelope, tool_name: "Edit" } })).decision).toBe("deny");
  });

  test("that cannot be evaluated asks: a guard is rather asked once too often", async () => {
    expect((await run([fn(deny, { where: { tool_name: { $oops: 1 } } })])).decision).toBe("deny");
  });

  test("looks at what a hook before it put in the place of the input", async () => {
    const rewrite = fn(() => ({ hookSpecificOutput: { updatedInput: { command: "rm x" } } }));
    const guard = fn(deny, { where: { tool_input: { command: { $contains: "rm" } } } });
    expect((await run([rewrite, guard])).decision).toBe("deny");
  });

  test("does not stand in for the matcher: both must want it", async () => {
    const where = { tool_name: "Bash" };
    expect((await run([fn(deny, { matcher: "Edit", where })])).decision).toBe("none");
    expect((await run([fn(deny, { matcher: "Bash", where })])).decision).toBe("deny");
  });
});

describe("a once hook", () => {
  test("is asked the first time that it is wanted, not the first time that its event fires", async () => {
    const asked: string[] = [];
    const entry = fn(() => void asked.push("once"), { once: true, where: { tool_name: "Edit" } });
    await run([entry]);
    expect(asked).toHaveLength(0);
    for (let time = 0; time < 3; time += 1)
      await run([entry], { envelope: { ...envelope, tool_name: "Edit" } });
    expect(asked).toHaveLength(1);
  });

  test("that was not reached, because one before it denied, is asked the next time", async () => {
    const asked: string[] = [];
    const entry = fn(() => void asked.push("once"), { once: true });
    await run([fn(deny), entry]);
    await run([entry]);
    expect(asked).toHaveLength(1);
  });
});

describe("a hook in the background", () => {
  test("is not waited for, and another after it decides", async () => {
    let release = () => {};
    const held = new Promise<undefined>((resolve) => {
      release = () => resolve(undefined);
    });
    expect((await run([fn(() => held, { async: true }), fn(deny)])).decision).toBe("deny");
    expect(steps.map(({ background }) => background)).toEqual([false]);
    release();
    await settleBackground(session);
    expect(steps.map(({ background }) => background)).toEqual([false, true]);
  });

  test("that fails denies nothing, and is told as failed", async () => {
    const entry = fn(
      () => {
        throw new Error("oops");
      },
      { async: true },
    );
    expect((await run([entry])).decision).toBe("none");
    await settleBackground(session);
    expect(steps).toMatchObject([{ background: true, failed: true, decision: "none" }]);
    expect(session.contexts).toEqual([]);
  });

  const carry = async () => {
    await run([fn(say("carried"), { async: true })]);
    await settleBackground(session);
    expect(session.contexts).toEqual(["carried"]);
  };

  test("has its context given once, before those of the chain", async () => {
    await carry();
    expect(await run([fn(say("own"))])).toEqual({ decision: "none", context: "carried\n\nown" });
    expect(await run([fn(nothing)])).toEqual({ decision: "none" });
  });

  test("has its context kept over an event that takes none", async () => {
    await carry();
    const stop = { ...envelope, hook_event_name: "Stop" } as const;
    await run([fn(nothing, { event: "Stop" })], { event: "Stop", envelope: stop });
    expect(session.contexts).toEqual(["carried"]);
  });

  test("has its context kept when the call is denied", async () => {
    await carry();
    await run([fn(deny)]);
    expect(session.contexts).toEqual(["carried"]);
  });

  test("has its context kept when the call is abandoned", async () => {
    await carry();
    const after = { ...envelope, hook_event_name: "PostToolUse" } as const;
    const signal = AbortSignal.abort();
    await run([fn(nothing, { event: "PostToolUse" })], { event: "PostToolUse", envelope: after, signal });
    expect(session.contexts).toEqual(["carried"]);
  });

  test("has its context kept when a hook's failure is thrown", async () => {
    await carry();
    const broken = fn(
      () => {
        throw new Error("oops");
      },
      { throws: true },
    );
    await expect(run([broken])).rejects.toBeInstanceOf(HookExecutionError);
    expect(session.contexts).toEqual(["carried"]);
  });

  test("is ended with its session", async () => {
    const folder = await mkdtemp(join(tmpdir(), "bridle-terms-"));
    try {
      const script = join(folder, "hang.sh");
      await writeFile(script, "echo $$ > pid; while :; do sleep 0.05; done\n");
      const entry: CompiledEntry = {
        ...fn(nothing, { async: true }),
        type: "command",
        argv: ["/bin/sh", script],
        argv0: "/bin/sh",
        env: {},
        files: [],
      };
      await run([entry], { cwd: folder });
      await expect.poll(() => existsSync(join(folder, "pid"))).toBe(true);
      session.abort.abort();
      await settleBackground(session);
      const pid = Number(await readFile(join(folder, "pid"), "utf8"));
      expect(() => process.kill(pid, 0)).toThrow("ESRCH");
      expect(steps).toMatchObject([{ background: true, failed: true }]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("entries that do the same", () => {
  test("are asked once, and a chain in which one was rewritten asks again", async () => {
    const asked: string[] = [];
    const handler = () => void asked.push("once");
    await run([fn(handler), fn(handler)]);
    expect(asked).toHaveLength(1);
    await run([
      fn(handler),
      fn(() => ({ hookSpecificOutput: { updatedInput: { command: "x" } } })),
      fn(handler),
    ]);
    expect(asked).toHaveLength(3);
  });

  test.each<[string, Partial<CompiledHttp>]>([
    ["url", { url: "http://127.0.0.1:1/b" }],
    ["headers", { headers: { a: "b" } }],
    ["onFailure", { onFailure: "open" }],
  ])("are not the same http hook when %s differs", async (_what, terms) => {
    const { name: _name, handler: _handler, ...common } = fn(nothing);
    const http: CompiledHttp = {
      ...common,
      onFailure: "open",
      type: "http",
      url: "http://127.0.0.1:1/a",
      headers: {},
    };
    const other = { ...http, ...(terms.onFailure === "open" ? { onFailure: "closed" as const } : terms) };
    await run([http, http, other]);
    expect(steps.map(({ matched }) => matched)).toEqual([true, false, true]);
  });
});
