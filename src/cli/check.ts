// bridle check: compiles a declaration without starting anything and shows every issue.

import type { Command } from "commander";
import { createRedactor, type Provider, toOneLine } from "../index.ts";
import {
  addCompileOptions,
  type CompileFlags,
  compileDeclared,
  describeProofOf,
  parseProvider,
} from "./compile-file.ts";
import { describeTerms, describeWanted } from "./describe-terms.ts";

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
        const redactor = createRedactor({ env: process.env });
        if (json === true) process.stdout.write(`${JSON.stringify({ type: "compiled", ...description })}\n`);
        else {
          const { hooks: entries, providerVersion, digest, warnings } = description;
          process.stdout.write(
            `ok: ${entries.length} hook(s) for ${provider} ${providerVersion}, digest ${digest.slice(0, 16)}\n`,
          );
          process.stdout.write(`  proof: ${describeProofOf(description)}\n`);
          for (const hook of entries) {
            const line = `  ${hook.id}  ${describeWanted(hook)}  ${hook.program}  ${describeTerms(hook)}`;
            process.stdout.write(`${toOneLine(redactor.text(line))}\n`);
          }
          for (const { code, message } of warnings) process.stdout.write(`  warning ${code}: ${message}\n`);
        }
      },
    );
}
