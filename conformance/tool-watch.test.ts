// Calls that the CLI refuses by itself, or runs under a name of its own, are not taken for calls that ran past the guard.

import { expect, it } from "vitest";
import type { JsonObject } from "../src/index.ts";
import type { ToolUse } from "../src/prove/script.ts";
import { CLAUDE, CODEX, type Column, runGuarded } from "./support/harness.ts";

const raw = (name: string, input: JsonObject): ToolUse => ({ kind: "raw", name, input });

const CASES: [Column, string, ToolUse][] = [
  [CLAUDE, "an unknown tool", raw("Nope", {})],
  [CLAUDE, "an input of the wrong shape", raw("Bash", {})],
  [CLAUDE, "a tool the CLI answers itself", raw("ListAgents", {})],
  [CLAUDE, "a search for tools", raw("ToolSearch", { query: "select:WebFetch" })],
  [CLAUDE, "a tool that ends in an error", raw("EnterWorktree", {})],
  [CLAUDE, "a command that fails", { kind: "shell", command: "false" }],
  [CODEX, "an unknown tool", raw("nope", {})],
  [CODEX, "an image that is none", raw("view_image", { path: "/etc/hostname" })],
  [CODEX, "a goal in a session that is not kept", raw("create_goal", { objective: "x" })],
  [CODEX, "a command that fails", { kind: "shell", command: "false" }],
  [
    CODEX,
    "a patch typed into the shell",
    {
      kind: "shell",
      command: "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch\nEOF",
    },
  ],
  [
    CODEX,
    "a subagent that works",
    { kind: "agent", prompt: "go", script: [{ tools: [{ kind: "shell", command: "true" }] }] },
  ],
];

it.each(CASES.map(([column, what, tool]) => [column.mode, what, column, tool] as const))(
  "%s: %s leaves a guarded run a success",
  async (_mode, _what, column, tool) => {
    const { result } = await runGuarded({
      column,
      declaration: () => ({ PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] }),
      script: () => [{ tools: [tool] }],
    });
    expect(result).toMatchObject({ outcome: "success", hooks: { late: 0, failed: 0 } });
  },
);
