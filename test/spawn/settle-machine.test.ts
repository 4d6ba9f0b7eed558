// The life of a run under every order of events that could be thought of: exactly one agent_exit, never before the tree is gone, never
// success without final message, clean exit and attestation, and always an end.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunFacts, StopCause } from "../../src/spawn/settle.ts";
import {
  type DeadlineName,
  type Effect,
  type Evidence,
  NOT_STARTED,
  type RunEvent,
  type RunState,
  reduceRun,
} from "../../src/spawn/settle-machine.ts";

const RUNS = 10_000;

const CLEAN: Evidence = { isPromptDenied: false, faults: [], doubts: [] };
const GONE = { state: "proven", method: "pidns", survivors: [] } as const;
const OK = { status: "ok", reason: "completed" } as const;

const exited = (code: number | null, signal: NodeJS.Signals | null = null): RunEvent => ({
  type: "exited",
  exit: { code, signal },
});
const said = (message: NonNullable<RunFacts["finalMessage"]> = OK): RunEvent => ({
  type: "final_message",
  message,
});
const wholeOutput: RunEvent = { type: "output_ended", isTruncated: false };
const expired = (name: DeadlineName): RunEvent => ({ type: "deadline", name });
const ended = (cause: StopCause): RunEvent => ({ type: "end", cause });
const refused: RunEvent = {
  type: "start_failed",
  settlement: { outcome: "refused", reason: "attestation_failed" },
};
const start: RunEvent[] = [{ type: "spawned" }, { type: "attested" }, { type: "prompt_handed_over" }];
const finish: RunEvent[] = [
  { type: "tree_ended", extinction: GONE },
  { type: "closed", evidence: CLEAN },
  { type: "delivered" },
];

function live(events: readonly RunEvent[]): { state: RunState; effects: Effect[] } {
  let state = NOT_STARTED;
  const effects: Effect[] = [];
  for (const event of events) {
    const step = reduceRun(state, event);
    state = step.state;
    effects.push(...step.effects);
  }
  return { state, effects };
}

const names = (effects: readonly Effect[]) =>
  effects.map((effect) => ("deadline" in effect ? `${effect.type} ${effect.deadline}` : effect.type));
const deeds = (effects: readonly Effect[]) => names(effects).filter((name) => !/^(?:arm|disarm) /.test(name));

