// Lines as codex 0.171.0 wrote them (docs/providers/codex.md ), shortened to the fields that are read and a few beside them.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSessionLine } from "../../../src/render/codex/session-log.ts";

const response = (payload: object) =>
  JSON.stringify({ timestamp: "2026-11-30T08:28:21.498Z", ordinal: 9, type: "response_item", payload });
const completed = (item: object) =>
  JSON.stringify({
    timestamp: "2026-11-30T08:28:21.942Z",
    ordinal: 12,
    type: "event_msg",
    payload: { type: "item_completed", thread_id: "t", turn_id: "u", item, started_at_ms: 1 },
  });
const output = (text: unknown, type = "function_call_output") =>
  response({ type, id: "fco_1", call_id: "call_1", output: text });

describe("a call the model asked for", () => {
  it.each([
    [
      "of the shell",
      { type: "function_call", name: "exec_command", arguments: '{"cmd":"touch a","yield_time_ms":30000}' },
      { name: "exec_command", input: "touch a", isGuarded: true },
    ],
    [
      "of a patch",
      { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch" },
      { name: "apply_patch", input: "*** Begin Patch", isGuarded: true },
    ],
    [
      "of an MCP server",
      { type: "function_call", namespace: "mcp__files", name: "touch", arguments: '{"path":"p"}' },
      { name: "mcp__files.touch", input: '{"path":"p"}', isGuarded: true },
    ],
    [
      "of a code-mode cell, which fires no hook",
      { type: "custom_tool_call", name: "exec", input: "await tools.exec_command({})" },
      { name: "exec", input: "await tools.exec_command({})", isGuarded: false },
    ],
    [
      "that types",
      { type: "function_call", name: "write_stdin", arguments: '{"session_id":1,"chars":"ls\\n"}' },
      { name: "write_stdin", input: '{"session_id":1,"chars":"ls\\n"}', isGuarded: false, typed: "ls\n" },
    ],
    [
      "that only looks",
      { type: "function_call", name: "write_stdin", arguments: '{"session_id":1,"chars":""}' },
      { name: "write_stdin", input: '{"session_id":1,"chars":""}', isGuarded: false, typed: "" },
    ],
  ])("%s", (_what, payload, fact) => {
    const line = response({ id: "fc_1", call_id: "call_1", ...payload });
    expect(readSessionLine(line)).toEqual({ kind: "called", id: "call_1", ...fact });
  });

  it("has a long input cut", () => {
    const fact = readSessionLine(
      response({ type: "custom_tool_call", call_id: "c", name: "exec", input: "x".repeat(5000) }),
    );
    expect(fact).toMatchObject({ input: `${"x".repeat(160)}…` });
  });
});

describe("a call's result says", () => {
  it.each([
    ["ran", "Chunk ID: dd9413\nWall time: 0.2571 seconds\nProcess exited with code 0\nOutput:\n"],
    [
      "ran",
      "Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nSuccess. Updated the following files:\nA a.txt\n",
    ],
    ["ran", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."],
    [
      "ran",
      [
        { type: "input_text", text: "Wall time: 0.0031 seconds\nOutput:" },
        { type: "input_text", text: "touched" },
      ],
    ],
    // What a tool prints comes behind codex's own head.
    ["ran", "Chunk ID: dd9413\nOutput:\nCommand blocked by PreToolUse hook: no"],
    ["denied", "Command blocked by PreToolUse hook: not today. Command: touch a"],
    ["refused", "failed to parse function arguments: missing field `cmd` at line 1 column 20"],
    ["refused", "unsupported call: nope"],
    [
      "refused",
      "apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'",
    ],
    [
      "refused",
      "write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open",
    ],
    ["refused", "TTY execution is disabled by config; omit `tty` or set it to false."],
    ["refused", 'exec_command failed: CreateProcess { message: "Rejected(…)" }'],
    ["aborted", "Wall time: 0.7 seconds\naborted by user"],
    ["ran", "Wall time: 0.7 seconds\nOutput:\naborted by user"],
    ["ran", "Wall time: 0.7 seconds\naborted by user\nand more"],
    ["unknown", "something else"],
    ["unknown", [{ type: "input_image" }]],
    ["unknown", null],
  ])("%s: %j", (how, text) => {
    expect(readSessionLine(output(text))).toEqual({ kind: "returned", id: "call_1", how });
    expect(readSessionLine(output(text, "custom_tool_call_output"))).toMatchObject({ how });
  });
});

describe("an item that was carried out", () => {
  it.each([
    [
      { type: "CommandExecution", command: ["/bin/bash", "-lc", "touch a"], source: "unified_exec_startup" },
      { name: "CommandExecution", input: "touch a", command: "touch a" },
    ],
    [
      { type: "FileChange", changes: { "/srv/a": { type: "add", content: "x" } } },
      { name: "FileChange", input: '["/srv/a"]' },
    ],
    [
      { type: "McpToolCall", server: "files", tool: "touch", arguments: { path: "p" } },
      { name: "McpToolCall", input: '["files","touch",{"path":"p"}]' },
    ],
  ])("is told with its call id: %j", (item, fact) => {
    const id = "exec-69d4ca11-fe3b-4214-a0f2-c73437946b0d";
    expect(readSessionLine(completed({ id, status: "completed", ...item }))).toEqual({
      kind: "ran",
      id,
      ...fact,
    });
  });
});

describe("nothing is read from", () => {
  it.each([
    ["a message", completed({ type: "AgentMessage", id: "m", content: [] })],
    ["a subagent's start", completed({ type: "SubAgentActivity", id: "s" })],
    ["what was typed", completed({ type: "CommandExecution", id: "w", source: "unified_exec_interaction" })],
    [
      "a user's text that looks like a record",
      response({ type: "message", role: "user", content: output("Chunk ID:") }),
    ],
    ["a line that was cut", output("Chunk ID: 1").slice(0, -5)],
    ["a call without an id", response({ type: "function_call", name: "exec_command", arguments: "{}" })],
  ])("%s", (_what, line) => {
    expect(readSessionLine(line)).toBeUndefined();
  });

  it("whatever a line holds, without throwing", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        readSessionLine(text);
        readSessionLine(
          `{"type":"response_item","payload":{"type":"function_call","call_id":"c","arguments":${JSON.stringify(text)}}}`,
        );
        readSessionLine(
          `{"type":"event_msg","payload":{"type":"item_completed","item":${JSON.stringify(text)}}}`,
        );
      }),
    );
  });
});
