import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import type { Verdict } from "../../src/profile/verdict.ts";
import { createCallLedger } from "../../src/spawn/call-ledger.ts";

const call = (id: string, fields: object = {}) =>
  ({ tool_use_id: id, tool_kind: "shell", ...fields }) as unknown as Envelope;
const ADMIT: Verdict = { decision: "none" };
const DENY: Verdict = { decision: "deny", reason: "no" };

it("an admitted call is admitted and under way until its result is seen", () => {
  const ledger = createCallLedger();
  ledger.decide(call("a"), ADMIT);
  ledger.decide(call("b"), { decision: "rewrite", updatedInput: {}, grants: false });
  expect([ledger.isAdmitted("a"), ledger.isAdmitted("b"), ledger.underWay()]).toEqual([
    true,
    true,
    ["a", "b"],
  ]);
  ledger.end("a");
  expect([ledger.isAdmitted("a"), ledger.underWay()]).toEqual([true, ["b"]]);
});

it("a denied call is not admitted, not under way and no work", () => {
  const ledger = createCallLedger();
  ledger.decide(call("a"), DENY);
  expect([ledger.isAdmitted("a"), ledger.isDenied("a"), ledger.underWay(), ledger.working]).toEqual([
    false,
    true,
    [],
    0,
  ]);
});

it("only the main agent's shell, edit and MCP calls count as work that its stream shows", () => {
  const ledger = createCallLedger();
  for (const tool_kind of ["shell", "edit", "mcp", "read", "agent"])
    ledger.decide(call("x", { tool_kind }), ADMIT);
  ledger.decide(call("y", { agent_id: "sub" }), ADMIT);
  expect(ledger.working).toBe(3);
});

it("decisions are counted, whatever they are", () => {
  const ledger = createCallLedger();
  ledger.decide(call("a"), ADMIT);
  ledger.decide(call("b"), DENY);
  expect(ledger.decisions).toBe(2);
});

describe("a rewritten call", () => {
  const input = { command: "rm a", description: "x" };
  const rewritten = (updatedInput: JsonObject) => {
    const ledger = createCallLedger();
    ledger.decide(call("a", { tool_input: input }), { decision: "rewrite", updatedInput, grants: false });
    return ledger;
  };
  it.each<[string, JsonObject, boolean]>([
    ["that ran as it was asked for", input, true],
    ["of which the asked command alone is known to have run", { command: "rm a" }, true],
    ["that ran as the guard wanted it", { command: "true", description: "x" }, false],
    ["that ran as neither, which tells nothing", { command: "rm b" }, false],
    ["of which only what the guard left alone is known", { description: "x" }, false],
  ])("%s", (_what, ran, isOriginal) => {
    expect(rewritten({ command: "true", description: "x" }).ranOriginal("a", ran)).toBe(isOriginal);
  });

  it("to what it was is never the original", () => {
    expect(rewritten({ ...input }).ranOriginal("a", input)).toBe(false);
  });

  it("is known by its id", () => {
    expect(rewritten({ command: "true" }).ranOriginal("b", input)).toBe(false);
  });
});

it("a call is undecided from its question to the decision", () => {
  const ledger = createCallLedger();
  const envelope = (id: string) => ({ tool_use_id: id }) as unknown as Envelope;
  expect(ledger.isUndecided("a")).toBe(false);
  ledger.ask(envelope("a"));
  ledger.ask(envelope("b"));
  expect(ledger.isUndecided("a")).toBe(true);
  ledger.decide(envelope("a"), { decision: "none" });
  ledger.decide(envelope("b"), { decision: "deny", reason: "no" });
  expect([ledger.isUndecided("a"), ledger.isUndecided("b")]).toEqual([false, false]);
});
