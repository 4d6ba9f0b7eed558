import fc from "fast-check";
import { expect, test } from "vitest";
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
