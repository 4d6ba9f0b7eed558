// Every key of a handler and of its group: what is kept, what is left out with a word, and what refuses the entry.

import { expect, test } from "vitest";
import { importHooks } from "../../src/import/import-hooks.ts";
import type { Provider } from "../../src/profile/events.ts";

function readOne(more: object, { group = {}, event = "Stop", provider = "claude" as Provider } = {}) {
  const handler = { type: "command", command: "ls", ...more };
  const text = JSON.stringify({ hooks: { [event]: [{ ...group, hooks: [handler] }] } });
  const { entries } = importHooks({ provider, path: "f", text, kind: "json" });
  expect(entries).toHaveLength(1);
  return entries[0] as (typeof entries)[number];
}

test.each([
  [{ enabled: false }, "enabled is false: a hook that is switched off is not imported live"],
  [{ enabled: "yes" }, 'enabled is "yes"'],
  [{ blocking: true }, 'unknown key "blocking": true; leaving it out could change what the hook does'],
  [{ env: { A: "b" } }, 'unknown key "env": an object'],
  [{ onFailure: "allow" }, 'onFailure is "allow"; only "block" has a meaning here'],
  [{ shell: "powershell" }, 'shell is "powershell"'],
  [{ type: "function" }, 'handler type "function" is unknown'],
  [{ type: 1 }, "handler type 1 is unknown"],
  [{ args: "x" }, 'args is "x", not a list of strings'],
  [{ args: ["x", 1] }, "args holds something that is no string"],
  [{ args: [" "] }, "must not be blank"],
  [{ args: ["a\0b"] }, "must not hold a NUL"],
  [{ args: ["{home}/x"] }, "has no escape"],
  [{ args: ["$CLAUDE_PROJECT_DIR/x"] }, "write ${CLAUDE_PROJECT_DIR} in its place"],
  [{ command: "ls ''" }, "must not be blank"],
  [{ timeout: null }, "timeout is null"],
  [
    { if: "Bash(ls)", async: 1, other: 2 },
    "if filter not supported; importing would widen the hook; async is 1, not true or false; unknown key",
  ],
])("a handler with %j is rejected", (more, reason) => {
  const entry = readOne(more);
  expect(entry).toMatchObject({ verdict: "rejected", reason: expect.stringContaining(reason) });
  expect(entry.wrap).toBeUndefined();
});

test.each([
  [{ enabled: false }, "enabled is false: a group that is switched off is not imported live"],
  [{ if: "x" }, "if filter not supported"],
  [{ command: "x" }, 'unknown key "command" on the group'],
  [{ matcher: ["Bash"] }, "matcher is a list, not a string"],
  [{ matcher: "Bash" }, "Stop has no subject to match"],
  [{ matcher: "kind:shell" }, "kind: is a word of Bridle"],
])("a group with %j rejects its handlers", (group, reason) => {
  expect(readOne({}, { group })).toMatchObject({
    verdict: "rejected",
    reason: expect.stringContaining(reason),
  });
});

test.each([
  [{ enabled: true }, "enabled: true left out"],
  [{ async: false }, "async: false left out"],
  [{ shell: "bash" }, "shell: bash left out: argv needs none"],
  [{ statusMessage: "hm" }, "statusMessage left out: words for a reader"],
  [{ onFailure: "block" }, "onFailure: block → on_failure: closed"],
])("a handler with %j is imported, and the step is named", (more, step) => {
  const entry = readOne(more);
  expect(entry.verdict).toBe("imported");
  expect(entry.translations).toContain(step);
});

test("onFailure: block is written, and nothing else is made up", () => {
  expect(readOne({ onFailure: "block", timeout: 2.5 }).entry).toEqual({
    type: "command",
    command: ["ls"],
    timeout: 2.5,
    on_failure: "closed",
    source: "imported:claude",
  });
});

test.each([
  ["agent_prompt", "claude", "is an event of Bridle; claude never fires it"],
  ["Interrupt", "claude", "claude has no event Interrupt, so this never ran"],
  ["Notification", "codex", "codex has no event Notification, so this never ran"],
  ["post_tool_use", "claude", "did you mean PostToolUse?"],
] as const)("the event %s of %s is rejected", (event, provider, reason) => {
  expect(readOne({}, { event, provider })).toMatchObject({
    verdict: "rejected",
    reason: expect.stringContaining(reason),
  });
});

test("codex knows no args, and they are not left out", () => {
  expect(readOne({ args: ["x"] }, { provider: "codex" })).toMatchObject({
    verdict: "rejected",
    reason: expect.stringContaining("codex knows no args"),
  });
});

test("a key that stands twice in a handler rejects it", () => {
  const text = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a","command":"b"}]}]}}';
  const { entries } = importHooks({ provider: "claude", path: "f", text, kind: "json" });
  expect(entries).toMatchObject([{ verdict: "rejected", reason: 'the key "command" stands twice' }]);
});

test("a timeout without an end is no timeout", () => {
  const text = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a","timeout":1e400}]}]}}';
  const { entries } = importHooks({ provider: "claude", path: "f", text, kind: "json" });
  expect(entries).toMatchObject([
    { verdict: "rejected", reason: expect.stringContaining("timeout is Infinity") },
  ]);
});

test("what stays literal in args is warned of", () => {
  const entry = readOne({ args: ["$OTHER", "~/x", "fine"] });
  expect(entry.entry?.command).toEqual(["ls", "$OTHER", "~/x", "fine"]);
  expect(entry.warnings.filter((warning) => warning.includes("nothing expands it"))).toHaveLength(2);
});
