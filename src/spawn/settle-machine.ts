// The life of one admitted run as a pure reducer: what happens to it goes in, what is to be done comes out. It alone decides when
// `agent_exit` fires (once, and only after the tree is gone) and how the run settled.

import type { ChildExit } from "./child.ts";
import type { Extinction } from "./result.ts";
import { type RunFacts, type Settlement, type StopCause, settleRun } from "./settle.ts";

export type DeadlineName = "idle" | "wall" | "linger" | "drain" | "interruptGrace" | "stop" | "reap";

export type RunEvent =
  /** The agent's process exists. */
  | { readonly type: "spawned" }
  /** The provider has shown that our hooks are live. */
  | { readonly type: "attested" }
  /** The run does not come to be: refused, not startable, or aborted on the way. */
  | { readonly type: "start_failed"; readonly settlement: Settlement }
  | { readonly type: "prompt_handed_over" }
  /** A final message of the provider. There may be several. */
  | { readonly type: "final_message"; readonly message: NonNullable<RunFacts["finalMessage"]> }
  /** A line was too long to be read: it may have been a final message, and have said otherwise. */
  | { readonly type: "line_lost" }
  /** The agent works on behind a final message, which so was not the last. */
  | { readonly type: "turn_started" }
  /** The caller asks for an end of the turn. */
  | { readonly type: "interrupt" }
  /** Somebody ends the run: the caller, or a guard path that is not in force. */
  | { readonly type: "end"; readonly cause: StopCause }
  /** No more grace: what still lives is killed. */
  | { readonly type: "kill" }
  | { readonly type: "deadline"; readonly name: DeadlineName }
  /** All output was read, or given up; `isTruncated`: it ended inside a line. */
  | { readonly type: "output_ended"; readonly isTruncated: boolean }
  | { readonly type: "exited"; readonly exit: ChildExit }
  | { readonly type: "tree_ended"; readonly extinction: Extinction }
  /** Broker closed, evidence looked through, run directory removed. */
  | { readonly type: "closed"; readonly evidence: Evidence }
  /** `agent_exit` was fired and the result made. */
  | { readonly type: "delivered" };

/** What the last look found. */
export type Evidence = Pick<RunFacts, "isPromptDenied" | "faults" | "doubts">;

export type Effect =
  | { readonly type: "arm" | "disarm"; readonly deadline: DeadlineName }
  /** The provider's own clean stop. */
  | { readonly type: "ask_to_stop" }
  | { readonly type: "terminate" }
  | { readonly type: "kill" }
  /** Nothing more will be said to the provider. */
  | { readonly type: "close_input" }
  /** Reads what is left of the output, whatever the consumer does. */
  | { readonly type: "drain" }
  /** A descendant holds the pipe: what was read is all there will be. */
  | { readonly type: "give_up_output" }
  | { readonly type: "end_tree" }
  | { readonly type: "close" }
  | { readonly type: "fire_exit"; readonly ending: Ending };

export interface Ending {
  readonly settlement: Settlement;
  readonly exit: ChildExit;
  readonly extinction: Extinction;
}

/** In this order; a run that does not start skips from the first to `ending_tree`. */
export type Phase = "starting" | "running" | "draining" | "ending_tree" | "closing" | "exiting" | "settled";

export interface RunState {
  readonly phase: Phase;
  readonly isAttested: boolean;
  readonly startFailure: Settlement | undefined;
  /** The first one. */
  readonly stopCause: StopCause | undefined;
  readonly isInterruptAsked: boolean;
  readonly isKilled: boolean;
  readonly finalMessage: RunFacts["finalMessage"];
  readonly output: "open" | "whole" | "truncated";
  readonly exit: ChildExit;
  readonly extinction: Extinction | undefined;
  readonly evidence: Evidence | undefined;
  readonly settlement: Settlement | undefined;
}

export const NOT_STARTED: RunState = {
  phase: "starting",
  isAttested: false,
  startFailure: undefined,
  stopCause: undefined,
  isInterruptAsked: false,
  isKilled: false,
  finalMessage: undefined,
  output: "open",
  exit: { code: null, signal: null },
  extinction: undefined,
  evidence: undefined,
  settlement: undefined,
};

export interface Step {
  readonly state: RunState;
  readonly effects: readonly Effect[];
}

/** An event that means nothing in the state it meets changes nothing. */
export function reduceRun(state: RunState, event: RunEvent): Step {
  switch (event.type) {
    case "spawned":
      return state.phase === "starting" ? step({ ...state, phase: "running" }) : step(state);
    case "attested":
      return settleIfDecided({ ...state, isAttested: true });
    case "start_failed":
      return failStart(state, event.settlement);
    case "prompt_handed_over":
      return isLive(state) ? step(state, arm("idle"), arm("wall")) : step(state);
    case "final_message":
      return takeFinalMessage(state, event.message);
    case "line_lost":
    case "turn_started":
      return step({ ...state, finalMessage: undefined });
    case "interrupt":
      return isLive(state) && !state.isInterruptAsked
        ? step({ ...state, isInterruptAsked: true }, { type: "ask_to_stop" }, arm("interruptGrace"))
        : step(state);
    case "end":
      return end(state, event.cause);
    case "kill":
      return state.phase === "running" ? killNow(state) : step(state);
    case "deadline":
      return expire(state, event.name);
    case "output_ended":
      return endOutput(state, event.isTruncated);
    case "exited":
      return state.phase === "running" ? leave({ ...state, exit: event.exit }) : step(state);
    case "tree_ended":
      return state.phase === "ending_tree"
        ? step({ ...state, phase: "closing", extinction: event.extinction }, { type: "close" })
        : step(state);
    case "closed":
      return state.phase === "closing"
        ? settleIfDecided({ ...state, evidence: event.evidence })
        : step(state);
    case "delivered":
      return state.phase === "exiting" ? step({ ...state, phase: "settled" }) : step(state);
  }
}

