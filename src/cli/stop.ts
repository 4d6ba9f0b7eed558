// bridle stop: asks the supervisor of a run to stop it.

import { type Command, InvalidArgumentError } from "commander";
import { type StopAnswer, stopRun } from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";

interface StopFlags {
  readonly timeout?: number;
  readonly json?: boolean;
}

export function addStopCommand(program: Command): void {
  program
    .command("stop")
    .description("ask the supervisor of a run to stop it, and wait until it has ended")
    .argument("<id>", "the run id, as bridle ps shows it")
    .option("--timeout <seconds>", "how long the end is waited for", parseSeconds, 30)
    .option("--json", "one JSON object on stdout")
    .addHelpText("after", "\nExamples:\n  bridle stop 1b4e28ba-2fa1-4d1b-883f-0016d3cca427")
    .action(async (runId: string, { timeout = 30, json = false }: StopFlags) => {
      const answer = await stopRun(runId, { timeoutMs: timeout * 1000 });
      if (json) process.stdout.write(`${JSON.stringify({ type: "stop", runId, answer })}\n`);
      else (answer === "stopped" ? process.stdout : process.stderr).write(`bridle: ${MEANING[answer]}\n`);
      process.exitCode = answer === "stopped" ? EXIT_CODES.success : EXIT_CODES.failed;
    });
}

const MEANING: Readonly<Record<StopAnswer, string>> = {
  stopped: "the run has ended",
  ended: "the run had ended",
  no_answer: "the supervisor did not end the run in time; if it hangs, end it and run `bridle recover`",
  no_such_run: "there is no such run; `bridle ps` lists them",
  orphaned: "the run's supervisor is gone; run `bridle recover`",
  elsewhere: "the run's supervisor is on another machine or in another pid namespace: stop it there",
  unreadable: "the run's record cannot be trusted; `bridle ps` says why",
};

function parseSeconds(value: string): number {
  const seconds = Number(value);
  if (!Number.isFinite(seconds) || seconds <= 0) throw new InvalidArgumentError("a number above 0");
  return seconds;
}
