// One process of a persistent guard: calls go to its stdin, answers come from its stdout. Must never give an answer to a call that it was not
// for, never throw for what a guard does, and leave no process behind that can be found.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { asError, messageOf } from "../../message-of.ts";
import type { Envelope } from "../../profile/envelope-types.ts";
import type { HookExit } from "../../profile/verdict.ts";
import { createByteRing } from "../../spawn/byte-ring.ts";
import { endCommand, endRemains, GRACE_MS } from "../end-command.ts";
import { explainSpawnFailure } from "../explain-spawn-failure.ts";
import { HOOK_MARKER } from "../hook-env.ts";
import { DRAIN_MS } from "../run-command.ts";
import type { Kill } from "../sweep.ts";
import {
  ABANDONED_LIMIT,
  CLOSE_GRACE_MS,
  LINE_CAP_BYTES,
  STDERR_TAIL_BYTES,
  UNREAD_LIMIT_BYTES,
} from "./limits.ts";
import { createLineReader, encodeCall, readWord } from "./protocol.ts";

export interface GuardProgram {
  /** argv[0] is an absolute path. */
  readonly argv: readonly string[];
  /** The process's own argv[0]. */
  readonly argv0: string;
  /** The whole environment; nothing is added but the marker. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** What one call came to, in the words of a one-shot guard. */
export interface CallResult {
  readonly exit: HookExit;
  readonly stdout: string;
  /** Of a block its reason; of a failure the last of what the process wrote to stderr. */
  readonly stderr: string;
  /** Processes that the guard had left when it ended; told to one of the calls that waited for it. */
  readonly leftovers: number;
}

/**
 * - `closed`: it was asked to end.
 * - `idle`: it ended by itself and nobody waited for it.
 * - `stuck`: it let a call time out, and was ended.
 * - `failed`: it could not be started, ended with calls pending, or lost the thread.
 */
export interface GuardEnd {
  readonly kind: "closed" | "idle" | "stuck" | "failed";
  /** In words that follow "the guard ". */
  readonly message: string;
  /** Processes that it had left and that no call was told of; they are ended. */
  readonly leftovers: number;
}

export interface GuardProcess {
  /** Calls may be given to it. */
  readonly isUp: boolean;
  /** Resolves when nothing of it is left that can be found. */
  readonly gone: Promise<GuardEnd>;
  /** Only while it is up. */
  ask(envelope: Envelope, options: { timeoutMs: number; signal: AbortSignal }): Promise<CallResult>;
  /** Closes its stdin, waits a moment, and ends it. */
  close(): Promise<GuardEnd>;
}

interface OpenCall {
  readonly timeoutMs: number;
  isLate: boolean;
  settle(result: CallResult): void;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;
type Why = Omit<GuardEnd, "leftovers">;

const kill: Kill = (pid, name) => process.kill(pid, name);

/** @param endLeft ends what its end has left; for tests. @default endRemains */
export function startGuard(
  program: GuardProgram,
  { endLeft = endRemains }: { endLeft?: typeof endRemains } = {},
): GuardProcess {
  // Its own, and no part of any chain's: a look for what one call has left must not find it.
  const marker = `persistent-${randomUUID()}`;
  const pending = new Map<string, OpenCall>();
  /** Nobody waits for these any more. */
  const abandoned = new Set<string>();
  const stderr = createByteRing(STDERR_TAIL_BYTES);
  let hasExited = false;
  /** It cannot answer any more, but its end has not been told yet. */
  let isDoomed = false;
  let ending: Promise<GuardEnd> | undefined;
  let tellGone: (end: GuardEnd) => void = () => {};
  const gone = new Promise<GuardEnd>((resolve) => {
    tellGone = resolve;
  });
  let tellExit: () => void = () => {};
  const exited = new Promise<void>((resolve) => {
    tellExit = resolve;
  });

  const end = (why: Why): Promise<GuardEnd> => {
    ending ??= endNow(why);
    return ending;
  };
  const lose = (message: string) => void end({ kind: "failed", message });

  const endNow = async (given: Why): Promise<GuardEnd> => {
    setReferenced(child, true);
    let why = given;
    let found: number;
    try {
      found = await endProcess(why.kind === "closed");
    } catch (error) {
      // The system could not be asked. Whoever waits is told, and that something may be left.
      found = 1;
      why = {
        ...given,
        message: `${given.message}; what it left could not be looked for: ${messageOf(error)}`,
      };
    }
    for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
    const waiting = [...pending.values()];
    for (const [index, call] of waiting.entries()) {
      const { isLate, timeoutMs } = call;
      const exit: HookExit = isLate
        ? { kind: "timeout", timeoutMs }
        : { kind: "failed", message: `the guard ${why.message}` };
      call.settle({ exit, stdout: "", stderr: stderr.text(), leftovers: index === 0 ? found : 0 });
    }
    const told = { ...why, leftovers: waiting.length === 0 ? found : 0 };
    tellGone(told);
    return told;
  };

  /** Returns what it had left behind. */
  const endProcess = async (isAsked: boolean): Promise<number> => {
    const pid = child?.pid;
    if (pid === undefined) return 0;
    if (isAsked && !hasExited) {
      child?.stdin.end();
      await Promise.race([exited, delay(CLOSE_GRACE_MS)]);
    }
    const wasAlive = !hasExited;
    if (wasAlive) await endCommand({ pid, exited, kill, graceMs: GRACE_MS });
    const { found, groupLeft } = await endLeft({ pid, marker, kill });
    return wasAlive ? found : Math.max(found, groupLeft ? 1 : 0);
  };

  /** A pipe that is closed mostly means that it exits: then its exit says more. */
  const expectExit = (stream: "stdin" | "stdout") => {
    if (isDoomed) return;
    isDoomed = true;
    void delay(DRAIN_MS).then(() => {
      if (!hasExited) lose(`closed its ${stream} and went on`);
    });
  };

  const hear = (line: Buffer): boolean => {
    const word = readWord(line);
    if (typeof word === "string") {
      lose(`lost the thread: a line of its stdout ${word}`);
      return false;
    }
    if (abandoned.delete(word.id)) return true;
    const call = pending.get(word.id);
    if (call === undefined) {
      lose("lost the thread: it answered a call that nobody has asked, or one twice");
      return false;
    }
    const { blocks, text } = word;
    call.settle({
      exit: { kind: "answered", blocks },
      stdout: blocks ? "" : text,
      stderr: blocks ? text : "",
      leftovers: 0,
    });
    return true;
  };

  const child = launch(program, marker, (error) =>
    lose(`did not start: ${explainSpawnFailure({ file: program.argv[0] ?? "", cwd: program.cwd, error })}`),
  );
  if (child?.pid !== undefined) {
    const reader = createLineReader(
      {
        onLine: hear,
        onTooLong: () => lose(`lost the thread: a line of its stdout is longer than ${LINE_CAP_BYTES} bytes`),
      },
      LINE_CAP_BYTES,
    );
    child.stdout.on("data", (chunk: Buffer) => {
      // What it prints while it is ended is read, so that it is not stopped by a full pipe, and heeded no more.
      if (ending === undefined) reader.push(chunk);
    });
    child.stderr.on("data", stderr.push);
    child.stdin.on("error", () => expectExit("stdin"));
    child.stdout.on("error", () => {}); // "close" follows
    child.stderr.on("error", () => {}); // what arrived counts
    const closed = [child.stdout, child.stderr].map(
      (stream) => new Promise<void>((resolve) => stream.once("close", resolve)),
    );
    child.stdout.once("close", () => expectExit("stdout"));
    child.once("exit", (code, signal) => {
      hasExited = true;
      isDoomed = true;
      tellExit();
      // Its last words may still be in the pipe.
      void Promise.race([Promise.all(closed), delay(DRAIN_MS)]).then(() => {
        const how = code === null ? `was killed by ${signal}` : `ended with exit ${code}`;
        if (pending.size > 0) lose(`${how} before it answered`);
        else void end({ kind: "idle", message: `${how} between calls` });
      });
    });
    setReferenced(child, false);
  }

  return {
    get isUp() {
      return ending === undefined && !isDoomed;
    },
    gone,
    ask: (envelope, { timeoutMs, signal }) =>
      new Promise((resolve) => {
        const id = randomUUID();
        // First: what cannot be written rejects, and nothing waits for it.
        const line = encodeCall(id, envelope);
        const settle = (result: CallResult) => {
          clearTimeout(timer);
          signal.removeEventListener("abort", abandon);
          pending.delete(id);
          if (pending.size === 0 && ending === undefined) setReferenced(child, false);
          resolve(result);
        };
        const call: OpenCall = { timeoutMs, isLate: false, settle };
        const timer = setTimeout(() => {
          call.isLate = true;
          void end({ kind: "stuck", message: "was ended because it let a call time out" });
        }, timeoutMs);
        const abandon = () => {
          abandoned.add(id);
          const exit: HookExit = { kind: "failed", message: "the call was abandoned" };
          settle({ exit, stdout: "", stderr: "", leftovers: 0 });
          if (abandoned.size > ABANDONED_LIMIT)
            void end({
              kind: "stuck",
              message: `was ended: it left ${ABANDONED_LIMIT} abandoned calls open`,
            });
        };
        pending.set(id, call);
        signal.addEventListener("abort", abandon, { once: true });
        setReferenced(child, true);
        if (child?.pid === undefined) return; // told when it is known why
        if (child.stdin.writableLength > UNREAD_LIMIT_BYTES)
          void end({ kind: "stuck", message: "was ended because it does not read its stdin" });
        else child.stdin.write(line);
      }),
    close: () => end({ kind: "closed", message: "was ended with its run" }),
  };
}

/** Undefined, or without a pid, when it could not be started: `onError` then says why, later. */
function launch(
  { argv, argv0, env, cwd }: GuardProgram,
  marker: string,
  onError: (error: Error) => void,
): Child | undefined {
  const [file = "", ...args] = argv;
  try {
    const child = spawn(file, args, {
      cwd,
      env: { ...env, [HOOK_MARKER]: marker },
      argv0,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const hasStarted = child.pid !== undefined;
    child.on("error", (error) => {
      if (!hasStarted) onError(error);
    });
    return child;
  } catch (error) {
    // Too many words, for example.
    queueMicrotask(() => onError(asError(error)));
    return undefined;
  }
}

/** A guard that nobody waits for must not keep this program from ending: its stdin is closed then. */
function setReferenced(child: Child | undefined, isReferenced: boolean): void {
  if (child?.pid === undefined) return;
  const method = isReferenced ? "ref" : "unref";
  child[method]();
  // Pipes of a child are sockets, which the types do not say.
  for (const stream of [child.stdin, child.stdout, child.stderr])
    (stream as Partial<Record<"ref" | "unref", () => void>>)[method]?.();
}