describe("a life settles by name", () => {
  it.each<[string, RunEvent[], string, string]>([
    ["a good run", [said(), exited(0), wholeOutput], "success", "completed"],
    ["output that ends before the exit", [said(), wholeOutput, exited(0)], "success", "completed"],
    ["no final message", [exited(0), wholeOutput], "incomplete", "exited 0 without a final message"],
    [
      "a last line that was cut",
      [said(), exited(0), { type: "output_ended", isTruncated: true }],
      "incomplete",
      "output_truncated",
    ],
    [
      "the pipe held by a descendant",
      [said(), exited(0), expired("drain"), wholeOutput],
      "success",
      "completed",
    ],
    [
      "a blocked prompt",
      [said({ status: "prompt_blocked", reason: "" }), exited(0), wholeOutput],
      "prompt_blocked",
      "the agent reports a blocked prompt; no hook of this run denied it",
    ],
    [
      "an error told as a success",
      [said({ status: "error", reason: "api_error" }), exited(0), wholeOutput],
      "failed",
      "api_error",
    ],
    [
      "a line after a good message that was too long to be read",
      [said(), { type: "line_lost" }, exited(0), wholeOutput],
      "incomplete",
      "exited 0 without a final message",
    ],
    [
      "an error after a good message",
      [said(), said({ status: "error", reason: "max_turns" }), exited(0), wholeOutput],
      "failed",
      "max_turns",
    ],
    [
      "a good message after an error",
      [said({ status: "error", reason: "x" }), said(), exited(0), wholeOutput],
      "success",
      "completed",
    ],
    ["a message that is read only after the exit", [exited(0), said(), wholeOutput], "success", "completed"],
    [
      "a hang after the final message",
      [said(), expired("linger"), expired("stop"), exited(null, "SIGKILL"), wholeOutput],
      "success",
      "lingered",
    ],
    ["silence", [expired("idle"), exited(143), wholeOutput], "timed_out", "idle"],
    ["a retry loop without an end", [expired("wall"), exited(143), wholeOutput], "timed_out", "wall"],
    ["an exit before stdin was read", [exited(1), wholeOutput], "failed", "spawn_exited_early: exit 1"],
    [
      "a stop",
      [ended({ kind: "stopped", reason: "enough" }), exited(143), wholeOutput],
      "interrupted",
      "enough",
    ],
    [
      "an abort after a final message",
      [said(), ended({ kind: "aborted", reason: "aborted" }), exited(0), wholeOutput],
      "interrupted",
      "aborted",
    ],
    [
      "an interrupt that the agent reports",
      [{ type: "interrupt" }, said({ status: "interrupted", reason: "by user" }), exited(0), wholeOutput],
      "interrupted",
      "by user",
    ],
    [
      "an interrupt that it just follows",
      [{ type: "interrupt" }, exited(1), wholeOutput],
      "interrupted",
      "interrupt",
    ],
    [
      "an interrupt that it ignores",
      [{ type: "interrupt" }, expired("interruptGrace"), exited(143), wholeOutput],
      "interrupted",
      "interrupt",
    ],
    [
      "hooks that are cut off by a stop",
      [
        ended({ kind: "stopped", reason: "x" }),
        ended({ kind: "unenforced", reason: "late" }),
        exited(null, "SIGKILL"),
        wholeOutput,
      ],
      "interrupted",
      "x",
    ],
    [
      "a guard that is not in force while the agent lingers",
      [
        said(),
        expired("linger"),
        ended({ kind: "unenforced", reason: "unasked" }),
        exited(null, "SIGKILL"),
        wholeOutput,
      ],
      "unenforced",
      "unasked",
    ],
    [
      "a guard that was not in force, seen after the exit",
      [said(), exited(0), ended({ kind: "unenforced", reason: "unasked" }), wholeOutput],
      "unenforced",
      "unasked",
    ],
    [
      "a stop after the exit",
      [said(), exited(0), ended({ kind: "stopped", reason: "x" }), wholeOutput],
      "success",
      "completed",
    ],
    [
      "KILL that the kernel does not carry out",
      [ended({ kind: "stopped", reason: "x" }), expired("stop"), expired("reap")],
      "interrupted",
      "x",
    ],
  ])("%s", (_name, events, outcome, reason) => {
    const { state } = live([...start, ...events, ...finish]);
    expect(state).toMatchObject({ phase: "settled", settlement: { outcome, reason } });
  });

  it("a start that fails before a child exists, and after", () => {
    expect(live([refused, ...finish]).state).toMatchObject({
      phase: "settled",
      settlement: { outcome: "refused" },
    });
    const { state, effects } = live([{ type: "spawned" }, refused, exited(null, "SIGKILL"), ...finish]);
    expect(state).toMatchObject({ phase: "settled", settlement: { outcome: "refused" } });
    expect(deeds(effects)).toEqual(["kill", "end_tree", "close", "fire_exit"]);
  });

  it("what came first counts, of two failed starts and of two ends of the output", () => {
    const again: RunEvent = { type: "start_failed", settlement: { outcome: "failed", reason: "again" } };
    expect(live([refused, again, ...finish]).state.settlement).toMatchObject({ outcome: "refused" });
    const cut: RunEvent = { type: "output_ended", isTruncated: true };
    expect(live([...start, said(), wholeOutput, cut, exited(0), ...finish]).state.settlement).toMatchObject({
      outcome: "success",
    });
  });

  it("an agent that is gone before it is known whether it was attested waits for that", () => {
    const gone = live([{ type: "spawned" }, exited(0), wholeOutput, ...finish.slice(0, 2)]);
    expect(gone.state.phase).toBe("closing");
    const { state } = live([{ type: "spawned" }, exited(0), wholeOutput, ...finish.slice(0, 2), refused]);
    expect(state).toMatchObject({ phase: "exiting", settlement: { outcome: "refused" } });
  });
});

describe("an end is carried out in order", () => {
  it("clean stop, SIGTERM, KILL", () => {
    const { effects } = live([
      ...start,
      ended({ kind: "stopped", reason: "x" }),
      expired("interruptGrace"),
      expired("stop"),
      exited(null, "SIGKILL"),
      wholeOutput,
      ...finish,
    ]);
    expect(deeds(effects)).toEqual([
      "ask_to_stop",
      "terminate",
      "kill",
      "drain",
      "end_tree",
      "close",
      "fire_exit",
    ]);
  });

  it("no grace for an agent whose guard is not in force", () => {
    const { effects } = live([...start, ended({ kind: "unenforced", reason: "x" })]);
    expect(deeds(effects)).toEqual(["kill"]);
  });

  it("the linger is counted from the last final message, and a turn that was interrupted has it too", () => {
    const { effects } = live([...start, { type: "interrupt" }, said(), said()]);
    expect(names(effects).slice(2)).toEqual([
      "ask_to_stop",
      "arm interruptGrace",
      "disarm interruptGrace",
      "close_input",
      "arm linger",
      "disarm interruptGrace",
      "close_input",
      "arm linger",
    ]);
  });

  it("a second stop asks for nothing again", () => {
    const stop = ended({ kind: "stopped", reason: "x" });
    expect(deeds(live([...start, stop, stop, { type: "interrupt" }]).effects)).toEqual(["ask_to_stop"]);
  });
});

