// The persistent guards of one session: each is started when it is first asked, and again when it is asked after its end; one that fails
// again and again is given up. Must never start one after the session is over.

import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Envelope } from "../../profile/envelope-types.ts";
import { nestMarker, RUN_MARKER } from "../run-marker.ts";
import {
  type CallResult,
  type GuardEnd,
  type GuardProcess,
  type GuardProgram,
  startGuard,
} from "./guard-process.ts";
import { FAILURE_LIMIT, FAILURE_WINDOW_MS } from "./limits.ts";

export interface GuardAnswer extends CallResult {
  /** Why the process before this one ended, where this call is the first of a new one. */
  readonly restarted?: string;
}

/** Processes of a guard that no call was told of. */
export interface LeftBehind {
  readonly key: string;
  readonly leftovers: number;
}

export interface PersistentGuards {
  /** `key`: which guard it is; one process at a time runs for it. Rejects only for an envelope that is no JSON. */
  ask(
    key: string,
    program: GuardProgram,
    envelope: Envelope,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<GuardAnswer>;
  /** Ends all of them; none is started any more. */
  close(): Promise<readonly LeftBehind[]>;
}

export interface PersistentGuardsOptions {
  /** What finds the guards of a run whose supervisor is gone (`guardMarker`). Default: nothing does, but what found this process too. */
  readonly runMarker?: string | undefined;
  /** Where they run. @default the directory of the call that starts one */
  readonly cwd?: string | undefined;
}

interface Slot {
  process?: GuardProcess;
  /** Of `performance.now`, when it failed. */
  failures: number[];
  /** Why it is not started any more. */
  givenUp?: string;
  /** Why its last process ended; told with the next call. */
  lastEnd?: string;
  /** Of ends that no call was told of. */
  leftovers: number;
}

export function createPersistentGuards({ runMarker, cwd }: PersistentGuardsOptions = {}): PersistentGuards {
  const slots = new Map<string, Slot>();
  let isClosed = false;

  const start = (slot: Slot, program: GuardProgram): GuardProcess => {
    const own = { ...program, cwd: cwd ?? program.cwd, env: { ...program.env, ...markerOf(runMarker) } };
    const started = startGuard(own);
    slot.process = started;
    void started.gone.then((end) => note(slot, end));
    return started;
  };

  return {
    async ask(key, program, envelope, { timeoutMs, signal }) {
      const endsAt = performance.now() + timeoutMs;
      const slot = slots.get(key) ?? { failures: [], leftovers: 0 };
      slots.set(key, slot);
      for (;;) {
        if (isClosed) return unasked("the guard was not asked: its session is over");
        if (slot.givenUp !== undefined) return unasked(slot.givenUp);
        if (signal.aborted) return unasked("the call was abandoned before the guard was asked");
        const leftMs = Math.floor(endsAt - performance.now());
        if (leftMs <= 0) return { ...unasked(""), exit: { kind: "timeout", timeoutMs } };
        const { process = start(slot, program) } = slot;
        if (!process.isUp) {
          // Two of the same guard at once could be in each other's way.
          await waitFor(process.gone, leftMs, signal);
          continue;
        }
        const { lastEnd, leftovers } = slot;
        delete slot.lastEnd;
        slot.leftovers = 0;
        const result = await process.ask(envelope, { timeoutMs: leftMs, signal });
        return {
          ...result,
          ...(result.exit.kind === "timeout" ? { exit: { kind: "timeout", timeoutMs } } : {}),
          leftovers: result.leftovers + leftovers,
          ...(lastEnd === undefined ? {} : { restarted: lastEnd }),
        };
      }
    },
    async close() {
      isClosed = true;
      const left = await Promise.all(
        [...slots].map(async ([key, slot]) => {
          // `note` has run when this resolves: it waits for the same, and was there first.
          await slot.process?.close();
          await slot.process?.gone;
          return { key, leftovers: slot.leftovers };
        }),
      );
      return left.filter(({ leftovers }) => leftovers > 0);
    },
  };
}

function note(slot: Slot, { kind, message, leftovers }: GuardEnd): void {
  delete slot.process;
  slot.lastEnd = message;
  slot.leftovers += leftovers;
  if (kind !== "failed") return;
  const now = performance.now();
  slot.failures = [...slot.failures.filter((at) => now - at < FAILURE_WINDOW_MS), now];
  if (slot.failures.length <= FAILURE_LIMIT) return;
  const often = `failed ${slot.failures.length} times within ${FAILURE_WINDOW_MS / 1000} s`;
  slot.givenUp = `the guard ${often} and is not started again in this run; the last time it ${message}`;
}

function unasked(message: string): CallResult {
  return { exit: { kind: "failed", message }, stdout: "", stderr: "", leftovers: 0 };
}

async function waitFor(gone: Promise<unknown>, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const waits = [
    gone,
    delay(timeoutMs, undefined, { signal: settled.signal }).catch(() => {}), // rejected only by `settled`
    once(signal, "abort", { signal: settled.signal }).catch(() => {}), // the same
  ];
  try {
    await Promise.race(waits);
  } finally {
    settled.abort();
  }
}

/** A guard inside another run belongs to that run's tree. */
function markerOf(runMarker: string | undefined): Record<string, string> {
  if (runMarker !== undefined) return { [RUN_MARKER]: nestMarker(process.env, runMarker) };
  const outer = process.env[RUN_MARKER];
  return outer === undefined ? {} : { [RUN_MARKER]: outer };
}
