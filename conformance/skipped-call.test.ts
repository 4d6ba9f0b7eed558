// One call of many whose hook was cut off or answered by somebody else: the run ends at once and names it, without waiting for what
// the model says next, and nothing after it runs.

import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { FunctionEntry, HookDeclaration, StampedReceipt } from "../src/index.ts";
import type { ModelStep } from "../src/prove/script.ts";
import { findShim, forgeAdmission, killHandler, startHookKiller } from "./support/cut-hook.ts";
import {
  ALL,
  CLAUDE,
  CODEX,
  CODEX_CODE_MODE,
  type Column,
  runGuarded,
  type Site,
  shell,
} from "./support/harness.ts";

const CALLS = 20;
const CUT = 10;

const DENY = { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "no" } };

const named = (index: number) => `call-${String(index).padStart(2, "0")}`;
const leaves = ({ at }: Site, index: number) => shell(`touch '${at(named(index))}'`, named(index));

/** Twenty calls, one after another; the model never answers the request that follows the cut one. */
const twenty = (site: Site): ModelStep[] => {
  const steps: ModelStep[] = Array.from({ length: CALLS }, (_, at) => ({ tools: [leaves(site, at + 1)] }));
  return steps.map((step, at) => (at === CUT ? { ...step, fault: { kind: "hang" } } : step));
};

const onPreToolUse = (handler: FunctionEntry["handler"], more: HookDeclaration = {}): HookDeclaration => ({
  PreToolUse: [{ hooks: [{ type: "function", name: "guard", handler, timeout: 20 }] }],
  ...more,
});

/** Lets the call through past its guard. claude blocks a call whose hook was killed, so there the answer is forged. */
async function cut({ provider }: Column, site: Site, id: string): Promise<void> {
  const shim = findShim(site, id);
  await (provider === "claude" ? forgeAdmission(shim) : killHandler(shim));
}

const ran = (site: Site) =>
  Array.from({ length: CALLS }, (_, at) => at + 1).filter((index) => site.has(named(index)));
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1);

describe.each(ALL)("$mode: of twenty calls the tenth is cut while its guard decides", (column) => {
  it("the run ends as unenforced, the call is named, and no later call runs", async () => {
    let cutId = "";
    const { result, site, receipts } = await runGuarded({
      column,
      declaration: (place) =>
        onPreToolUse(async ({ tool_use_id: id, tool_command: command }) => {
          if (!String(command).includes(named(CUT))) return undefined;
          cutId = String(id);
          await cut(column, place, cutId);
          return DENY;
        }),
      script: twenty,
    });
    expect(result.outcome).toBe("unenforced");
    expect(result.reason).toContain(cutId);
    expect(cutId).not.toBe("");
    expect(ran(site).filter((index) => index !== CUT)).toEqual(upTo(CUT - 1));
    // A killed shim may hold its reply pipe for a moment longer, and then the denial counts as taken; what ran says otherwise.
    const row = result.attestation.events.find(({ event }) => event === "PreToolUse");
    expect(row).toMatchObject({ fired: CUT });
    expect((row?.answered ?? 0) + (row?.late ?? 0) + (row?.never ?? 0)).toBe(CUT);
    expect(receipts.filter(({ kind }) => kind === "fault").length).toBeGreaterThan(0);
  });
});

/** The guard denies what names one of `denied`; the killer starts once the call that names `last` has run. */
function killedAfter(place: Site, last: string, denied: readonly string[]): HookDeclaration {
  const killer = startHookKiller(place, "PreToolUse");
  return onPreToolUse(
    async ({ tool_command: command }) => {
      if (!denied.some((name) => String(command).includes(name))) return undefined;
      // Late, so that a killer that came after the question comes before the answer. Denied, so that it would let the call through.
      await delay(1_000);
      return DENY;
    },
    {
      // By now the shells of its PreToolUse hook are gone, and the next ones are the next call's.
      PostToolUse: [
        {
          hooks: [
            {
              type: "function",
              name: "arms the killer",
              handler: ({ tool_command: command }) => {
                if (String(command).includes(last)) killer.arm();
                return undefined;
              },
            },
          ],
        },
      ],
    },
  );
}