const cause: fc.Arbitrary<StopCause> = fc.constantFrom<StopCause>(
  { kind: "stopped", reason: "stopped" },
  { kind: "aborted", reason: "aborted" },
  { kind: "unenforced", reason: "unasked" },
  { kind: "hook_loop", reason: "stop_hook_loop" },
);
const message = fc.record({
  status: fc.constantFrom(
    "ok" as const,
    "ok" as const,
    "error" as const,
    "prompt_blocked" as const,
    "interrupted" as const,
  ),
  reason: fc.constant("r"),
});
const exit = fc.constantFrom<{ code: number | null; signal: NodeJS.Signals | null }>(
  { code: 0, signal: null },
  { code: 0, signal: null },
  { code: 1, signal: null },
  { code: null, signal: "SIGKILL" },
);
const evidence: fc.Arbitrary<Evidence> = fc.record({
  isPromptDenied: fc.boolean(),
  faults: fc.constantFrom([], [], ["tampered: x"]),
  doubts: fc.constantFrom([], [], ["canary: missing"]),
});
const deadline = fc.constantFrom<DeadlineName>(
  "idle",
  "wall",
  "linger",
  "drain",
  "interruptGrace",
  "stop",
  "reap",
);
const anyEvent: fc.Arbitrary<RunEvent> = fc.oneof(
  fc.constantFrom<RunEvent>(
    { type: "spawned" },
    { type: "attested" },
    { type: "prompt_handed_over" },
    { type: "interrupt" },
    { type: "line_lost" },
    { type: "kill" },
    { type: "delivered" },
    { type: "tree_ended", extinction: GONE },
    refused,
    wholeOutput,
    { type: "output_ended", isTruncated: true },
  ),
  message.map(said),
  cause.map(ended),
  deadline.map(expired),
  exit.map((it): RunEvent => ({ type: "exited", exit: it })),
  evidence.map((it): RunEvent => ({ type: "closed", evidence: it })),
);

/** What may still come when everything is decided. */
const LATE: readonly RunEvent[] = [
  { type: "attested" },
  refused,
  said(),
  ended({ kind: "unenforced", reason: "late" }),
  ended({ kind: "stopped", reason: "late" }),
  { type: "interrupt" },
  { type: "line_lost" },
  { type: "kill" },
  exited(1),
  { type: "tree_ended", extinction: GONE },
  { type: "closed", evidence: CLEAN },
];

/** What must hold of any sequence of events, possible or not. */
function checkPromises(events: readonly RunEvent[]) {
  let state = NOT_STARTED;
  let exits = 0;
  let isTreeGone = false;
  let closings = 0;
  const seen: RunEvent[] = [];
  for (const event of events) {
    const before = state;
    const { state: after, effects } = reduceRun(before, event);
    state = after;
    seen.push(event);
    if (event.type === "tree_ended" && before.phase === "ending_tree") isTreeGone = true;
    if (before.settlement !== undefined) {
      expect(effects).toEqual([]);
      expect(state.settlement).toBe(before.settlement);
    }
    for (const effect of effects) {
      if (effect.type === "close") {
        closings += 1;
        expect(isTreeGone).toBe(true);
      }
      if (effect.type !== "fire_exit") continue;
      exits += 1;
      expect(isTreeGone).toBe(true);
      expect(closings).toBe(1);
      if (effect.ending.settlement.outcome !== "success") continue;
      // The last final message that could still be read.
      expect(state.finalMessage?.status).toBe("ok");
      expect(seen.some((it) => it.type === "attested")).toBe(true);
      expect(seen.some((it) => it.type === "final_message" && it.message.status === "ok")).toBe(true);
      expect(state.evidence).toMatchObject({ isPromptDenied: false, faults: [], doubts: [] });
      if (state.stopCause === undefined) expect(state.exit).toEqual({ code: 0, signal: null });
      else expect(state.stopCause).toEqual({ kind: "lingered" });
    }
  }
  expect(exits).toBeLessThanOrEqual(1);
  expect(state.phase === "exiting" || state.phase === "settled").toBe(exits === 1);
  return state;
}

it(`keeps its promises under ${RUNS} random sequences, impossible ones too`, () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => void checkPromises(events)),
    { numRuns: RUNS },
  );
});

