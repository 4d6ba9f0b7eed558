// bridle explain: what a run would start and why, without starting it.

import { resolve } from "node:path";
import type { Command } from "commander";
import {
  createRedactor,
  type EntryProvenance,
  escapeForTerminal,
  explain,
  listAmbient,
  type Provider,
} from "../index.ts";
import {
  addCompileOptions,
  type CompileFlags,
  compileDeclared,
  describeProofOf,
  parseProvider,
} from "./compile-file.ts";
import { describeTerms, describeWanted } from "./describe-terms.ts";

/** Tier, source, place and trust of one entry, in one line. */
export function describeProvenance({ tier, source, origin, trust }: EntryProvenance): string {
  const from = source === undefined ? tier : `${tier} (${source})`;
  const why: Record<EntryProvenance["trust"], string> = {
    own: "needs no trust",
    trusted: "trusted",
    untrusted: "NOT TRUSTED",
    changed: "CHANGED since it was trusted",
  };
  return `${from}, ${origin ?? "named by the caller"}, ${why[trust]}`;
}

export function addExplainCommand(program: Command): void {
  addCompileOptions(program.command("explain"))
    .description("show the argv, files and variables of a run, and why each is there")
    .argument(
      "[file]",
      "YAML or JSON file with hooks_external: (default: the settings of the user and of the project)",
    )
    .requiredOption("--provider <name>", "claude or codex", parseProvider)
    .option("--cwd <dir>", "the agent's working directory", ".")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      "\nExamples:\n  bridle explain --provider claude\n  bridle explain hooks.yaml --provider claude",
    )
    .action(
      async (
        file: string | undefined,
        options: CompileFlags & { provider: Provider; cwd: string; json?: boolean },
      ) => {
        const { provider, cwd, json, ...flags } = options;
        const hooks = await compileDeclared({ file, cwd }, provider, flags);
        const folder = resolve(cwd);
        const ambient = await listAmbient(hooks, { cwd: folder });
        const shown = createRedactor({ env: process.env }).json({
          ...explain(hooks, { cwd: folder }),
          ambient,
        });
        if (json === true) {
          process.stdout.write(`${JSON.stringify(shown)}\n`);
          return;
        }
        const lines = [
          `program    ${shown.program}`,
          `proof      ${describeProofOf(shown.token)}`,
          `preflight  ${shown.preflight}`,
          "hooks",
          ...shown.token.hooks.map(
            (hook) =>
              `  ${hook.id}  ${describeWanted(hook)}  ${hook.program}\n      ${describeTerms(hook)}\n      ${describeProvenance(hook)}`,
          ),
          ...shown.token.skipped.map((hook) => `  ${hook.id}  left out\n      ${describeProvenance(hook)}`),
          "arguments",
          ...shown.why.map(({ arg, why }) => `  ${arg}\n      ${why}`),
          "files",
          ...shown.files.map(({ path, mode, why }) => `  ${mode} ${path}\n      ${why}`),
          "environment",
          ...shown.env.map(({ name, why }) => `  ${name}\n      ${why}`),
          "stricter forms",
          ...shown.stricterForms.map(({ name, effect, why }) => `  ${name}: ${effect}\n      ${why}`),
          "events (transport, seconds)",
          ...shown.deadlines.map(
            ({ event, transport, providerSeconds, shimSeconds }) =>
              `  ${event}: by ${transport}, provider ${providerSeconds} > ${transport === "shim" ? "shim" : "answer"} ${transport === "shim" ? shimSeconds : shimSeconds - 1}`,
          ),
        ];
        lines.push("left out", ...shown.ambient.map(({ message }) => `  ${message}`));
        process.stdout.write(`${escapeForTerminal(lines.join("\n"))}\n`);
      },
    );
}
