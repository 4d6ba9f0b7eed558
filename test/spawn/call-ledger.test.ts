import { expect, it } from "vitest";
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
