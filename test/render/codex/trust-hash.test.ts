// The hash that lets codex run our hooks. The vectors are what `hooks/list` of codex 0.171.0 gave as `currentHash`.

import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { EVENT_NAMES, type EventName } from "../../../src/profile/events.ts";
import { hooksOverride, renderHooks, snakeCase, trustHash } from "../../../src/render/codex/hooks.ts";
import { makePlan } from "../support.ts";

const COMMAND =
  "/bin/sh '/run/x/s/shim' PreToolUse 65 GATE || { [ $? = 2 ] || echo 'é \"q\" \\ \t' >&2; exit 2; }";

test.each<[EventName, number, string]>([
  ["PreToolUse", 70, "e131f9a8b3aa61b44736e225bda95d95846d670adbbf656ddd52f7f2aa5109e2"],
  ["UserPromptSubmit", 70, "5f10012270d150f403bb5cc003ec9f0b8f4027b9e0d638d9f6efaa8f440c5c4d"],
  ["SessionEnd", 3, "e9dc4a8c7680b10a44ecfb1bbaed1ebb67fb123ba5e50e2326d98f1fea11add4"],
  ["Interrupt", 3, "0dcc7eaf2311f2b45d7895139659276ffb79b75951329274ea74c99c1e7c7e23"],
  ["SubagentStop", 1, "b98f19f6a39a14ad6471afdf4ceafd9f47ffdee3300ea5dccc7094bb93caddd2"],
])("of a %s hook is the one codex computes", (event, timeout, hash) => {
  expect(trustHash(event, { command: COMMAND, timeout })).toBe(`sha256:${hash}`);
});

function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([key, inner]) => `${JSON.stringify(key)}:${sortedJson(inner)}`).join(",")}}`;
}

test("is over compact JSON with sorted keys, whatever the command", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...EVENT_NAMES),
      fc.string({ unit: "binary" }),
      fc.integer({ min: 1, max: 9999 }),
      (event, command, timeout) => {
        const handler = { type: "command", timeout, command, async: false };
        const text = sortedJson({ hooks: [handler], event_name: snakeCase(event) });
        const hex = createHash("sha256").update(text).digest("hex");
        expect(trustHash(event, { command, timeout })).toBe(`sha256:${hex}`);
      },
    ),
  );
});

test("another command or timeout has another hash", () => {
  const hash = trustHash("Stop", { command: COMMAND, timeout: 5 });
  expect(trustHash("Stop", { command: `${COMMAND} `, timeout: 5 })).not.toBe(hash);
  expect(trustHash("Stop", { command: COMMAND, timeout: 6 })).not.toBe(hash);
  expect(trustHash("SubagentStop", { command: COMMAND, timeout: 5 })).not.toBe(hash);
});

test("each rendered hook is trusted by its own key, and nothing else is", () => {
  const hooks = renderHooks(makePlan("codex"), "/run/r/s/shim");
  const { state, ...tables } = hooksOverride(hooks);
  expect(Object.keys(tables)).toEqual(["PreToolUse", "Stop"]);
  expect(state).toEqual({
    "/<session-flags>/config.toml:pre_tool_use:0:0": { trusted_hash: hooks[0]?.trustedHash },
    "/<session-flags>/config.toml:stop:0:0": { trusted_hash: hooks[1]?.trustedHash },
  });
});
