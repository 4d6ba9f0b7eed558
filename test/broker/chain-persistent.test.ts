// Entries that are persistent, in the chains of one session.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ChainOptions, type ChainStep, runChain } from "../../src/broker/chain.ts";
import {
  type ChainSession,
  closeChainSession,
  createChainSession,
  settleBackground,
} from "../../src/broker/chain-session.ts";
import type { CompiledCommand } from "../../src/compiler/plan.ts";
import type { Verdict } from "../../src/profile/verdict.ts";
import { commandOf, guardsOfEachTest, isReaped, untilWritten } from "../exec/persistent/support.ts";
import { chainTerms, commandEntryOf } from "./chain-support.ts";

const at = guardsOfEachTest();
let session: ChainSession;
let steps: ChainStep[];
beforeEach(() => {
  session = createChainSession();
  steps = [];
});
afterEach(async () => void (await closeChainSession(session)));

async function guard(body: string, more: Partial<CompiledCommand> = {}): Promise<CompiledCommand> {
  const { argv } = await at.program(body);
  return commandEntryOf(argv, { persistent: true, ...more });
}

const run = async (
  entries: readonly CompiledCommand[],
  command = "ls",
  more: Partial<ChainOptions> = {},
): Promise<Verdict> =>
  (
    await runChain({
      ...chainTerms(session),
      envelope: commandOf(command),
      entries,
      cwd: at.dir,
      onStep: (step) => steps.push(step),
      ...more,
    })
  ).verdict;

const DENY = "each:say({ id: call.id, answer: command === 'rm' ? deny('no ' + command) : undefined });";

test("its answers are read like those of a one-shot guard, and its process stays", async () => {
  const entry = await guard(DENY);
  expect(await run([entry])).toEqual({ decision: "none" });
  expect(await run([entry], "rm")).toEqual({ decision: "deny", reason: "no rm" });
  expect(await at.starts()).toHaveLength(1);
  expect(steps).toMatchObject([
    { exit: { kind: "answered", blocks: false }, decision: "none", failed: false, outputKeys: [] },
    {
      decision: "deny",
      outputKeys: [
        "hookSpecificOutput",
        ...["hookEventName", "permissionDecision", "permissionDecisionReason"].map(
          (key) => `hookSpecificOutput.${key}`,
        ),
      ],
    },
  ]);
});

test("a block denies with its reason, and without one says so", async () => {
  const entry = await guard("each:say({ id: call.id, block: command });");
  expect(await run([entry], "not here")).toEqual({ decision: "deny", reason: "not here" });
  expect(await run([entry], "")).toEqual({
    decision: "deny",
    reason: "blocked by a hook that gave no reason",
  });
  expect(steps[0]?.notes).toEqual([{ code: "denied_by_exit", detail: "block" }]);
});

test("what is not in the place of a decision denies, as everywhere", async () => {
  const entry = await guard("each:say({ id: call.id, answer: { verdict: 'deny' } });");
  expect(await run([entry])).toMatchObject({
    decision: "deny",
    reason: expect.stringContaining("not where the profile"),
  });
});

test("a failure denies, quotes the last of stderr, and open admits it; the next call is told of the restart", async () => {
  const body =
    "each:if (command === 'ls') say({ id: call.id }); else process.stderr.write('x'.repeat(900) + ' the reason', () => process.exit(command === 'two' ? 2 : 0));";
  const closed = await guard(body);
  const denied = await run([closed], "boom");
  expect(denied).toMatchObject({
    decision: "deny",
    reason: expect.stringMatching(
      /^the guard did not answer: the guard ended with exit 0 before it answered: stderr "x{900} the reason"$/,
    ),
  });
  expect(await run([closed])).toEqual({ decision: "none" });
  const open = await guard(body, { onFailure: "open" });
  // Exit 2 is a denial of a command that answers by its exit; here it is the end of a guard.
  expect(await run([open], "two")).toEqual({ decision: "none" });
  expect(steps.map(({ notes }) => notes.map(({ code }) => code))).toEqual([
    ["hook_failed"],
    ["guard_restarted"],
    ["hook_failed", "admitted_on_failure"],
  ]);
});

