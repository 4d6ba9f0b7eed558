// LSP requests, composites and sub-agents as tools: each behind the gate, by the same rules.

import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import {
  compositeTool,
  describeForModel,
  type LspConnection,
  lspTools,
  subAgentTool,
} from "../../../src/host/index.ts";
import { addContext, deny, rewrite } from "../../../src/profile/answer.ts";
import { makePlace, type Place } from "../../spawn/support.ts";
import { compileFake, deny as denyTool } from "../../testkit/support.ts";
import { echo, on, play } from "../support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

function connect(
  onRequest: (method: string, params: unknown) => unknown,
): LspConnection & { dispose(): void } {
  const [up, down] = [new PassThrough(), new PassThrough()];
  const server = createMessageConnection(new StreamMessageReader(up), new StreamMessageWriter(down));
  server.onRequest((method, params) => onRequest(method, params));
  server.listen();
  const client = createMessageConnection(new StreamMessageReader(down), new StreamMessageWriter(up));
  client.listen();
  return {
    sendRequest: (method, params) => client.sendRequest(method, params),
    dispose: () => {
      client.dispose();
      server.dispose();
    },
  };
}

test("LSP: a request goes through the gate, and its file URIs are paths that a guard sees", async () => {
  const requests: unknown[] = [];
  const connection = connect((method, params) => {
    requests.push([method, params]);
    return { contents: "string" };
  });
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", (envelope) => {
        seen.push([envelope.tool_name, envelope.tool_kind, envelope.tool_paths]);
        return (envelope.tool_paths as string[])[0] === "/etc/passwd"
          ? deny(envelope, "not that file")
          : undefined;
      }),
    ],
  });
  host.tools.registerAll(lspTools(connection, { server: "ts", methods: ["textDocument/hover"] }));
  const params = (uri: string) => ({ textDocument: { uri }, position: { line: 0, character: 0 } });
  expect(
    await host.tools.invoke("lsp__ts__textDocument_hover", params("file:///srv/a%20b.ts")),
  ).toMatchObject({
    status: "ok",
    result: { contents: "string" },
  });
  expect(await host.tools.invoke("lsp__ts__textDocument_hover", params("file:///etc/passwd"))).toMatchObject({
    status: "denied",
  });
  expect(requests).toEqual([["textDocument/hover", params("file:///srv/a%20b.ts")]]);
  expect(seen).toEqual([
    ["lsp__ts__textDocument_hover", "read", ["/srv/a b.ts"]],
    ["lsp__ts__textDocument_hover", "read", ["/etc/passwd"]],
  ]);
  connection.dispose();
});

test("LSP: a server's error is a failure, and methods that change files are edits and destructive", async () => {
  const connection = connect(() => {
    throw new Error("no symbol here");
  });
  const { host } = play();
  host.tools.registerAll(
    lspTools(connection, { server: "ts", methods: ["textDocument/rename", "textDocument/references"] }),
  );
  const hook = vi.fn();
  expect(await host.tools.invoke("lsp__ts__textDocument_references", {})).toMatchObject({
    status: "failed",
    stage: "run",
  });
  expect(await host.tools.invoke("lsp__ts__textDocument_rename", {})).toMatchObject({
    status: "denied",
    stage: "permission",
  });
  expect(hook).not.toHaveBeenCalled();
  connection.dispose();
});

test("LSP: only what was named is a tool, and a name that is none is refused", () => {
  const connection: LspConnection = { sendRequest: async () => null };
  expect(lspTools(connection, { server: "ts", methods: [] })).toEqual([]);
  expect(() => lspTools(connection, { server: "ts", methods: ["text document"] })).toThrow(
    "not the name of an LSP method",
  );
  expect(() => lspTools(connection, { server: "t s", methods: [] })).toThrow("server must be letters");
});

test("composite: each step is gated by itself", async () => {
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => deny(envelope, "no writing"), { matcher: "Write" })],
  });
  const read = echo(host, "Read");
  const written = echo(host, "Write");
  host.tools.register(
    compositeTool({
      name: "Copy",
      steps: [
        { tool: "Read", input: ({ from }) => ({ path: from ?? null }) },
        { tool: "Write", input: ({ to }, [content]) => ({ path: to ?? null, content: content as never }) },
      ],
    }),
  );
  const outcome = await host.tools.invoke("Copy", { from: "a", to: "b" });
  expect(describeForModel(outcome)).toBe("Copy failed: step 2, Write, was denied: no writing");
  expect({ read, written }).toEqual({ read: [{ path: "a" }], written: [] });
});

