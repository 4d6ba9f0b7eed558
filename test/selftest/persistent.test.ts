// Self-tests and invoke of persistent guards: asked as in a run, and no process is left.

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeHooks } from "../../src/cli/list.ts";
import { type HookEntry, invokeHooks, isSound, listHooks, testHooks } from "../../src/index.ts";
import { isAlive } from "../spawn/support.ts";
import { makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(async () => {
  const left = (await starts()).filter(isAlive);
  for (const pid of left) process.kill(pid, "SIGKILL");
  await world.remove();
  expect(left).toEqual([]);
});

const starts = async () =>
  existsSync(join(world.project, "starts"))
    ? (await readFile(join(world.project, "starts"), "utf8")).trim().split("\n").map(Number)
    : [];

async function load(body: string, more: Partial<HookEntry> = {}) {
  const path = join(world.project, "guard.mjs");
  await writeFile(
    path,
    `import { createInterface } from "node:readline";
     import { appendFileSync } from "node:fs";
     appendFileSync(${JSON.stringify(join(world.project, "starts"))}, process.pid + "\\n");
     const say = (word) => process.stdout.write(JSON.stringify(word) + "\\n");
     createInterface({ input: process.stdin }).on("line", (line) => { const call = JSON.parse(line); const { tool_command: command = "" } = call.envelope; ${body} });\n`,
  );
  const entry = {
    type: "command",
    command: [process.execPath, path],
    persistent: true,
    ...more,
  } as HookEntry;
  await world.declare("project", { PreToolUse: [{ matcher: "kind:shell", hooks: [entry] }] });
  return world.load();
}

const DENY_RM = "say({ id: call.id, ...(command.includes('rm ') ? { block: 'no rm' } : {}) });";

test("its self-tests and the stock cases are asked, each of a process of its own", async () => {
  const input = (command: string) => ({ tool_input: { command } });
  const selftest = [
    { input: input("rm x"), expect: "deny" as const },
    { input: input("ls"), expect: "allow" as const },
  ];
  const [own] = await testHooks(await load(DENY_RM, { selftest }));
  expect(own).toMatchObject({
    persistent: true,
    blocks: "denies",
    rows: [
      { got: "deny", reason: "no rm", exit: "answered", passed: true },
      { got: "allow", exit: "answered", passed: true },
    ],
  });
  expect(await starts()).toHaveLength(2);
  const [stock] = await testHooks(await load(DENY_RM));
  expect(stock !== undefined && isSound(stock)).toBe(true);
});

test("one that was written as a one-shot guard fails, and is not taken for one that lets everything through", async () => {
  const [report] = await testHooks(await load("process.exit(command.includes('rm ') ? 2 : 0);"));
  expect(report).toMatchObject({ blocks: "failed" });
  expect(report?.rows.every(({ failed }) => failed)).toBe(true);
});

test("one that ignores the end of its stdin is ended after each question", async () => {
  await testHooks(
    await load(`setInterval(() => {}, 1000); ${DENY_RM}`, {
      selftest: [{ input: { tool_input: { command: "rm x" } }, expect: "deny" }],
    }),
  );
  expect((await starts()).filter(isAlive)).toEqual([]);
});

test("invoke shows its answer, and list what it is", async () => {
  const loaded = await load(DENY_RM);
  const invoked = await invokeHooks("PreToolUse", loaded, { input: { tool_input: { command: "rm x" } } });
  expect(invoked).toMatchObject({
    verdict: { decision: "deny", reason: "no rm" },
    steps: [{ got: "deny", exit: "answered" }],
  });
  expect(describeHooks(await listHooks(loaded)).join("\n")).toContain("on_failure closed, persistent");
});
