// Order and composition of one chain: who runs when, what the next one sees, and what ends it.

import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { compileHostHooks, type HostHook } from "../../src/host/index.ts";
import { addContext, ask, deny, rewrite } from "../../src/profile/answer.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import { echo, on, play } from "./support.ts";

const made: string[] = [];
afterEach(async () => {
  for (const path of made.splice(0)) await rm(path, { recursive: true, force: true });
});

async function place(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "bridle-host-test-")));
  made.push(path);
  return path;
}

test("hooks run in ascending priority, the declared at 0 and before those in process, then as they were registered", async () => {
  const cwd = await place();
  await writeFile(join(cwd, "say.cjs"), "console.log(process.argv[2])");
  const command = (word: string) => ({
    type: "command" as const,
    command: [process.execPath, "say.cjs", word],
  });
  const hooks = await compileHostHooks(
    { SessionStart: [{ hooks: [command("declared 1"), command("declared 2")] }] },
    { cwd },
  );
  const say = (word: string, priority?: number): HostHook =>
    on("SessionStart", (envelope) => addContext(envelope, word), priority === undefined ? {} : { priority });
  const { host } = play({
    hooks,
    inProcess: [
      say("late", 10),
      say("a"),
      say("early", -5),
      say("b"),
      say("late too", 10),
      say("0 by name", 0),
    ],
  });
  const { context } = await host.runSessionStart({ source: "startup" });
  expect(context?.split("\n\n")).toEqual([
    "early",
    "declared 1",
    "declared 2",
    "a",
    "b",
    "0 by name",
    "late",
    "late too",
  ]);
  expect(host.describe().map(({ id, priority }) => `${priority} ${id}`)).toEqual([
    "-5 inProcess[2]",
    "0 SessionStart[0].hooks[0]",
    "0 SessionStart[0].hooks[1]",
    "0 inProcess[1]",
    "0 inProcess[3]",
    "0 inProcess[5]",
    "10 inProcess[0]",
    "10 inProcess[4]",
  ]);
});

test("any order of registration: sorted by priority, stable", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 12 }), async (priorities) => {
      const ran: number[] = [];
      const { host } = play({
        inProcess: priorities.map((priority, index) =>
          on("PreToolUse", () => void ran.push(index), { priority }),
        ),
      });
      echo(host);
      await host.tools.invoke("Echo", {});
      const expected = priorities
        .map((priority, index) => ({ priority, index }))
        .toSorted((one, other) => one.priority - other.priority || one.index - other.index);
      expect(ran).toEqual(expected.map(({ index }) => index));
    }),
    { numRuns: 60 },
  );
});

test("a modification feeds the next hook, and added context is appended in order", async () => {
  const saw: unknown[] = [];
  const add = (word: string): HostHook =>
    on("PreToolUse", (envelope) => {
      saw.push(envelope.tool_input);
      const answer = rewrite(envelope, {
        words: [...(envelope.tool_input as { words: string[] }).words, word],
      });
      return {
        hookSpecificOutput: { ...(answer.hookSpecificOutput as object), additionalContext: `added ${word}` },
      };
    });
  const { host } = play({ inProcess: [add("one"), add("two"), add("three")] });
  const ran = echo(host);
  const outcome = await host.tools.invoke("Echo", { words: [] });
  expect(saw).toEqual([{ words: [] }, { words: ["one"] }, { words: ["one", "two"] }]);
  expect(ran).toEqual([{ words: ["one", "two", "three"] }]);
  expect(outcome.context).toBe("added one\n\nadded two\n\nadded three");
});

test("a matcher of a later hook is tested against what an earlier one made of the call", async () => {
  const heard: string[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", (envelope) => rewrite(envelope, { command: "rm -rf /" })),
      on("PreToolUse", () => void heard.push("shell"), { matcher: "kind:shell" }),
    ],
  });
  host.tools.register({ name: "T", run: () => 1 });
  await host.tools.invoke("T", { text: "no command yet" });
  expect(heard).toEqual(["shell"]);
});

test.each<[string, HostHook]>([
  ["deny", on("PreToolUse", (envelope) => deny(envelope, "no"))],
  ["ask", on("PreToolUse", (envelope) => ask(envelope, "no"))],
  ["failure that is closed", on("PreToolUse", () => Promise.reject(new Error("no")))],
])("the first %s ends the chain", async (_name, first) => {
  const later: string[] = [];
  const { host } = play({ inProcess: [first, on("PreToolUse", () => void later.push("ran"))] });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("no"),
  });
  expect({ later, ran }).toEqual({ later: [], ran: [] });
});

test("the first block of a feedback event ends the chain, and the result stands", async () => {
  const later: string[] = [];
  const { host } = play({
    inProcess: [
      on("PostToolUse", (envelope) => deny(envelope, "look again")),
      on("PostToolUse", () => void later.push("ran")),
    ],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { a: 1 })).toMatchObject({ status: "ok", feedback: "look again" });
  expect({ later, ran }).toEqual({ later: [], ran: [{ a: 1 }] });
});

test("suppression is sticky: no later hook takes it back", async () => {
  const { host } = play({
    inProcess: [
      on("PreToolUse", () => ({ suppressOutput: true })),
      on("PreToolUse", () => ({ suppressOutput: false })),
    ],
  });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok", suppressed: true });
});

test("suppression of a hook behind the call counts too, and is nobody's otherwise", async () => {
  const { host } = play({
    inProcess: [on("PostToolUse", () => ({ suppressOutput: true }), { matcher: "Quiet" })],
  });
  echo(host, "Quiet");
  echo(host, "Loud");
  expect(await host.tools.invoke("Quiet", {})).toMatchObject({ suppressed: true });
  expect(await host.tools.invoke("Loud", {})).toMatchObject({ suppressed: false });
});

test("the same function twice in one event runs once, and again after a rewrite that it has not seen", async () => {
  const judged: unknown[] = [];
  const guard = ({ tool_input: input }: Envelope) => {
    judged.push(input);
    return undefined;
  };
  const twice = play({ inProcess: [on("PreToolUse", guard), on("PreToolUse", guard)] }).host;
  echo(twice);
  await twice.tools.invoke("Echo", { a: 1 });
  expect(judged.splice(0)).toEqual([{ a: 1 }]);
  const rewritten = play({
    inProcess: [
      on("PreToolUse", guard),
      on("PreToolUse", (envelope) => rewrite(envelope, { a: 2 })),
      on("PreToolUse", guard),
    ],
  }).host;
  echo(rewritten);
  await rewritten.tools.invoke("Echo", { a: 1 });
  expect(judged).toEqual([{ a: 1 }, { a: 2 }]);
});

test("the same function under another failure mode is another hook", async () => {
  let runs = 0;
  const guard = () => {
    runs += 1;
    return undefined;
  };
  const { host } = play({
    inProcess: [
      on("PreToolUse", guard, { onFailure: "open" }),
      on("PreToolUse", guard, { onFailure: "closed" }),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(runs).toBe(2);
});