test("a late answer denies, also with on_failure open", async () => {
  const entry = await guard("lines.resume();", { onFailure: "open", timeoutMs: 300 });
  expect(await run([entry])).toMatchObject({
    decision: "deny",
    reason: expect.stringContaining("no answer within 300 ms"),
  });
});

test("files are compared before every call: a change denies, and the process is not asked", async () => {
  const entry = await guard("each:appendFileSync('asked', 'x\\n'); say({ id: call.id });", {
    onFailure: "open",
  });
  await run([entry]);
  const changed = await run([entry], "ls", { checkFiles: async () => ["guard.mjs changed"] });
  expect(changed).toMatchObject({ decision: "deny", reason: expect.stringContaining("guard.mjs changed") });
  expect(steps[1]).toMatchObject({ changed: true, exit: undefined });
  expect(await untilWritten(join(at.dir, "asked"))).toBe("x");
});

test("equal ones are asked once, and one that is persistent is not equal to one that is not", async () => {
  const entry = await guard("each:say({ id: call.id }); process.exitCode = 0;");
  const again = { ...entry, id: "again" };
  const { persistent: _no, ...oneShot } = { ...entry, id: "one-shot" };
  await run([entry, again, oneShot]);
  expect(steps.map(({ matched }) => matched)).toEqual([true, false, true]);
  expect(await at.starts()).toHaveLength(2);
});

test("an async one is asked in the background, and its context comes later", async () => {
  const entry = await guard("each:say({ id: call.id, answer: { additionalContext: 'from ' + command } });", {
    async: true,
  });
  expect(await run([entry], "one")).toEqual({ decision: "none" });
  await settleBackground(session);
  expect(await run([entry], "two")).toEqual({ decision: "none", context: "from one" });
  await settleBackground(session);
  expect(await at.starts()).toHaveLength(1);
});

test("a once one is asked once", async () => {
  const entry = await guard("each:say({ id: call.id, block: 'no' });", { once: true });
  expect((await run([entry])).decision).toBe("deny");
  expect((await run([entry])).decision).toBe("none");
});

test("chains that run at the same time are asked at the same time", async () => {
  const entry = await guard(`
    const held = [];
    lines.on("line", (line) => {
      held.push(JSON.parse(line));
      if (held.length === 5) for (const call of held.reverse()) say({ id: call.id, block: call.envelope.tool_input.command });
    });`);
  const commands = ["a", "b", "c", "d", "e"];
  const verdicts = await Promise.all(commands.map((command) => run([entry], command)));
  expect(verdicts).toEqual(commands.map((reason) => ({ decision: "deny", reason })));
});

test("a chain that is abandoned leaves the process to the others", async () => {
  const entry = await guard("each:if (command !== 'hang') say({ id: call.id });");
  await run([entry]);
  const abort = new AbortController();
  const hanging = run([entry], "hang", { signal: abort.signal });
  await delay(50);
  abort.abort();
  expect(await hanging).toMatchObject({ decision: "deny" });
  expect(await run([entry])).toEqual({ decision: "none" });
  expect(await at.starts()).toHaveLength(1);
});

test("what a one-shot hook of the same chain leaves is swept, and the persistent guard is not", async () => {
  const entry = await guard(DENY);
  const oneShot = commandEntryOf(["/bin/sh", "-c", "sleep 1000 &"]);
  await run([entry, oneShot]);
  await run([entry, oneShot]);
  expect(steps.map(({ leftovers }) => leftovers)).toEqual([0, 1, 0, 1]);
  expect(await at.starts()).toHaveLength(1);
});

test("the end of the session ends it, and no call starts another", async () => {
  const entry = await guard(DENY);
  await run([entry]);
  await closeChainSession(session);
  await isReaped((await at.starts())[0] as number);
  expect(existsSync(`/proc/${(await at.starts())[0]}`)).toBe(false);
  expect(await run([entry])).toMatchObject({
    decision: "deny",
    reason: expect.stringContaining("its session is over"),
  });
  expect(await at.starts()).toHaveLength(1);
});
