// What comes of a guard's `ask`, which entries do the same, and what waits in a session: the chain's own rules, without a host around it.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ChainOptions, type ChainResult, type ChainStep, runChain } from "../../src/broker/chain.ts";
import { type ChainSession, createChainSession, settleBackground } from "../../src/broker/chain-session.ts";
import { HookExecutionError } from "../../src/broker/hook-execution-error.ts";
import type { CompiledCommand, CompiledEntry, CompiledFunction } from "../../src/compiler/plan.ts";
import { addContext, ask, deny, rewrite } from "../../src/profile/answer.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import { chainTerms, fn, SHELL_CALL, terms } from "./chain-support.ts";

let session: ChainSession;
let steps: ChainStep[];
beforeEach(() => {
  session = createChainSession();
  steps = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await settleBackground(session);
});

/** Whose agent does not matter here. */
const { provider: _claude, ...rest } = SHELL_CALL;
const envelope: Envelope = rest as Envelope;

const command = (body: string, more: Partial<CompiledCommand> = {}): CompiledCommand => ({
  ...terms(),
  type: "command",
  argv: ["/bin/sh", "-c", body],
  argv0: "/bin/sh",
  env: {},
  files: [],
  ...more,
});

const run = (entries: readonly CompiledEntry[], more: Partial<ChainOptions> = {}): Promise<ChainResult> =>
  runChain({
    ...chainTerms(session),
    envelope,
    entries,
    hookEnv: { PATH: "/usr/bin:/bin", BRIDLE_RUN_ID: "r", CLAUDE_PROJECT_DIR: "/project" },
    onStep: (step) => steps.push(step),
    ...more,
  });

const asks = (terms: Partial<CompiledFunction> = {}) => fn((given) => ask(given, "sure?"), terms);
const codes = () => steps.map(({ notes }) => notes.map(({ code }) => code));

describe("ask", () => {
  test("where nobody is there denies with the guard's words, and says so", async () => {
    const { verdict } = await run([asks()]);
    expect(verdict).toEqual({ decision: "deny", reason: expect.stringContaining("sure?") });
    expect(steps).toMatchObject([{ asked: "nobody_there", decision: "deny" }]);
    expect(codes()).toEqual([["ask_denied"]]);
  });

  test("that is approved decides nothing: it is no allow, and nothing says that it was denied", async () => {
    const asked: unknown[] = [];
    const approve = async (question: unknown) => {
      asked.push(question);
      return true;
    };
    const entry = asks({ grants: true });
    expect((await run([entry], { approve })).verdict).toEqual({ decision: "none" });
    expect(asked).toEqual([{ entryId: entry.id, reason: "sure?", envelope }]);
    expect(steps).toMatchObject([{ asked: "approved", decision: "none", failed: false }]);
    expect(codes()).toEqual([[]]);
  });

  test.each<[string, () => Promise<boolean>, string]>([
    ["no", async () => false, "the guard asked for approval and it was refused: sure?"],
    [
      "anything but true",
      async () => "yes" as never,
      "the guard asked for approval and it was refused: sure?",
    ],
    [
      "an error",
      () => Promise.reject(new Error("offline")),
      "the guard asked for approval and none came: offline: sure?",
    ],
    [
      "something thrown that is no error",
      () => Promise.reject("offline"),
      "the guard asked for approval and none came: offline: sure?",
    ],
  ])("that is answered with %s denies, and the chain ends there", async (_name, approve, reason) => {
    const later = vi.fn();
    expect((await run([asks(), fn(later)], { approve })).verdict).toEqual({ decision: "deny", reason });
    expect(steps).toMatchObject([{ asked: "refused", decision: "deny" }]);
    expect(later).not.toHaveBeenCalled();
  });

  test("takes a person's time, and none of the hooks' behind it", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const later = vi.fn();
    const approve = async () => {
      vi.advanceTimersByTime(3_600_000);
      return true;
    };
    expect((await run([asks(), fn(later)], { approve, deadlineMs: 1_000 })).verdict.decision).toBe("none");
    expect(later).toHaveBeenCalledOnce();
  });

  test("that comes of nobody is asked of nobody: other answers leave the approver alone", async () => {
    const approve = vi.fn(async () => true);
    await run(
      [fn(() => undefined), fn((given) => addContext(given, "c")), fn((given) => deny(given, "no"))],
      {
        approve,
      },
    );
    expect(approve).not.toHaveBeenCalled();
    expect(steps.map(({ asked }) => asked)).toEqual([undefined, undefined, undefined]);
  });

  test("shows a person the call as the hooks before made it", async () => {
    const asked: unknown[] = [];
    const approve = async (question: { envelope: Envelope }) => asked.push(question.envelope.tool_input) > 0;
    const first = fn((given) => rewrite(given, { command: "rm -rf /" }));
    expect((await run([first, asks()], { approve })).verdict).toMatchObject({ decision: "rewrite" });
    expect(asked).toEqual([{ command: "rm -rf /" }]);
  });
});

