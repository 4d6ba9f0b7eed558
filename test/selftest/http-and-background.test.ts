// Self-tests and stock cases of guards behind an address, of hooks in the background, and of groups with a where.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeInvoked } from "../../src/cli/invoke.ts";
import { describeHooks } from "../../src/cli/list.ts";
import { describeGuard } from "../../src/cli/test.ts";
import {
  type HookDeclaration,
  type HookGroup,
  invokeHooks,
  isSound,
  type JsonObject,
  listHooks,
  testHooks,
} from "../../src/index.ts";
import { makeWorld, type World } from "../trust/support.ts";

let world: World;
const servers: Server[] = [];
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(async () => {
  await world.remove();
  for (const server of servers.splice(0)) {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
});

async function serve(answer: (envelope: JsonObject) => object): Promise<string> {
  const server = createServer(async (request, response) => {
    response.end(JSON.stringify(answer(JSON.parse(await text(request)))));
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/guard`;
}

const deny = { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "no" } };
const denyRm = ({ tool_command: command }: JsonObject) => (String(command).startsWith("rm ") ? deny : {});

const load = async (group: HookGroup, event = "PreToolUse") => {
  await world.declare("project", { [event]: [group] } as HookDeclaration);
  return world.load();
};
const testOne = async (group: HookGroup, event?: string) => {
  const [report] = await testHooks(await load(group, event));
  if (report === undefined) throw new Error("no report");
  return report;
};

test("a guard behind an address is shown the stock cases, and one that denies is sound", async () => {
  const report = await testOne({ hooks: [{ type: "http", url: await serve(denyRm) }] });
  expect([report.blocks, isSound(report)]).toEqual(["denies", true]);
  expect(report.rows.find(({ name }) => name === "rm -rf /")).toMatchObject({
    got: "deny",
    reason: "no",
    exit: "exit 0",
  });
  expect(describeGuard(report)[0]).toMatch(
    /^PreToolUse\[0\]\.hooks\[0\] {2}\* {2}POST http:\/\/127\.0\.0\.1:\d+\/guard/,
  );
});

test("one that never blocks is told apart, and that its words are not here", async () => {
  const report = await testOne({ hooks: [{ type: "http", url: await serve(() => ({})) }] });
  expect(report).toMatchObject({ blocks: "never_blocked", why: expect.stringContaining("on a server") });
});

test("its self-tests are asked, and its address is shown without a query's values", async () => {
  const url = `${await serve(denyRm)}?key=pl4nted`;
  const input = (command: string) => ({ tool_input: { command } });
  const selftest = [
    { input: input("rm x"), expect: "deny" as const },
    { input: input("ls"), expect: "allow" as const },
    { input: input("ls"), expect: "deny" as const },
  ];
  const report = await testOne({ hooks: [{ type: "http", url, selftest }] });
  expect(report.rows.map(({ passed }) => passed)).toEqual([true, true, false]);
  expect(JSON.stringify(report)).not.toContain("pl4nted");
});

test("a server that is not there has failed, and denied nothing", async () => {
  const url = await serve(() => ({}));
  const [server] = servers.splice(0);
  server?.close();
  await once(server as Server, "close");
  const report = await testOne({ hooks: [{ type: "http", url, selftest: [{ input: {}, expect: "deny" }] }] });
  expect(report).toMatchObject({ blocks: "failed", rows: [{ got: "failed", passed: false }] });
});

test("an async guard on a gate is asked its self-tests in its turn, blocks nothing, and no stock case is shown to it", async () => {
  const url = await serve(() => ({ additionalContext: "careful" }));
  const entry = { type: "http" as const, url, async: true };
  const own = await testOne({ hooks: [{ ...entry, selftest: [{ input: {}, expect: "context" }] }] });
  expect(own).toMatchObject({ blocks: "no_gate", rows: [{ got: "context", passed: true }] });
  expect(await testOne({ hooks: [entry] })).toMatchObject({ blocks: "no_gate", rows: [] });
});

test("a group's where picks among the stock cases, and a self-test that it does not want is not asked", async () => {
  const url = await serve(() => deny);
  const where = { tool_command: { $contains: "rm -rf" } };
  const stock = await testOne({ where, hooks: [{ type: "http", url }] });
  expect(stock.rows.map(({ name }) => name)).toEqual(["rm -rf /", "rm -rf ~", "rm -rf ."]);
  const selftest = [{ input: { tool_input: { command: "ls" } }, expect: "deny" as const }];
  const own = await testOne({ where, hooks: [{ type: "http", url, selftest }] });
  expect(own.rows).toMatchObject([
    { got: "allow", passed: false, reason: expect.stringContaining("with its where") },
  ]);
});

test("invoke waits for hooks in the background, shows them last, and lets them decide nothing", async () => {
  const url = await serve(() => deny);
  const loaded = await load({
    hooks: [
      { type: "http", url, async: true },
      { type: "http", url: await serve(() => ({})) },
    ],
  });
  const invoked = await invokeHooks("PreToolUse", loaded);
  expect(invoked).toMatchObject({
    verdict: { decision: "none" },
    steps: [
      { id: "PreToolUse[0].hooks[1]", got: "allow" },
      { id: "PreToolUse[0].hooks[0]", got: "allow", background: true, exit: "exit 0" },
    ],
  });
  expect(describeInvoked("PreToolUse", invoked)[1]).toContain("in the background");
});

test("list shows address, where, once and async", async () => {
  const where = { tool_name: "Bash" };
  const url = "https://guard.example/check?key=pl4nted";
  const loaded = await load({ where, hooks: [{ type: "http", url, once: true, async: true }] });
  const lines = describeHooks(await listHooks(loaded)).join("\n");
  expect(lines).toContain("POST https://guard.example/check?key=…");
  expect(lines).toContain('where {"tool_name":"Bash"}');
  expect(lines).toMatch(/ms, async, decides nothing, once, 0 self-test\(s\)$/m);
  expect(lines).not.toContain("pl4nted");
});

test("a gate on what a model is asked is shown no stock case: it has none", async () => {
  const url = await serve(() => ({}));
  expect(await testOne({ hooks: [{ type: "http", url }] }, "PreModelCall")).toMatchObject({
    rows: [],
    blocks: "not_shown",
  });
});
