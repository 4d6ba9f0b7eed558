// Drives the settle machine of one run: timers become events, effects become deeds. Decides nothing by itself.

import type { ResolvedDeadlines } from "./deadlines.ts";
import type { Extinction, RunResult } from "./result.ts";
import type { DeadlineName, Effect, Ending, Evidence, RunEvent, RunState } from "./settle-machine.ts";
import { NOT_STARTED, reduceRun } from "./settle-machine.ts";

/** How long a process is waited for that was sent KILL. */
const REAP_MS = 5_000;

/** What can be done to a started child. */
export interface ChildHands {
  askToStop(): void;
  terminate(): void;
  kill(): void;
  closeInput(): void;
  drain(): void;
  giveUpOutput(): void;
  /** Since the last output; undefined while the consumer, not the agent, is what is waited for. In milliseconds. */
  silenceMs(): number | undefined;
  /** Resolves when nothing of the tree is left, or with what is. */
  endTree(): Promise<Extinction>;
}

/** The two steps after the tree is gone. Neither rejects. */
export interface Closing {
  close(): Promise<Evidence>;
  /** Fires `agent_exit` and makes the result. */
  finish(ending: Ending): Promise<RunResult>;
}

export interface Life {
  send(event: RunEvent): void;
  readonly state: RunState;
  /** Call when there is a child to act on, before `spawned` is sent. */
  attach(hands: ChildHands): void;
  /** Resolves once, when the run has settled. */
  readonly result: Promise<RunResult>;
}

export function createLife(deadlines: ResolvedDeadlines, closing: Closing): Life {
  let state = NOT_STARTED;
  let hands: ChildHands | undefined;
  let isSending = false;
  const queue: RunEvent[] = [];
  const timers = new Map<DeadlineName, NodeJS.Timeout>();
  const waits: Record<DeadlineName, number | undefined> = {
    idle: deadlines.idleMs,
    wall: deadlines.wallMs,
    linger: deadlines.lingerMs,
    drain: deadlines.drainMs,
    interruptGrace: deadlines.interruptGraceMs,
    stop: deadlines.stopMs,
    reap: REAP_MS,
  };
  let deliver: (result: RunResult) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const result = new Promise<RunResult>((resolve, reject) => {
    deliver = resolve;
    fail = reject;
  });

  const arm = (name: DeadlineName, ms = waits[name]) => {
    clearTimeout(timers.get(name));
    if (ms !== undefined)
      timers.set(
        name,
        setTimeout(() => expire(name), ms),
      );
  };
  /** Silence is measured when its time is over: each line would have to wind the clock otherwise. */
  const expire = (name: DeadlineName) => {
    const { idleMs } = deadlines;
    if (name === "idle" && idleMs !== undefined) {
      const silence = hands?.silenceMs();
      if (silence === undefined || silence < idleMs)
        return arm("idle", Math.max(10, idleMs - (silence ?? 0)));
    }
    send({ type: "deadline", name });
  };

  const perform = (effect: Effect) => {
    switch (effect.type) {
      case "arm":
        return arm(effect.deadline);
      case "disarm":
        return clearTimeout(timers.get(effect.deadline));
      case "ask_to_stop":
        return hands?.askToStop();
      case "terminate":
        return hands?.terminate();
      case "kill":
        return hands?.kill();
      case "close_input":
        return hands?.closeInput();
      case "drain":
        return hands?.drain();
      case "give_up_output":
        return hands?.giveUpOutput();
      case "end_tree": {
        const ended = hands?.endTree() ?? Promise.resolve(NOTHING_STARTED);
        return void ended
          .catch((error: unknown) => cannotTell(error))
          .then((extinction) => send({ type: "tree_ended", extinction }));
      }
      case "close":
        return void closing.close().then((evidence) => send({ type: "closed", evidence }), fail);
      case "fire_exit":
        return void closing.finish(effect.ending).then((made) => {
          send({ type: "delivered" });
          deliver(made);
        }, fail);
    }
  };

  const send = (event: RunEvent) => {
    queue.push(event);
    if (isSending) return;
    isSending = true;
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { state: reduced, effects } = reduceRun(state, next);
        state = reduced;
        for (const effect of effects) perform(effect);
      }
    } finally {
      isSending = false;
    }
  };

  return {
    send,
    get state() {
      return state;
    },
    attach(child) {
      hands = child;
    },
    result,
  };
}

function cannotTell(error: unknown): Extinction {
  return { state: "unproven", method: `failed: ${String(error)}`, survivors: [] };
}

const NOTHING_STARTED: Extinction = { state: "swept", method: "nothing was started", survivors: [] };
