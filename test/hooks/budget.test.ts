import { existsSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SESSIONS_MAX } from "../../src/hooks/budget.ts";
import { budget } from "../../src/hooks/index.ts";
import type { FunctionEntry } from "../../src/index.ts";
import type { EventName } from "../../src/profile/events.ts";
import {
  askHook,
  editCall,
  envelopeOf,
  PROVIDERS,
  placeForTest,
  runFake,
  shellCall,
  thrownBy,
} from "./support.ts";

afterEach(() => vi.restoreAllMocks());

const call = async (
  entry: FunctionEntry,
  session = "s",
  fields = shellCall("ls"),
  event: EventName = "PreToolUse",
) => (await askHook(entry, event, { ...fields, session_id: session })).reason;

describe("a budget of calls", () => {
  it("admits as many as it says and denies the next with the figures", async () => {
    const entry = budget({ toolCalls: 2 });
    expect(await call(entry)).toBe("");
    expect(await call(entry)).toBe("");
    expect(await call(entry)).toBe("budget: 2 of 2 tool calls are spent");
    expect(await call(entry)).toBe("budget: 2 of 2 tool calls are spent");
  });

  it("of 0 admits none", async () => {
    expect(await call(budget({ toolCalls: 0 }))).toBe("budget: 0 of 0 tool calls are spent");
  });

  it("is each session's own", async () => {
    const entry = budget({ toolCalls: 1 });
    expect(await call(entry, "a")).toBe("");
    expect(await call(entry, "b")).toBe("");
    expect(await call(entry, "a")).not.toBe("");
  });

  it("is each entry's own", async () => {
    expect(await call(budget({ toolCalls: 1 }))).toBe("");
    expect(await call(budget({ toolCalls: 1 }))).toBe("");
  });

  it("counts by tool and by kind", async () => {
    const entry = budget({ perTool: { Bash: 1, "kind:edit": 1 } });
    expect(await call(entry)).toBe("");
    expect(await call(entry)).toBe("budget: 1 of 1 calls of Bash are spent");
    expect(await call(entry, "s", editCall("a"))).toBe("");
    expect(await call(entry, "s", { ...editCall("a"), tool_name: "Edit" })).toBe(
      "budget: 1 of 1 calls of kind:edit are spent",
    );
    expect(await call(entry, "s", { tool_name: "toString", tool_kind: "other" })).toBe("");
  });

  it("does not count what it denied", async () => {
    const entry = budget({ toolCalls: 3, perTool: { Bash: 1 } });
    for (let index = 0; index < 5; index++) await call(entry);
    expect(await call(entry, "s", editCall("a"))).toBe("");
    expect(await call(entry, "s", editCall("a"))).toBe("");
    expect(await call(entry, "s", editCall("a"))).toBe("budget: 3 of 3 tool calls are spent");
  });

  it("is never exceeded by calls at the same time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(20), fc.integer({ min: 1, max: 40 }), async (limit, count) => {
        const entry = budget({ toolCalls: limit });
        const reasons = await Promise.all(Array.from({ length: count }, () => call(entry)));
        return reasons.filter((reason) => reason === "").length === Math.min(limit, count);
      }),
      { numRuns: 30 },
    );
  });
});

describe("a budget of time", () => {
  it("begins with the first event of the session and denies when it is over", async () => {
    let now = 1_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const { handler } = budget({ wallMs: 500 });
    const at = (event: EventName, session = "s") =>
      handler(envelopeOf(event, { ...shellCall("ls"), session_id: session }), {
        signal: new AbortController().signal,
      });
    expect(at("SessionStart")).toBeUndefined();
    now = 1_499;
    expect(at("PreToolUse")).toBeUndefined();
    now = 1_500;
    expect(JSON.stringify(at("PreToolUse"))).toContain("budget: 500 ms of 500 ms are spent");
    expect(at("PreToolUse", "another")).toBeUndefined();
  });
});

describe("sessions", () => {
  it("begin anew after SessionEnd", async () => {
    const entry = budget({ toolCalls: 1 });
    await call(entry);
    await call(entry, "s", {}, "SessionEnd");
    expect(await call(entry)).toBe("");
  });

  it("beyond the bound push out the one unused longest, and no other", () => {
    const { handler } = budget({ toolCalls: 1 });
    const { signal } = new AbortController();
    const ask = (session: string) =>
      handler(envelopeOf("PreToolUse", { ...shellCall("ls"), session_id: session }), { signal });
    for (let index = 0; index < SESSIONS_MAX; index++) ask(`s${index}`);
    expect(ask("s0")).toBeDefined(); // used again: s1 is the oldest now
    expect(ask("new")).toBeUndefined();
    expect(ask("s0")).toBeDefined();
    expect(ask("s2")).toBeDefined();
    expect(ask("s1")).toBeUndefined();
  });
});

describe("options", () => {
  it.each([
    [{}, "budget: give at least one of toolCalls, perTool and wallMs"],
    [undefined, "budget: give at least one of toolCalls, perTool and wallMs"],
    [{ toolCalls: -1 }, "budget: toolCalls must be a whole number, 0 or more, got -1 (number)"],
    [{ toolCalls: 1.5 }, "budget: toolCalls must be a whole number, 0 or more, got 1.5 (number)"],
    [{ wallMs: "1" }, 'budget: wallMs must be a whole number, 0 or more, got "1" (string)'],
    [{ perTool: { Bash: null } }, "budget: perTool.Bash must be a whole number, 0 or more, got null (null)"],
    [{ perTool: 3 }, "budget: perTool must be an object of tool names and numbers, got 3 (number)"],
    [{ toolCalls: 1, onExceed: "ask" }, 'budget: onExceed must be "deny", got "ask" (string)'],
    [{ calls: 1 }, 'budget: unknown option "calls"; known: toolCalls, perTool, wallMs, onExceed'],
  ])("%j are refused at once", (options, message) => {
    expect(thrownBy(() => budget(options as never)).message).toBe(message);
  });
});

describe.each(PROVIDERS)("a run of %s", (provider) => {
  it("makes as many calls as it may, of those at once and one after another", async () => {
    const place = await placeForTest();
    const script = {
      steps: [
        { tools: [{ shell: "touch a" }, { shell: "touch b" }, { shell: "touch c" }] },
        { tools: [{ shell: "touch d" }] },
        { text: "done" },
      ],
    };
    const { denied } = await runFake(
      place,
      provider,
      { PreToolUse: [{ hooks: [budget({ toolCalls: 2 })] }] },
      script,
    );
    expect(denied).toEqual(["PreToolUse", "PreToolUse"]);
    expect(["a", "b", "c", "d"].filter((name) => existsSync(join(place.cwd, name)))).toHaveLength(2);
  });
});