/** Asked just before its shell was killed, a call is named by its id; else by what the session record shows of it. */
function nameOf(receipts: readonly StampedReceipt[], index: number, command: string): RegExp {
  const asked = receipts.flatMap((line) =>
    line.kind === "fired" && line.event === "PreToolUse" ? [line] : [],
  );
  const id = asked[index]?.tool_use_id;
  return new RegExp(id === undefined ? command : `${id}|${command}`);
}

describe.each([CODEX, CODEX_CODE_MODE])("$mode: of twenty calls the tenth asks nobody", (column) => {
  it("the run ends as unenforced, the call is named, and no later call runs", async () => {
    const { result, site, receipts } = await runGuarded({
      column,
      declaration: (place) => killedAfter(place, named(CUT - 1), [named(CUT)]),
      script: twenty,
    });
    expect(result.outcome).toBe("unenforced");
    expect(result.reason).toMatch(nameOf(receipts, CUT - 1, named(CUT)));
    expect(ran(site).filter((index) => index !== CUT)).toEqual(upTo(CUT - 1));
  });
});

describe.each([CODEX, CODEX_CODE_MODE])("$mode: a call of a subagent asks nobody", (column) => {
  it("the run ends as unenforced and the call is named, although the stream does not show it", async () => {
    const steps = ["sub-1", "sub-2", "sub-3"].map((name) => ({ tools: [shell(`sleep 0.2 # ${name}`)] }));
    const { result, receipts } = await runGuarded({
      column,
      declaration: (place) => killedAfter(place, "sub-1", ["sub-2", "sub-3"]),
      script: () => [{ tools: [{ kind: "agent", prompt: "go", script: steps }] }],
    });
    expect(result.outcome).toBe("unenforced");
    expect(result.reason).toMatch(nameOf(receipts, 3, "sub-2"));
  });
});

describe("claude: of twenty calls the tenth asks nobody", () => {
  it("claude blocks it, the run ends as unenforced, and no later call runs", async () => {
    const { result, site } = await runGuarded({
      column: CLAUDE,
      declaration: (place) => killedAfter(place, named(CUT - 1), [named(CUT)]),
      script: twenty,
    });
    expect(result.outcome).toBe("unenforced");
    expect(ran(site)).toEqual(upTo(CUT - 1));
  });
});

const OTHERS = ["first", "third", "fourth"];

describe.each([CLAUDE, CODEX])("$mode: of four calls at once the second is cut", (column) => {
  it("the run ends as unenforced, the call is named, and so are those under way", async () => {
    const decided = new Set<string>();
    const { result, site } = await runGuarded({
      column,
      prepare: ({ at }) => {
        for (const name of [...OTHERS, "second"]) writeFileSync(at(name), "");
      },
      declaration: (place) =>
        onPreToolUse(async ({ tool_use_id: id }) => {
          if (OTHERS.includes(String(id))) {
            decided.add(String(id));
            return undefined;
          }
          while (decided.size < OTHERS.length) await delay(20);
          await cut(column, place, String(id));
          return undefined;
        }),
      script: ({ at }) => [
        {
          // claude runs only what it knows to be harmless at once.
          tools: ["first", "second", "third", "fourth"].map((name) => shell(`tail -f '${at(name)}'`, name)),
        },
        { tools: [shell(`touch '${at("after")}'`)], fault: { kind: "hang" } },
      ],
    });
    expect(result.outcome).toBe("unenforced");
    expect(result.reason).toMatch(
      /\bsecond\b.*other calls under way: (?!.*second)(?=.*first)(?=.*third)(?=.*fourth)/,
    );
    expect(site.has("after")).toBe(false);
  });
});
