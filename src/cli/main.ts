#!/usr/bin/env node
// The bridle command: one file a subcommand beside this one. Imports only the public list and its own helpers.

import { Command, CommanderError } from "commander";
import { VERSION } from "../index.ts";
import { addCheckCommand } from "./check.ts";
import { addDoctorCommand } from "./doctor.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { addExplainCommand } from "./explain.ts";
import { addImportCommand } from "./import.ts";
import { addInitCommand } from "./init.ts";
import { addInvokeCommand } from "./invoke.ts";
import { addListCommand } from "./list.ts";
import { addProveCommand } from "./prove.ts";
import { addPsCommand } from "./ps.ts";
import { addReceiptsCommand } from "./receipts.ts";
import { addRecoverCommand } from "./recover.ts";
import { reportError } from "./report-error.ts";
import { addRunCommand } from "./run.ts";
import { addStopCommand } from "./stop.ts";
import { addTestCommand } from "./test.ts";
import { addTrustCommand } from "./trust.ts";
import { addValidateCommand } from "./validate.ts";

const program = new Command("bridle")
  .description("Start the claude and codex CLIs under hooks you declared, and under nothing else.")
  .version(VERSION)
  .showHelpAfterError("(bridle --help lists the commands)")
  .exitOverride()
  .enablePositionalOptions() // an option behind a command's name is that command's
  .addHelpText(
    "after",
    `
Exit codes:
  0   success
  1   the agent failed, or its prompt was blocked; prove: a required answer is not yes;
      import: something was rejected; test: a guard failed or never blocked; invoke: denied;
      receipts: something could not be read
  2   import: a file cannot be read
  64  usage error
  70  internal error
  75  timed out or interrupted
  77  an agent_prompt hook denied the prompt
  78  refused: a guard could not be shown to run`,
  );
addRunCommand(program);
addProveCommand(program);
addCheckCommand(program);
addTrustCommand(program);
addExplainCommand(program);
addImportCommand(program);
addInitCommand(program);
addListCommand(program);
addValidateCommand(program);
addDoctorCommand(program);
addTestCommand(program);
addInvokeCommand(program);
addPsCommand(program);
addStopCommand(program);
addRecoverCommand(program);
addReceiptsCommand(program);

// A reader that went away is not our fault; a full disk is, and must not look like a success.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  process.stderr.write(`bridle: stdout: ${error.message}\n`);
  process.exitCode = EXIT_CODES.internal;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EXIT_CODES.usage;
  else process.exitCode = reportError(error, { json: process.argv.includes("--json") });
}
