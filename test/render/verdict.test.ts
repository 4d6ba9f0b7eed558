import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { EVENT_NAMES, EVENTS } from "../../src/profile/events.ts";
import { adapterFor } from "../../src/render/registry.ts";

const DENY = { decision: "deny", reason: " no " } as const;
const FIRED = (provider: "claude" | "codex") =>
  EVENT_NAMES.filter((event) => EVENTS[event][provider].fires && !("ours" in EVENTS[event]));
const HARD = ["PreToolUse", "UserPromptSubmit"];

describe.each(["claude", "codex"] as const)("%s", (provider) => {
  const { encodeVerdict } = adapterFor(provider);
  const specific = (stdout: string) => JSON.parse(stdout).hookSpecificOutput;

  test.each(FIRED(provider))("%s: no decision prints nothing", (event) => {
    expect(encodeVerdict(event, { decision: "none" })).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test.each(FIRED(provider))("%s: context is additionalContext", (event) => {
    const { code, stdout } = encodeVerdict(event, { decision: "none", context: "c" });
    expect({ code, specific: specific(stdout) }).toEqual({
      code: 0,
      specific: { hookEventName: event, additionalContext: "c" },
    });
  });

  test.each(FIRED(provider).filter((event) => HARD.includes(event)))(
    "%s: a deny is exit 2 with its reason on stderr",
    (event) => {
      expect(encodeVerdict(event, DENY)).toMatchObject({ code: 2, stderr: "no" });
    },
  );

  test.each(FIRED(provider).filter((event) => !HARD.includes(event) && event !== "PermissionRequest"))(
    "%s: a deny is a block with exit 0",
    (event) => {
      const { code, stdout } = encodeVerdict(event, DENY);
      expect({ code, answer: JSON.parse(stdout) }).toEqual({
        code: 0,
        answer: { decision: "block", reason: "no" },
      });
    },
  );

  test("a deny of a tool call says so in JSON too", () => {
    expect(specific(encodeVerdict("PreToolUse", DENY).stdout)).toEqual({
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: "no",
    });
  });

  test("a blank reason is never printed", () => {
    expect(encodeVerdict("PreToolUse", { decision: "deny", reason: " " }).stderr).toBe("denied");
  });

  const rewrite = { decision: "rewrite", updatedInput: { command: "ls" }, grants: false } as const;
  test("a rewrite carries the whole input", () => {
    expect(specific(encodeVerdict("PreToolUse", rewrite).stdout)).toEqual({
      hookEventName: "PreToolUse",
      updatedInput: { command: "ls" },
      ...(provider === "codex" ? { permissionDecision: "allow" } : {}),
    });
  });
});

test("claude: allow is printed", () => {
  expect(adapterFor("claude").encodeVerdict("PreToolUse", { decision: "allow" }).stdout).toContain('"allow"');
});

test("claude: a rewrite that grants is allowed with it", () => {
  const verdict = { decision: "rewrite", updatedInput: {}, grants: true } as const;
  expect(adapterFor("claude").encodeVerdict("PreToolUse", verdict).stdout).toContain('"allow"');
});

test("claude: a permission request is denied by its behavior", () => {
  const { stdout } = adapterFor("claude").encodeVerdict("PermissionRequest", DENY);
  expect(JSON.parse(stdout).hookSpecificOutput.decision).toEqual({ behavior: "deny", message: "no" });
});

test("codex: allow prints nothing", () => {
  expect(adapterFor("codex").encodeVerdict("PreToolUse", { decision: "allow" }).stdout).toBe("");
});

test.each<JsonObject>([{}, { command: ["ls"] }, { cmd: "ls" }])(
  "codex: the rewrite %j would run the original, so it denies",
  (updatedInput) => {
    const verdict = { decision: "rewrite", updatedInput, grants: false } as const;
    expect(adapterFor("codex").encodeVerdict("PreToolUse", verdict).code).toBe(2);
  },
);
