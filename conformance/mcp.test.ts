// A call to an MCP server is a tool call like any other: guarded by a `kind:mcp` matcher, on the real CLIs.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DENY, guardTools } from "./support/guards.ts";
import { ALL, CLAUDE, type Column, runGuarded, runUnguarded, type Site } from "./support/harness.ts";

const server = {
  command: process.execPath,
  args: [join(import.meta.dirname, "matrix", "touch-mcp-server.mjs")],
};

function callOf(column: Column, site: Site) {
  // codex offers the tool inside a namespace, classic models call it by that; code mode joins both.
  const name = column.mode === "codex" ? "mcp__files.touch" : "mcp__files__touch";
  return { kind: "raw", name, input: { path: site.at("touched.txt") }, id: "call_mcp" } as const;
}

describe.each(ALL)("$mode: an MCP server", (column) => {
  const spec = {
    column,
    script: (site: Site) => [{ tools: [callOf(column, site)] }],
    options: () => ({
      mcpServers: { files: server },
      ...(column === CLAUDE ? { allowedTools: ["mcp__files__touch"] } : {}),
    }),
  };

  it("is called when nobody guards it", async () => {
    const control = await runUnguarded(spec);
    expect(control.site.has("touched.txt")).toBe(true);
    expect(control.result.outcome).toBe("success");
  });

  it("is not called when a kind:mcp guard denies", async () => {
    const run = await runGuarded({ ...spec, declaration: guardTools(DENY, {}, "kind:mcp") });
    expect(run.site.has("touched.txt")).toBe(false);
    expect(run.told()).toContain("REASON-OF-THE-GUARD");
    expect(run.result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
  });

  it("is called past a guard for another kind", async () => {
    const run = await runGuarded({ ...spec, declaration: guardTools(DENY, {}, "kind:shell") });
    expect(run.site.has("touched.txt")).toBe(true);
  });
});
