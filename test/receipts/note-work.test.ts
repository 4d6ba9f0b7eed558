import { afterEach, beforeEach, expect, test } from "vitest";
import { noteWork } from "../../src/receipts/note-work.ts";
import type { ReceiptLine } from "../../src/receipts/receipt.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const WORK = ["turn", "tool_called", "tool_ended"];
const SCRIPT = { steps: [{ tools: [{ shell: "echo private > ran" }] }, { text: "private words" }] };

test.each(["claude", "codex"] as const)(
  "%s: a turn and its call, with names and nothing else",
  async (provider) => {
    const { seen } = await fakes.play(place, { provider, script: SCRIPT });
    const work = seen.receipts.filter(({ kind }) => WORK.includes(kind));
    expect(work.map(({ kind }) => kind)).toEqual(["turn", "tool_called", "tool_ended", "turn"]);
    expect(work).toMatchObject([
      { turn: 1, state: "started" },
      { tool_name: provider === "claude" ? "Bash" : "command_execution" },
      { denied: false, failed: false },
      { turn: 1, state: "ended", status: "ok" },
    ]);
    expect(JSON.stringify(work)).not.toContain("private");
  },
);

test("claude: a denied call is told as denied", async () => {
  const { seen } = await fakes.play(place, {
    provider: "claude",
    script: SCRIPT,
    handlers: { PreToolUse: fakes.deny },
  });
  expect(seen.receipts).toContainEqual(expect.objectContaining({ kind: "tool_ended", denied: true }));
});

test("names and ids of any length are cut", () => {
  const lines: ReceiptLine[] = [];
  const { note } = noteWork({ write: (line) => void lines.push(line) });
  note({ type: "tool_call", id: "i".repeat(5000), name: "n".repeat(5000), input: "private" });
  expect(lines).toEqual([{ kind: "tool_called", tool_name: "n".repeat(100), tool_use_id: "i".repeat(100) }]);
});

test("an end is noted once, of a call that was seen to begin", () => {
  const lines: ReceiptLine[] = [];
  const { note } = noteWork({ write: (line) => void lines.push(line) });
  const ended = { type: "tool_result", id: "c1", denied: false, isError: false, output: "private" } as const;
  note(ended);
  note({ type: "tool_call", id: "c1", name: "Bash", input: {} });
  note(ended);
  note(ended);
  expect(lines.map(({ kind }) => kind)).toEqual(["tool_called", "tool_ended"]);
});

test("the reason of a denial is told, redacted and cut", async () => {
  const reason = `no: planted-secret ${"x".repeat(1000)}`;
  const handler: fakes.Handler = () => ({
    hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: reason },
  });
  const { seen } = await fakes.play(place, {
    provider: "codex",
    script: SCRIPT,
    handlers: { PreToolUse: handler },
    options: { secrets: ["planted-secret"] },
  });
  const verdict = seen.receipts.find((line) => line.kind === "verdict" && line.decision === "deny");
  expect(verdict).toMatchObject({ reason: expect.stringMatching(/^no: \S+ x{400}/) });
  expect((verdict as { reason: string }).reason).toHaveLength(500);
  expect(JSON.stringify(seen.receipts)).not.toContain("planted-secret");
});
