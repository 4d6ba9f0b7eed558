// bridle recover: ends what dead supervisors left and delivers the agent_exit they owe.

import type { Command } from "commander";
import { type Recovery, recoverRuns, toOneLine } from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";

interface RecoverFlags {
  readonly assumeDead?: boolean;
  readonly closeUndeliverable?: boolean;
  readonly json?: boolean;
}

export function addRecoverCommand(program: Command): void {
  program
    .command("recover")
    .description("end what dead supervisors left, clean up, and deliver the agent_exit hooks they owe")
    .option("--assume-dead", "take supervisors on other machines or in other pid namespaces for dead")
    .option(
      "--close-undeliverable",
      "close runs whose agent_exit cannot be delivered from here: it never will be",
    )
    .option("--json", "one JSON object on stdout")
    .addHelpText("after", "\nExamples:\n  bridle recover\n  bridle recover --json")
    .action(async ({ assumeDead = false, closeUndeliverable = false, json = false }: RecoverFlags) => {
      const runs = await recoverRuns({ assumeDead, closeUndeliverable });
      if (json) process.stdout.write(`${JSON.stringify({ type: "recovered", runs })}\n`);
      else for (const run of runs) showRecovery(run);
      process.exitCode = runs.every(isSettled) ? EXIT_CODES.success : EXIT_CODES.failed;
    });
}

/** Nothing is left for a person to look at. */
export function isSettled({ state, exitDelivery, extinction }: Recovery): boolean {
  if (state === "running" || state === "claimed") return true;
  const isDelivered = exitDelivery === "delivered" || exitDelivery === "none";
  // Of what ran elsewhere somebody said that it is dead.
  const isGone = extinction?.state !== "unproven" || extinction.method === "elsewhere";
  return state === "recovered" && isDelivered && isGone;
}

function showRecovery({ runId, state, exitDelivery, agent, extinction, problems }: Recovery): void {
  const words = [
    state.padEnd(15),
    runId === "" ? "-" : runId,
    ...(agent === undefined ? [] : [`agent ${agent}`]),
    ...(extinction === undefined ? [] : [`processes ${extinction.state}`]),
    ...(exitDelivery === undefined ? [] : [`agent_exit ${exitDelivery}`]),
  ];
  process.stdout.write(`${toOneLine(words.join("  "))}\n`);
  for (const problem of problems) process.stderr.write(`bridle: ${toOneLine(`${runId}: ${problem}`)}\n`);
}
