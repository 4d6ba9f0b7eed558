import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/json.ts";
import { describeTool, toolKind } from "../../src/profile/tool.ts";

test.each([
  ["claude", "Bash", "shell"],
  ["claude", "PowerShell", "shell"],
  ["claude", "Grep", "read"],
  ["claude", "NotebookEdit", "edit"],
  ["claude", "WebFetch", "web"],
  ["claude", "Task", "agent"],
  ["claude", "mcp__git__push", "mcp"],
  ["claude", "apply_patch", "other"],
  ["claude", "collaborationspawn_agent", "other"],
  ["claude", "constructor", "other"],
  ["claude", "__proto__", "other"],
  ["codex", "Bash", "shell"],
  ["codex", "apply_patch", "edit"],
  ["codex", "view_image", "read"],
  ["codex", "web_search", "web"],
  ["codex", "collaborationspawn_agent", "agent"],
  ["codex", "wait_agent", "agent"],
  ["codex", "mcp__a__b", "mcp"],
  ["codex", "Write", "other"],
  ["codex", "toString", "other"],
] as const)("%s: %s is of kind %s", (provider, name, kind) => {
  expect(toolKind(name, provider)).toBe(kind);
});

test("a shell call tells its command", () => {
  expect(describeTool("Bash", { command: "ls" }, "claude")).toEqual({
    tool_kind: "shell",
    tool_command: "ls",
  });
});

test("an edit tells its path", () => {
  expect(describeTool("Write", { file_path: "/a", content: "" }, "claude")).toEqual({
    tool_kind: "edit",
    tool_paths: ["/a"],
  });
});

test("a patch tells every path, each once", () => {
  const command = [
    "*** Begin Patch",
    "*** Update File: a.txt",
    "*** Move to: b.txt\r",
    "@@",
    "-x",
    "+*** Add File: not one",
    "*** Delete File: c d.txt",
    "*** Update File: a.txt",
    "*** End Patch",
  ].join("\n");
  expect(describeTool("apply_patch", { command }, "codex")).toEqual({
    tool_kind: "edit",
    tool_paths: ["a.txt", "b.txt", "c d.txt"],
  });
});

test("an mcp call with a path field tells no path, because what it means is not known", () => {
  expect(describeTool("mcp__fs__read", { path: "/a" }, "codex")).toEqual({ tool_kind: "mcp" });
});

test.each([null, "x", ["x"], 3])("an input of %j is described by its kind alone", (input) => {
  expect(describeTool("Bash", input, "claude")).toEqual({ tool_kind: "shell" });
});

test("fields of another type are left out", () => {
  expect(describeTool("Bash", { command: ["ls"] }, "codex")).toEqual({ tool_kind: "shell" });
  expect(describeTool("Read", { file_path: 3 }, "claude")).toEqual({ tool_kind: "read" });
});

test("no name and no input makes it throw", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.jsonValue(),
      fc.constantFrom("claude" as const, "codex" as const),
      (name, input, provider) => {
        expect(describeTool(name, input as Json, provider).tool_kind).toBeTypeOf("string");
      },
    ),
  );
});

/** What claude 2.1.332 offers, as its first line says. A tool that is missing here is one whose kind nobody has thought about. */
const CLAUDE_TOOLS: Record<string, string> = {
  Task: "agent",
  Bash: "shell",
  CronCreate: "agent",
  CronDelete: "other",
  CronList: "other",
  Edit: "edit",
  EnterWorktree: "other",
  ExitWorktree: "other",
  ListAgents: "other",
  Monitor: "shell",
  NotebookEdit: "edit",
  Read: "read",
  ReportFindings: "other",
  ScheduleWakeup: "other",
  SendMessage: "agent",
  Skill: "other",
  TaskStop: "other",
  ToolSearch: "other",
  WebFetch: "web",
  WebSearch: "web",
  Workflow: "agent",
  Write: "edit",
};

describe("every tool of the pinned claude has the kind its guards expect", () => {
  test.each(Object.entries(CLAUDE_TOOLS))("%s is %s", (name, kind) => {
    expect(describeTool(name, {}, "claude").tool_kind).toBe(kind);
  });
});

test("a tool nobody has told us of that takes a command is a shell", () => {
  for (const provider of ["claude", "codex"] as const) {
    expect(describeTool("NewTool", { command: "rm x" }, provider)).toEqual({
      tool_kind: "shell",
      tool_command: "rm x",
    });
  }
});

test("a patch typed into the shell names its paths", () => {
  const command = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch\nEOF";
  expect(describeTool("Bash", { command }, "codex")).toEqual({
    tool_kind: "shell",
    tool_command: command,
    tool_paths: ["a.txt"],
  });
});