describe("entries that do the same", () => {
  const handler = () => undefined;
  test.each<[string, Partial<CompiledFunction>]>([
    ["timeoutMs", { timeoutMs: 9_999 }],
    ["onFailure", { onFailure: "open" }],
    ["grants", { grants: true }],
    ["once", { once: true }],
    ["async", { async: true }],
    ["throws", { throws: true }],
    ["closesFeedback", { closesFeedback: true }],
  ])("are not the same function hook when %s differs, and are when nothing does", async (_what, terms) => {
    const told = async (entries: CompiledEntry[]) => {
      steps = [];
      await run(entries);
      await settleBackground(session);
      return steps.filter(({ matched }) => matched).length;
    };
    expect(await told([fn(handler), fn(handler, terms)])).toBe(2);
    expect(await told([fn(handler, terms), fn(handler, terms)])).toBe(1);
    expect(await told([fn(handler), fn(() => undefined)])).toBe(2);
  });

  test.each<[string, Partial<CompiledCommand>]>([
    ["argv", { argv: ["/bin/sh", "-c", ": another"] }],
    ["env", { env: { MODE: "strict" } }],
  ])("are not the same command when %s differs", async (_what, terms) => {
    await run([command(":"), command(":"), command(":", terms)]);
    expect(steps.map(({ matched }) => matched)).toEqual([true, false, true]);
  });

  test("let the one decide that may: an allow that grants behind one that does not", async () => {
    const allow = () => ({ hookSpecificOutput: { permissionDecision: "allow" } });
    expect((await run([fn(allow), fn(allow, { grants: true })])).verdict.decision).toBe("allow");
  });
});

describe("what waits in a session", () => {
  test("is told whole, in order", async () => {
    session.contexts.push("one", "two");
    const { verdict } = await run([fn((given) => addContext(given, "three"))]);
    expect(verdict).toEqual({ decision: "none", context: "one\n\ntwo\n\nthree" });
    expect(session.contexts).toEqual([]);
  });

  test("keeps its order when a call is denied, or its hook's failure thrown", async () => {
    session.contexts.push("one", "two");
    await run([fn((given) => deny(given, "no"))]);
    const cause = new Error("oops");
    const broken = fn(() => Promise.reject(cause), { throws: true, id: "audit" });
    const thrown: unknown = await run([broken]).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(HookExecutionError);
    expect(thrown).toMatchObject({ hook: "audit", event: "PreToolUse", cause });
    expect(session.contexts).toEqual(["one", "two"]);
  });

  test("a hook in the background has its own time, whatever is left of the chain's", async () => {
    await run([fn((given) => addContext(given, "ready"), { async: true })], { deadlineMs: 0 });
    await settleBackground(session);
    expect(session.contexts).toEqual(["ready"]);
    expect(steps).toMatchObject([{ background: true, failed: false }]);
  });

  test("a hook in the background is not ended with the call that it began in", async () => {
    const controller = new AbortController();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = fn(
      async (given) => {
        await held;
        return addContext(given, "ready");
      },
      { async: true },
    );
    await run([slow], { signal: controller.signal });
    controller.abort();
    release();
    await settleBackground(session);
    expect(session.contexts).toEqual(["ready"]);
  });

  test("a failure in the background is told as one, and as no decision that was passed over", async () => {
    await run([fn(() => Promise.reject(new Error("oops")), { async: true })]);
    await settleBackground(session);
    expect(steps).toMatchObject([{ background: true, failed: true, decision: "none" }]);
    expect(codes()).toEqual([["hook_failed"]]);
  });
});

describe("a command's variables", () => {
  test("are laid over the chain's, but for the names that say whose run it is", async () => {
    const env = { PATH: "/bin", BRIDLE_RUN_ID: "forged", CLAUDE_PROJECT_DIR: "/forged", MODE: "strict" };
    const body = 'echo "$PATH $BRIDLE_RUN_ID $CLAUDE_PROJECT_DIR $MODE" >&2; exit 2';
    expect((await run([command(body, { env })])).verdict).toEqual({
      decision: "deny",
      reason: "/bin r /project strict",
    });
  });
});

test("a function that finds no time left is not asked, and denies a gate", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const late = vi.fn();
  expect((await run([fn(late)], { deadlineMs: 0 })).verdict.decision).toBe("deny");
  expect(late).not.toHaveBeenCalled();
  expect(steps).toMatchObject([{ exit: { kind: "timeout", timeoutMs: 0 }, failed: true }]);
});
