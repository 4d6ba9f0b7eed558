// bridle check: compiles a declaration without starting anything and shows every issue.

import type { Command } from "commander";
import type { Provider } from "../index.ts";
import {
  addCompileOptions,
  type CompileFlags,
  compileFile,
  describeProofOf,
  parseProvider,
} from "./compile-file.ts";

export function addCheckCommand(program: Command): void {
  addCompileOptions(program.command("check"))
    .description("compile a declaration without starting an agent; shows every issue")
    .argument("<file>", "YAML or JSON file with hooks_external:")
    .requiredOption("--provider <name>", "claude or codex", parseProvider)
    .option("--json", "one JSON object on stdout")
    .addHelpText("after", "\nExample:\n  bridle check hooks.yaml --provider codex")
    .action(
      async (
        file: string,
        { provider, json, ...flags }: CompileFlags & { provider: Provider; json?: boolean },
      ) => {
        const hooks = await compileFile(file, provider, flags);
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
