import { expect, test } from "vitest";
import { chooseTransports, type TransportChoice } from "../../src/compiler/transports.ts";

const choose = (part: Partial<TransportChoice>) =>
  chooseTransports({
    provider: "claude",
    events: ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"],
    proven: ["PreToolUse", "PostToolUse", "UserPromptSubmit"],
    wanted: "auto",
    prove: "proven",
    ...part,
  });

test("an event goes over callbacks where that is proven and the agent can, else through the shim", () => {
  expect(choose({})).toEqual({
    transports: { SessionStart: "shim", UserPromptSubmit: "shim", PreToolUse: "callback", Stop: "shim" },
    issues: [],
  });
});

test("shim means the shim", () => {
  expect(Object.values(choose({ wanted: "shim" }).transports)).not.toContain("callback");
});

test("callbacks that are not proven for a declared event are refused", () => {
  const { issues } = choose({ wanted: "callbacks" });
  expect(issues).toMatchObject([
    { code: "provider_unproven", path: "transport", message: expect.stringContaining("Stop") },
  ]);
  expect(choose({ wanted: "callbacks", proven: ["PreToolUse", "Stop"] }).issues).toEqual([]);
});

test.each(["off", "not_needed"] as const)("without a proof (%s) they are taken on request alone", (prove) => {
  const without = { prove, proven: [] };
  expect(Object.values(choose(without).transports)).not.toContain("callback");
  expect(choose({ ...without, wanted: "callbacks" })).toMatchObject({
    transports: { PreToolUse: "callback", Stop: "callback", UserPromptSubmit: "shim" },
    issues: [],
  });
});

test("codex has none", () => {
  expect(Object.values(choose({ provider: "codex" }).transports)).not.toContain("callback");
  expect(choose({ provider: "codex", wanted: "callbacks" }).issues).toMatchObject([
    { code: "option_invalid", path: "transport" },
  ]);
});
