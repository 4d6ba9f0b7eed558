// Runs one hook command: argv, no shell, its own process group, envelope on stdin. Must never throw for what a guard
// does, never wait for a pipe that a background child holds, and leave no process behind that it can find.

import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { HookExit } from "../profile/verdict.ts";
import { collectCapped } from "./capped-output.ts";
import { endCommand, endRemains, GRACE_MS } from "./end-command.ts";
import { explainSpawnFailure } from "./explain-spawn-failure.ts";
import { HOOK_MARKER } from "./hook-env.ts";
import { startProgram } from "./start-program.ts";
import type { Kill } from "./sweep.ts";

export interface RunCommandOptions {
  /** argv[0] is an absolute path. */
  readonly argv: readonly string[];
  /** The process's own argv[0]: what multi-call programs and venv interpreters go by. @default argv[0] */
  readonly argv0?: string;
  /** The whole environment; nothing of ours is added but the marker. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Written as given, then closed. A guard that does not read it is fine. */
  readonly stdin: string;
  readonly timeoutMs: number;
  /** Must be this call's alone: after it, every process that carries it is ended. */
  readonly marker: string;
  /** Kept of each of stdout and stderr. @default 1 MiB */
  readonly capBytes?: number;
  /** Abandons the call: the guard is ended as on timeout. */
  readonly signal?: AbortSignal;
  /** Between SIGTERM and SIGKILL. @default 2000 */
  readonly graceMs?: number;
  readonly kill?: Kill;
}

export interface CommandResult {
  readonly exit: HookExit;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  readonly durationMs: number;
  /** Processes of this call that were still there after its end and had to be ended. */
  readonly leftovers: number;
}

interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Kept of what a guard prints unless the caller says otherwise. */
export const OUTPUT_CAP_BYTES = 1024 * 1024;
/** How long output may still arrive after the guard itself has exited. */
export const DRAIN_MS = 200;

export async function runCommand({
  argv,
  argv0,
  env,
  cwd,
  stdin,
  timeoutMs,
  marker,
  capBytes = OUTPUT_CAP_BYTES,
  signal,
  graceMs = GRACE_MS,
  kill = (pid, name) => process.kill(pid, name),
}: RunCommandOptions): Promise<CommandResult> {
  const startedAt = performance.now();
  const [file = "", ...args] = argv;
  const unstarted = (message: string): CommandResult => ({
    exit: { kind: "failed", message },
    stdout: Buffer.alloc(0),
    stderr: Buffer.alloc(0),
    stdoutTruncated: false,
    stderrTruncated: false,
    durationMs: performance.now() - startedAt,
    leftovers: 0,
  });
  if (signal?.aborted === true) return unstarted("the call was abandoned before the guard was started");

  const started = await startProgram(file, args, {
    cwd,
    env: { ...env, [HOOK_MARKER]: marker },
    ...(argv0 === undefined ? {} : { argv0 }),
    detached: true,
  });
  if ("error" in started) return unstarted(explainSpawnFailure({ file, cwd, error: started.error }));
  const { child, pid } = started;
  // "exit", not "close": that one also waits for the pipes.
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once("exit", (code, name) => resolve({ code, signal: name }));
  });
  const stdout = collectCapped(child.stdout, capBytes);
  const stderr = collectCapped(child.stderr, capBytes);
  child.stdin.on("error", () => {}); // EPIPE: the guard did not want it all
  child.stdin.end(stdin);

  const stop = await firstOf(exited, timeoutMs, signal);
  if (stop !== "exit") {
    await endCommand({ pid, exited, kill, graceMs });
  } else {
    await Promise.race([Promise.all([stdout.ended, stderr.ended]), delay(DRAIN_MS)]);
  }
  const { found, groupLeft } = await endRemains({ pid, marker, kill, sincePid: pid });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();

  const out = stdout.take();
  const err = stderr.take();
  return {
    exit: await describeExit(stop, exited, timeoutMs),
    stdout: out.bytes,
    stderr: err.bytes,
    stdoutTruncated: out.truncated,
    stderrTruncated: err.truncated,
    durationMs: performance.now() - startedAt,
    leftovers: stop === "exit" ? Math.max(found, groupLeft ? 1 : 0) : found,
  };
}

type StopReason = "exit" | "timeout" | "abort";

async function firstOf(
  exited: Promise<unknown>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<StopReason> {
  const settled = new AbortController();
  const reasons: Promise<StopReason>[] = [
    exited.then(() => "exit" as const),
    delay(timeoutMs, "timeout" as const, { signal: settled.signal }).catch(() => "timeout" as const),
  ];
  if (signal !== undefined) {
    reasons.push(
      once(signal, "abort", { signal: settled.signal }).then(
        () => "abort" as const,
        () => "abort" as const, // rejected only by `settled`, after the race was decided
      ),
    );
  }
  try {
    return await Promise.race(reasons);
  } finally {
    settled.abort();
  }
}

async function describeExit(
  stop: StopReason,
  exited: Promise<ExitStatus>,
  timeoutMs: number,
): Promise<HookExit> {
  if (stop === "timeout") return { kind: "timeout", timeoutMs };
  if (stop === "abort") return { kind: "failed", message: "the call was abandoned and the guard was ended" };
  const { code, signal } = await exited;
  return code === null ? { kind: "signal", signal: signal ?? "unknown" } : { kind: "exit", code };
}
