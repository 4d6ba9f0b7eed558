// Which LSP methods are edits, and which paths a guard is shown of their parameters.

import { expect, test } from "vitest";
import { type LspConnection, lspTools } from "../../../src/host/index.ts";
import type { JsonObject } from "../../../src/json.ts";
import { on, play } from "../support.ts";

const connection: LspConnection = { sendRequest: async (method, params) => ({ method, params }) };

test.each([
  "textDocument/rename",
  "textDocument/formatting",
  "textDocument/rangeFormatting",
  "textDocument/onTypeFormatting",
  "textDocument/codeAction",
  "codeAction/resolve",
  "workspace/executeCommand",
  "workspace/applyEdit",
  "workspace/willRenameFiles",
  "workspace/willCreateFiles",
  "workspace/willDeleteFiles",
  // Whatever a server calls its own.
  "shutdown",
  "$/progress",
  "rustAnalyzer/ssr",
])("%s is an edit, and destructive", (method) => {
  expect(lspTools(connection, { server: "ts", methods: [method] })).toMatchObject([
    { kind: "edit", destructive: true },
  ]);
});

test.each([
  "textDocument/hover",
  "textDocument/definition",
  "workspace/symbol",
  "callHierarchy/incomingCalls",
])("%s is a reading, and not destructive", (method) => {
  expect(lspTools(connection, { server: "ts", methods: [method] })).toMatchObject([
    { kind: "read", destructive: false },
  ]);
});

test("a method of three words is one word of a tool, and sent as it was named", async () => {
  const { host } = play();
  host.tools.registerAll(
    lspTools(connection, { server: "ts", methods: ["textDocument/semanticTokens/full"] }),
  );
  expect(await host.tools.invoke("lsp__ts__textDocument_semanticTokens_full", { a: 1 })).toMatchObject({
    result: { method: "textDocument/semanticTokens/full", params: { a: 1 } },
  });
});

test("every file of the parameters is shown to a guard, one that no path can be made of too", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [on("PreToolUse", ({ tool_paths }) => void seen.push(tool_paths))],
    permission: { mode: "ALLOW" },
  });
  host.tools.registerAll(lspTools(connection, { server: "ts", methods: ["workspace/willRenameFiles"] }));
  const params: JsonObject = {
    version: 3,
    files: [
      { oldUri: "file:///srv/a.ts", newUri: "file:///etc/cron.d/a" },
      { oldUri: "untitled:one", newUri: "file://elsewhere/share/b%20c" },
    ],
  };
  await host.tools.invoke("lsp__ts__workspace_willRenameFiles", params);
  expect(seen).toEqual([["/srv/a.ts", "/etc/cron.d/a", "file://elsewhere/share/b%20c"]]);
});