/** A world that answers effects in any order it likes: an agent that may ignore everything but KILL, timers that fire whenever they are armed. */
function playWorld(picks: Iterator<number>): { state: RunState; events: RunEvent[]; unenforced: boolean } {
  const pick = (below: number) => (picks.next().value ?? 0) % below;
  let state = NOT_STARTED;
  const events: RunEvent[] = [];
  const armed = new Set<DeadlineName>();
  let start: "setting_up" | "child" | "attested" | "done" = "setting_up";
  let agent = "none" as "none" | "alive" | "gone";
  let isKillSent = false;
  let isPipeOpen = false;
  let outputGivenUp = false;
  let lives = 2 + pick(4);
  const isStubborn = pick(3) === 0;
  const isPipeHeld = pick(3) === 0;
  const isNeverReaped = pick(8) === 0;
  let unenforced = false;
  const pending: RunEvent[] = [];

  const send = (event: RunEvent) => {
    events.push(event);
    const reduced = reduceRun(state, event);
    state = reduced.state;
    for (const effect of reduced.effects) {
      if (effect.type === "arm") armed.add(effect.deadline);
      else if (effect.type === "disarm") armed.delete(effect.deadline);
      else if (effect.type === "kill") isKillSent = true;
      else if (effect.type === "give_up_output") outputGivenUp = true;
      else if (effect.type === "end_tree") {
        isKillSent = true;
        pending.push({ type: "tree_ended", extinction: GONE });
      } else if (effect.type === "close") pending.push({ type: "closed", evidence: CLEAN });
      else if (effect.type === "fire_exit") pending.push({ type: "delivered" });
    }
  };

  for (let turn = 0; turn < 400 && state.phase !== "settled"; turn += 1) {
    const choices: (() => void)[] = [];
    if (start === "setting_up") {
      choices.push(() => {
        start = "child";
        agent = "alive";
        isPipeOpen = true;
        send({ type: "spawned" });
      });
      choices.push(() => {
        start = "done";
        send(refused);
      });
    } else if (start === "child") {
      choices.push(() => {
        start = "attested";
        send({ type: "attested" });
      });
      choices.push(() => {
        start = "done";
        send(refused);
      });
    } else if (start === "attested") {
      choices.push(() => {
        start = "done";
        send({ type: "prompt_handed_over" });
      });
    }
    if (agent === "alive" && lives > 0) {
      const spend = (event: RunEvent) => () => {
        lives -= 1;
        const { stopCause, settlement } = state;
        const counts = settlement === undefined && (stopCause === undefined || stopCause.kind === "lingered");
        if (event.type === "end" && event.cause.kind === "unenforced" && counts) unenforced = true;
        send(event);
      };
      choices.push(spend(said()));
      choices.push(spend(said({ status: "error", reason: "api_error" })));
      choices.push(spend({ type: "interrupt" }));
      choices.push(spend(ended({ kind: "stopped", reason: "s" })));
      choices.push(spend(ended({ kind: "unenforced", reason: "unasked" })));
    }
    if (agent === "alive" && !(isKillSent && isNeverReaped) && (isKillSent || (!isStubborn && pick(3) === 0)))
      choices.push(() => {
        agent = "gone";
        send({
          type: "exited",
          exit: isKillSent ? { code: null, signal: "SIGKILL" } : { code: pick(2), signal: null },
        });
      });
    if (isPipeOpen && (outputGivenUp || (!isPipeHeld && (agent === "gone" || pick(4) === 0))))
      choices.push(() => {
        isPipeOpen = false;
        send({ type: "output_ended", isTruncated: !outputGivenUp && pick(4) === 0 });
      });
    for (const name of armed)
      choices.push(() => {
        armed.delete(name);
        send(expired(name));
      });
    const [next] = pending;
    if (next !== undefined)
      choices.push(() => {
        pending.shift();
        send(next);
      });
    choices[pick(Math.max(1, choices.length))]?.();
  }
  return { state, events, unenforced };
}

it(`comes to one end in ${RUNS} random interleavings of agent, timers, callers and supervisor`, () => {
  const outcomes = new Map<string, number>();
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat({ max: 1_000 })), (picks) => {
      const { state, events, unenforced } = playWorld(picks);
      expect(state.phase).toBe("settled");
      expect(checkPromises(events).settlement).toEqual(state.settlement);
      for (const late of LATE) {
        const { state: after, effects } = reduceRun(state, late);
        expect(effects).toEqual([]);
        expect([after.phase, after.settlement]).toEqual([state.phase, state.settlement]);
      }
      const beforeDelivery = events.slice(
        0,
        events.findLastIndex(({ type }) => type === "delivered"),
      );
      for (const late of LATE) expect(reduceRun(live(beforeDelivery).state, late).effects).toEqual([]);
      const outcome = state.settlement?.outcome ?? "none";
      if (unenforced) expect(["unenforced", "refused"]).toContain(outcome);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  // A world in which one of them never came about would prove nothing.
  for (const outcome of [
    "success",
    "failed",
    "incomplete",
    "interrupted",
    "timed_out",
    "unenforced",
    "refused",
  ])
    expect(outcomes.get(outcome) ?? 0, outcome).toBeGreaterThan(RUNS / 500);
});
