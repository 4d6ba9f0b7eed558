// How runs end that the model or the caller's limits end, by name, on the real CLIs.

import { expect, it } from "vitest";
import type { SpawnOptions } from "../src/index.ts";
import type { ModelScript } from "../src/prove/script.ts";
import { BOTH, CLAUDE, CODEX, type Column, runUnguarded, shell } from "./support/harness.ts";

interface Ending {
  readonly name: string;
  readonly script: ModelScript;
  readonly options?: Partial<SpawnOptions>;
  readonly outcome: string;
  readonly reason: string | RegExp;
}

const SAY: ModelScript = [{ text: "never said" }];
const failing = (status: number): ModelScript => [{ ...SAY[0], fault: { kind: "status", status } }];
const refusing: ModelScript = ["no", "still no", "no"].map((text) => ({ text, fault: { kind: "refuse" } }));
const twoTurns: ModelScript = [{ tools: [shell("true")] }, { tools: [shell("true")] }];

async function settle(column: Column, { script, options, outcome, reason }: Ending) {
  const { result } = await runUnguarded({ column, script: () => script, options: () => options ?? {} });
  expect(result).toMatchObject({
    outcome,
    reason: reason instanceof RegExp ? expect.stringMatching(reason) : reason,
  });
}

it.each<Ending>([
  {
    name: "an API error that claude calls a success",
    script: failing(400),
    outcome: "failed",
    reason: "api_error",
  },
  {
    name: "a model that refuses, and again when asked to go on",
    script: refusing,
    outcome: "failed",
    reason: "refusal",
  },
  {
    name: "the limit of turns",
    script: twoTurns,
    options: { maxTurns: 1 },
    outcome: "failed",
    reason: "max_turns",
  },
  {
    name: "the limit of the budget",
    script: twoTurns,
    options: { extraArgs: ["--max-budget-usd=0.000001"] },
    outcome: "failed",
    reason: "budget_exhausted",
  },
  {
    name: "a login that is turned away again and again",
    script: failing(401),
    options: { deadlines: { wallMs: 3_000 } },
    outcome: "timed_out",
    reason: "wall",
  },
])("claude: $name", (ending) => settle(CLAUDE, ending));

it("claude: a model that refuses once goes on, and the run is a success", () =>
  settle(CLAUDE, { name: "", script: refusing.slice(0, 1), outcome: "success", reason: "completed" }));

it.each<Ending>([
  { name: "an API error", script: failing(400), outcome: "failed", reason: /scripted fault/ },
  {
    name: "a login that is turned away",
    script: failing(401),
    outcome: "failed",
    reason: /401 Unauthorized/,
  },
  {
    name: "a model that refuses: a turn that is called complete, without a word",
    script: refusing,
    outcome: "incomplete",
    reason: "the turn ended without a message",
  },
])("codex: $name", (ending) => settle(CODEX, ending));

it.each(BOTH)("$mode: a model that never answers", (column) =>
  settle(column, {
    name: "",
    script: [{ ...SAY[0], fault: { kind: "hang" } }],
    options: { deadlines: { idleMs: 2_000 } },
    outcome: "timed_out",
    reason: "idle",
  }),
);