test("composite: results feed the steps behind them, and the last one is the result", async () => {
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => rewrite(envelope, { path: "b" }), { matcher: "Read" })],
  });
  echo(host, "Read");
  echo(host, "Write");
  host.tools.register(
    compositeTool({
      name: "Copy",
      steps: [
        { tool: "Read", input: () => ({ path: "a" }) },
        { tool: "Write", input: (_given, [content]) => ({ content: content as never }) },
      ],
    }),
  );
  expect(await host.tools.invoke("Copy", {})).toMatchObject({
    status: "ok",
    result: { echoed: { content: { echoed: { path: "b" } } } },
  });
  expect(() => compositeTool({ name: "None", steps: [] })).toThrow("needs a step");
});

test("sub-agent: spawnAgent as a tool, announced to the host, under hooks of its own", async () => {
  const script = { steps: [{ text: "trying", tools: [{ shell: "touch ran" }] }, { text: "done" }] };
  const hooks = await compileFake(place, { provider: "codex", script, handlers: { PreToolUse: denyTool } });
  const heard: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", ({ tool_name, tool_kind }) => void heard.push([tool_name, tool_kind])),
      on("SubagentStart", (envelope) => {
        heard.push(["start", envelope.agent_type]);
        return addContext(envelope, "be brief");
      }),
      on("SubagentStop", (envelope) => {
        heard.push(["stop", envelope.agent_type]);
        return deny(envelope, "the tests were not run");
      }),
    ],
  });
  host.tools.register(
    subAgentTool(host, { name: "Task", spawn: { hooks, cwd: place.cwd, baseEnv: place.env } }),
  );
  expect(await host.tools.invoke("Task", { prompt: "tidy" })).toMatchObject({
    status: "ok",
    result: { finalText: "done", blocked: "the tests were not run" },
  });
  expect(heard).toEqual([
    ["Task", "agent"],
    ["start", "codex"],
    ["stop", "codex"],
  ]);
});

test("sub-agent: a guard of kind:agent starts none", async () => {
  const hooks = await compileFake(place, { provider: "codex", script: { steps: [{ text: "done" }] } });
  const { host } = play({
    inProcess: [
      on("PreToolUse", (envelope) => deny(envelope, "no agents"), { matcher: "kind:agent" }),
      on("SubagentStart", () => {
        throw new Error("must not be reached");
      }),
    ],
  });
  host.tools.register(subAgentTool(host, { spawn: { hooks, cwd: place.cwd, baseEnv: place.env } }));
  expect(await host.tools.invoke("Task", { prompt: "tidy" })).toMatchObject({
    status: "denied",
    reason: "no agents",
  });
});

test("sub-agent: one that is refused is a failure, and its stop is announced all the same", async () => {
  const stopped = vi.fn();
  const hooks = await compileFake(place, {
    provider: "claude",
    script: { steps: [{ text: "done" }] },
    handlers: { agent_prompt: () => ({ decision: "block", reason: "not this prompt" }) },
  });
  const { host } = play({ inProcess: [on("SubagentStop", stopped)] });
  host.tools.register(subAgentTool(host, { spawn: { hooks, cwd: place.cwd, baseEnv: place.env } }));
  const outcome = await host.tools.invoke("Task", { prompt: "tidy" });
  expect(describeForModel(outcome)).toContain("not this prompt");
  expect(stopped).toHaveBeenCalledOnce();
});

test("sub-agent: a prompt that is none is denied by the tool's own schema", async () => {
  const hooks = await compileFake(place, { provider: "codex", script: { steps: [{ text: "done" }] } });
  const { host } = play();
  host.tools.register(subAgentTool(host, { spawn: { hooks, cwd: place.cwd } }));
  expect(await host.tools.invoke("Task", { prompt: "" })).toMatchObject({ status: "denied", stage: "input" });
});
