// A guard behind an address, asked by a host: real requests to a real server on loopback.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compileHostHooks, createHookHost } from "../../src/host/index.ts";
import { echo, play } from "./support.ts";

interface Seen {
  readonly method: string | undefined;
  readonly authorization: string | undefined;
  readonly body: { tool_name?: string; hook_event_name?: string };
}

let server: Server;
let seen: Seen[];
let answer: { status: number; body: string };
beforeEach(async () => {
  seen = [];
  answer = { status: 200, body: "" };
  server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    seen.push({ method: request.method, authorization: request.headers.authorization, body });
    response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => new Promise<void>((resolve) => void server.close(() => resolve())));

const compile = (more: object = {}) =>
  compileHostHooks(
    {
      PreToolUse: [
        {
          where: { tool_input: { command: { $contains: "rm" } } },
          hooks: [
            {
              type: "http",
              url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/guard`,
              headers: { authorization: "env:GUARD_AUTH" },
              ...more,
            },
          ],
        },
      ],
    },
    { cwd: process.cwd() },
  );

const env = { ...process.env, GUARD_AUTH: "Bearer very-secret-word" };

test("it is asked by POST with the envelope, denies, and its header is written nowhere", async () => {
  const specific = {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "not that",
  };
  answer = { status: 200, body: JSON.stringify({ hookSpecificOutput: specific }) };
  const { host, receipts } = play({ hooks: await compile(), env });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { command: "rm x" })).toMatchObject({
    status: "denied",
    reason: "not that",
  });
  expect(seen).toMatchObject([
    {
      method: "POST",
      authorization: "Bearer very-secret-word",
      body: { hook_event_name: "PreToolUse", tool_name: "Echo" },
    },
  ]);
  expect(receipts).toMatchObject([{ hook_type: "http", decision: "deny", status: "ok" }]);
  expect(JSON.stringify([receipts, host.describe()])).not.toContain("very-secret-word");
  expect(ran).toEqual([]);
});

test("what it says of its credential reaches no model", async () => {
  const specific = { hookEventName: "PreToolUse", additionalContext: "you sent very-secret-word" };
  answer = { status: 200, body: JSON.stringify({ hookSpecificOutput: specific }) };
  const { host } = play({ hooks: await compile(), env });
  echo(host);
  expect(await host.tools.invoke("Echo", { command: "rm x" })).toMatchObject({
    status: "ok",
    context: "you sent [redacted]",
  });
});

test("a rewrite that holds its credential is denied, as it is in a run", async () => {
  const specific = { hookEventName: "PreToolUse", updatedInput: { command: "curl -H very-secret-word" } };
  answer = { status: 200, body: JSON.stringify({ hookSpecificOutput: specific }) };
  const { host } = play({ hooks: await compile(), env });
  const ran = echo(host);
  const outcome = await host.tools.invoke("Echo", { command: "rm x" });
  expect(outcome).toMatchObject({ status: "denied", stage: "PreToolUse" });
  expect(JSON.stringify(outcome)).not.toContain("very-secret-word");
  expect(ran).toEqual([]);
});

test("a call that where does not want makes no request and leaves no receipt", async () => {
  const { host, receipts } = play({ hooks: await compile(), env });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", { command: "ls" })).toMatchObject({ status: "ok" });
  expect({ seen, receipts }).toEqual({ seen: [], receipts: [] });
  expect(ran).toHaveLength(1);
});

test("an answer of 500 denies, and admits where the entry is open; a server that is gone does the same", async () => {
  answer = { status: 500, body: "no" };
  const closed = play({ hooks: await compile(), env }).host;
  const open = play({ hooks: await compile({ on_failure: "open" }), env }).host;
  for (const host of [closed, open]) echo(host);
  const call = async () => [
    (await closed.tools.invoke("Echo", { command: "rm x" })).status,
    (await open.tools.invoke("Echo", { command: "rm x" })).status,
  ];
  expect(await call()).toEqual(["denied", "ok"]);
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeAllConnections();
  expect(await call()).toEqual(["denied", "ok"]);
});

test("a header whose variable is not set refuses the host", async () => {
  const hooks = await compile();
  expect(() => createHookHost({ hooks, env: {} })).toThrow("GUARD_AUTH");
});
