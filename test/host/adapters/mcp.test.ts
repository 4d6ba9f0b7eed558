// Tools of a real MCP server, over a real client: they are not exempt from the gate.

import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type McpClient, registerMcpTools } from "../../../src/host/adapters/mcp.ts";
import { compileHostHooks } from "../../../src/host/index.ts";
import { deny, rewrite } from "../../../src/profile/answer.ts";
import { echo, on, play } from "../support.ts";

let dir: string;
let client: Client;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "bridle-mcp-test-"));
  client = new Client({ name: "test", version: "1" });
  const server = new URL("./mcp-server.mjs", import.meta.url).pathname;
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [server, join(dir, "ran")] }),
  );
});
afterEach(async () => {
  await client.close();
  await rm(dir, { recursive: true, force: true });
});

const ran = () =>
  existsSync(join(dir, "ran")) ? readFileSync(join(dir, "ran"), "utf8").trim().split("\n") : [];

test("MCP coverage: a guard of mcp tools denies a call, and the server never hears of it", async () => {
  const { host, receipts } = play({
    inProcess: [
      on("PreToolUse", (envelope) => deny(envelope, "not by this server"), { matcher: "mcp__files__.*" }),
    ],
    permission: { mode: "ALLOW" },
  });
  await registerMcpTools(host, client, { server: "files" });
  expect(await host.tools.invoke("mcp__files__remove", { path: "a" })).toMatchObject({
    status: "denied",
    stage: "PreToolUse",
    reason: "not by this server",
  });
  expect(ran()).toEqual([]);
  expect(receipts).toMatchObject([{ tool_name: "mcp__files__remove", decision: "deny" }]);
});

test("MCP coverage: every tool of the server is behind the gate, by kind:mcp of a declared command too", async () => {
  const hooks = await compileHostHooks(
    {
      PreToolUse: [
        { matcher: "kind:mcp", hooks: [{ type: "command", command: ["/bin/sh", "-c", "exit 2"] }] },
      ],
    },
    { cwd: dir },
  );
  const { host } = play({ hooks, permission: { mode: "ALLOW" } });
  const { names } = await registerMcpTools(host, client, { server: "files" });
  expect([...names].toSorted()).toEqual(["mcp__files__add_tool", "mcp__files__read", "mcp__files__remove"]);
  for (const name of names)
    expect(await host.tools.invoke(name, { path: "a" })).toMatchObject({
      status: "denied",
      stage: "PreToolUse",
    });
  expect(ran()).toEqual([]);
});

test("MCP coverage: a call that is admitted runs at the server, rewritten, and hooks see its result", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", (envelope) => rewrite(envelope, { path: "safe" })),
      on("PostToolUse", ({ tool_response, tool_kind }) => void seen.push([tool_kind, tool_response])),
    ],
  });
  await registerMcpTools(host, client, { server: "files" });
  expect(await host.tools.invoke("mcp__files__read", { path: "secret" })).toMatchObject({ status: "ok" });
  expect(ran()).toEqual(["read safe"]);
  expect(seen).toEqual([["mcp", expect.objectContaining({ content: [{ type: "text", text: "contents" }] })]]);
});

test("bypass: client.callTool itself asks no hook", async () => {
  const { host } = play({ inProcess: [on("PreToolUse", (envelope) => deny(envelope, "no"))] });
  await registerMcpTools(host, client, { server: "files" });
  await client.callTool({ name: "read", arguments: { path: "direct" } });
  expect(ran()).toEqual(["read direct"]);
});

test("a rewrite that the server's schema does not allow is denied before it is sent", async () => {
  const { host } = play({ inProcess: [on("PreToolUse", (envelope) => rewrite(envelope, { path: 7 }))] });
  await registerMcpTools(host, client, { server: "files" });
  expect(await host.tools.invoke("mcp__files__read", { path: "a" })).toMatchObject({
    status: "denied",
    stage: "input",
  });
  expect(ran()).toEqual([]);
});

test("a result that says isError is a failure, with the server's words", async () => {
  const heard: unknown[] = [];
  const { host } = play({
    inProcess: [on("PostToolUseFailure", ({ tool_response }) => void heard.push(tool_response))],
  });
  await registerMcpTools(host, client, { server: "files" });
  expect(await host.tools.invoke("mcp__files__read", { path: "gone" })).toMatchObject({
    status: "failed",
    stage: "run",
  });
  expect(heard).toEqual([{ error: "contents" }]);
});

test("a tool that its server calls destructive is one, and one that the program calls so", async () => {
  const { host } = play();
  await registerMcpTools(host, client, { server: "files", destructive: ["read"] });
  for (const name of ["mcp__files__remove", "mcp__files__read"])
    expect(await host.tools.invoke(name, { path: "a" })).toMatchObject({
      status: "denied",
      stage: "permission",
    });
  expect(ran()).toEqual([]);
});

test("refresh registers what a server has added", async () => {
  const { host } = play();
  const registration = await registerMcpTools(host, client, { server: "files" });
  expect(await host.tools.invoke("mcp__files__added", {})).toMatchObject({
    status: "failed",
    stage: "lookup",
  });
  await host.tools.invoke("mcp__files__add_tool", {});
  await registration.refresh();
  expect(registration.names).toContain("mcp__files__added");
  expect(await host.tools.invoke("mcp__files__added", {})).toMatchObject({ status: "ok" });
});

test("a list that breaks a rule registers nothing, and a refresh that does keeps what there was", async () => {
  const { host } = play();
  const tool = { name: "t", inputSchema: { type: "object" } };
  let tools: { name: string; inputSchema: Record<string, unknown> }[] = [tool, tool];
  const fake: McpClient = { listTools: async () => ({ tools }), callTool: async () => ({ content: [] }) };
  await expect(registerMcpTools(host, fake, { server: "x" })).rejects.toThrow(
    "mcp__x__t is registered already",
  );
  expect(host.tools.list()).toEqual([]);
  tools = [tool];
  const registration = await registerMcpTools(host, fake, { server: "x" });
  tools = [
    tool,
    { name: "broken", inputSchema: { type: "object", properties: { a: { type: "nonsense" } } } },
  ];
  await expect(registration.refresh()).rejects.toThrow();
  expect(host.tools.list().map(({ name }) => name)).toEqual(["mcp__x__t"]);
  await expect(registerMcpTools(host, fake, { server: "a b" })).rejects.toThrow("server must be letters");
});

test("a server that pages without end is given up", async () => {
  const { host } = play();
  const fake: McpClient = {
    listTools: async () => ({ tools: [], nextCursor: "more" }),
    callTool: async () => ({ content: [] }),
  };
  await expect(registerMcpTools(host, fake, { server: "x" })).rejects.toThrow("more than 1000 pages");
});

test("an MCP tool's name that another tool has is refused", async () => {
  const { host } = play();
  echo(host, "mcp__files__read");
  await expect(registerMcpTools(host, client, { server: "files" })).rejects.toThrow("registered already");
  expect(host.tools.list()).toHaveLength(1);
});
