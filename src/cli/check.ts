// bridle check: compiles a declaration without starting anything and shows every issue.

import type { Command } from "commander";
import type { Provider } from "../index.ts";
import {
  addCompileOptions,
  type CompileFlags,
  compileDeclared,
  describeProofOf,
  parseProvider,
} from "./compile-file.ts";

export function addCheckCommand(program: Command): void {
  addCompileOptions(program.command("check"))
    .description("compile a declaration without starting an agent; shows every issue")
    .argument(
      "[file]",
      "YAML or JSON file with hooks_external: (default: the settings of the user and of the project)",
    )
    .requiredOption("--provider <name>", "claude or codex", parseProvider)
    .option("--cwd <dir>", "whose settings are read when no file is named", ".")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      "\nExamples:\n  bridle check --provider claude\n  bridle check hooks.yaml --provider codex",
    )
    .action(
      async (
        file: string | undefined,
        { provider, cwd, json, ...flags }: CompileFlags & { provider: Provider; cwd: string; json?: boolean },
      ) => {
        const hooks = await compileDeclared({ file, cwd }, provider, flags);
        const description = hooks.describe();
        if (json === true) process.stdout.write(`${JSON.stringify({ type: "compiled", ...description })}\n`);
        else {
          const { hooks: entries, providerVersion, digest, warnings } = description;
          process.stdout.write(
            `ok: ${entries.length} hook(s) for ${provider} ${providerVersion}, digest ${digest.slice(0, 16)}\n`,
          );
          process.stdout.write(`  proof: ${describeProofOf(description)}\n`);
          for (const { id, matcher, program: runs, timeoutMs, onFailure } of entries) {
            process.stdout.write(
              `  ${id}  ${matcher ?? "*"}  ${runs}  ${timeoutMs} ms  on_failure ${onFailure}\n`,
            );
          }
          for (const { code, message } of warnings) process.stdout.write(`  warning ${code}: ${message}\n`);
        }
      },
    );
}
