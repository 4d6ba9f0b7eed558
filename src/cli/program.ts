// What the command line says: one file a subcommand beside this one, loaded when it is named. Imports only the public list and its own
// helpers.

import { Command, CommanderError } from "commander";
import { VERSION } from "../version.ts";
import { EXIT_CODES } from "./exit-codes.ts";

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  run: async () => (await import("./run.ts")).addRunCommand,
  fanout: async () => (await import("./fanout.ts")).addFanOutCommand,
  prove: async () => (await import("./prove.ts")).addProveCommand,
  check: async () => (await import("./check.ts")).addCheckCommand,
  trust: async () => (await import("./trust.ts")).addTrustCommand,
  explain: async () => (await import("./explain.ts")).addExplainCommand,
  import: async () => (await import("./import.ts")).addImportCommand,
  init: async () => (await import("./init.ts")).addInitCommand,
  list: async () => (await import("./list.ts")).addListCommand,
  validate: async () => (await import("./validate.ts")).addValidateCommand,
  doctor: async () => (await import("./doctor.ts")).addDoctorCommand,
  test: async () => (await import("./test.ts")).addTestCommand,
  invoke: async () => (await import("./invoke.ts")).addInvokeCommand,
  ps: async () => (await import("./ps.ts")).addPsCommand,
  stop: async () => (await import("./stop.ts")).addStopCommand,
  recover: async () => (await import("./recover.ts")).addRecoverCommand,
  report: async () => (await import("./report.ts")).addReportCommand,
  worker: async () => (await import("./worker.ts")).addWorkerCommand,
  receipts: async () => (await import("./receipts.ts")).addReceiptsCommand,
};

/** Runs what the words say and sets the exit code. Never rejects. */
export async function runProgram(words: readonly string[]): Promise<void> {
  try {
    const program = await createProgram(words[0]);
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EXIT_CODES.usage;
    else {
      const { reportError } = await import("./report-error.ts");
      process.exitCode = reportError(error, { json: words.includes("--json") });
    }
  }
}

/** With the command that comes first, or with all when that is none: then it is help that is wanted, or a mistake. */
async function createProgram(first: string | undefined): Promise<Command> {
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
  1   the agent failed, or its prompt was blocked; fanout: as --fail-on says; prove: a required answer is not yes;
      import: something was rejected; test: a guard failed or never blocked; invoke: denied;
      receipts: something could not be read
  2   import: a file cannot be read
  64  usage error
  70  internal error
  75  timed out or interrupted; run --lock: another run holds the lock
  77  an agent_prompt hook denied the prompt
  78  refused: a guard could not be shown to run`,
    );
  const isNamed = first !== undefined && Object.hasOwn(COMMANDS, first);
  for (const name of isNamed ? [first] : Object.keys(COMMANDS)) {
    const add = await COMMANDS[name]?.();
    add?.(program);
  }
  return program;
}