/** Running, and nothing has ended it yet. */
function isLive({ phase, stopCause, startFailure }: RunState): boolean {
  return phase === "running" && stopCause === undefined && startFailure === undefined;
}

function failStart(state: RunState, settlement: Settlement): Step {
  if (state.startFailure !== undefined) return step(state);
  const failed = { ...state, startFailure: settlement };
  if (state.phase === "starting") return step({ ...failed, phase: "ending_tree" }, { type: "end_tree" });
  return state.phase === "running" ? killNow(failed) : settleIfDecided(failed);
}

/** The provider waits for another prompt on an open stdin; nothing more will come. What it does in the background has the linger. */
function takeFinalMessage(state: RunState, finalMessage: RunFacts["finalMessage"]): Step {
  if (state.phase !== "running" && state.phase !== "draining") return step(state);
  const told = { ...state, finalMessage };
  if (state.phase === "draining") return step(told);
  if (!isLive(told)) return step(told, { type: "close_input" });
  const turnEnded: Effect[] = state.isInterruptAsked ? [disarm("interruptGrace")] : [];
  return step(told, ...turnEnded, { type: "close_input" }, arm("linger"));
}

function end(state: RunState, cause: StopCause): Step {
  // An agent whose guard is not in force gets no grace: another tool could run in it.
  if (cause.kind === "unenforced") {
    // A run that is being ended cuts its own hooks off; only a lingering one could still be a success.
    const isFirst = state.stopCause === undefined || state.stopCause.kind === "lingered";
    if (state.settlement !== undefined || !isFirst) return step(state);
    const ended = { ...state, stopCause: cause };
    return state.phase === "running" ? killNow(ended) : step(ended);
  }
  // Before the start it is the start that fails; after the exit nothing is left to stop.
  if (!isLive(state)) return step(state);
  const asks: Effect[] = state.isInterruptAsked
    ? []
    : [{ type: "ask_to_stop" }, disarm("linger"), arm("interruptGrace")];
  return step({ ...state, stopCause: cause }, ...asks, arm("stop"));
}

function expire(state: RunState, name: DeadlineName): Step {
  if (name === "drain")
    return state.phase === "draining" ? step(state, { type: "give_up_output" }) : step(state);
  if (state.phase !== "running") return step(state);
  switch (name) {
    case "idle":
    case "wall":
      return end(state, { kind: name });
    case "linger":
      return end(state, { kind: "lingered" });
    case "interruptGrace": {
      if (state.stopCause !== undefined) return step(state, { type: "terminate" });
      if (!state.isInterruptAsked) return step(state);
      const stopCause: StopCause = { kind: "interrupted", reason: "interrupt" };
      return step({ ...state, stopCause }, { type: "terminate" }, arm("stop"));
    }
    case "stop":
      return state.stopCause === undefined ? step(state) : killNow(state);
    case "reap":
      // KILL was sent and the kernel does not hand the process back: what is left is told as survivors.
      return state.isKilled ? leave({ ...state, output: "whole" }) : step(state);
  }
}

function killNow(state: RunState): Step {
  return state.isKilled ? step(state) : step({ ...state, isKilled: true }, { type: "kill" }, arm("reap"));
}

function leave(state: RunState): Step {
  const waits = (["idle", "wall", "linger", "interruptGrace", "stop", "reap"] as const).map(disarm);
  const { isInterruptAsked, finalMessage, stopCause } = state;
  // codex leaves without a final message when it is interrupted; claude says so in one.
  const interrupted: StopCause = { kind: "interrupted", reason: "interrupt" };
  const left: RunState =
    isInterruptAsked && finalMessage === undefined && stopCause === undefined
      ? { ...state, stopCause: interrupted }
      : state;
  // Nobody reads what a run said that did not come to be.
  if (state.output !== "open" || state.startFailure !== undefined)
    return step({ ...left, phase: "ending_tree" }, ...waits, { type: "end_tree" });
  return step({ ...left, phase: "draining" }, ...waits, { type: "drain" }, arm("drain"));
}

function endOutput(state: RunState, isTruncated: boolean): Step {
  if (state.output !== "open") return step(state);
  const read: RunState = { ...state, output: isTruncated ? "truncated" : "whole" };
  if (state.phase !== "draining") return step(read);
  return step({ ...read, phase: "ending_tree" }, disarm("drain"), { type: "end_tree" });
}

/** An agent may be gone before it is known whether it ever showed our hooks: then that is waited for. */
function settleIfDecided(state: RunState): Step {
  const { evidence, startFailure, isAttested, finalMessage, stopCause, exit, extinction } = state;
  if (state.phase !== "closing" || evidence === undefined || extinction === undefined) return step(state);
  if (startFailure === undefined && !isAttested) return step(state);
  const facts: RunFacts = {
    ...evidence,
    finalMessage,
    stopCause,
    isAttested,
    exitCode: exit.code,
    signal: exit.signal,
    isTruncated: state.output === "truncated",
  };
  const settlement = startFailure ?? settleRun(facts);
  const ending: Ending = { settlement, exit, extinction };
  return step({ ...state, phase: "exiting", settlement }, { type: "fire_exit", ending });
}

function arm(deadline: DeadlineName): Effect {
  return { type: "arm", deadline };
}

function disarm(deadline: DeadlineName): Effect {
  return { type: "disarm", deadline };
}

function step(state: RunState, ...effects: Effect[]): Step {
  return { state, effects };
}
