// bridle run --lock: a run that a timer starts does not meet the one before it.

import { type Command, InvalidArgumentError, Option } from "commander";
import { type HeldLock, holdLock, type LockHolder, toOneLine } from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";

export interface LockFlags {
  readonly lock?: string;
  readonly ifRunning?: "skip" | "wait" | "fail";
  readonly lockWait?: number;
  readonly json?: boolean;
}

export function addLockOptions(command: Command): Command {
  return command
    .option("--lock <name>", "hold the lock of this name, one run at a time, from before the run to its end")
    .addOption(
      new Option("--if-running <what>", "when the lock is held (default: fail, exit code 75)").choices([
        "skip",
        "wait",
        "fail",
      ]),
    )
    .option("--lock-wait <seconds>", "with --if-running wait: at most so long, then fail", parseSeconds);
}

/** Runs under the lock, or without one when none is named; otherwise says why not, and sets the exit code. */
export async function runLocked(
  command: Command,
  flags: LockFlags,
  run: () => Promise<{ hasSurvivors: boolean }>,
): Promise<void> {
  const { lock: name, ifRunning = "fail", lockWait } = flags;
  if (name === undefined) {
    if (flags.ifRunning !== undefined || lockWait !== undefined)
      command.error("error: --if-running and --lock-wait need --lock");
    await run();
    return;
  }
  if (lockWait !== undefined && ifRunning !== "wait")
    command.error("error: --lock-wait needs --if-running wait");
  const waitMs = ifRunning === "wait" ? (lockWait ?? Number.POSITIVE_INFINITY) * 1000 : 0;
  const lock: HeldLock = await holdLock(name, { waitMs });
  if (!lock.isHeld) {
    tell(name, lock.holder, flags);
    return;
  }
  let isFree = true;
  try {
    // With something left the lock stays: who comes next finds a dead holder, and ends the rest first.
    isFree = !(await run()).hasSurvivors;
  } finally {
    if (isFree) lock.release();
  }
}

function tell(
  name: string,
  { detail, pid, since }: LockHolder,
  { ifRunning, json = false }: LockFlags,
): void {
  const isSkipped = ifRunning === "skip";
  process.exitCode = isSkipped ? EXIT_CODES.success : EXIT_CODES.interrupted;
  const type = isSkipped ? "skipped" : "locked";
  if (json) process.stdout.write(`${JSON.stringify({ type, lock: name, pid, since, detail })}\n`);
  else if (isSkipped) process.stdout.write(`${toOneLine(`skipped   lock ${name} is ${detail}`)}\n`);
  else process.stderr.write(`bridle: ${toOneLine(`lock ${name}: ${detail}`)}\n`);
}

function parseSeconds(value: string): number {
  const seconds = Number(value);
  if (value.trim() !== "" && Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw new InvalidArgumentError("seconds, 0 or more");
}
