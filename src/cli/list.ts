// bridle list: the hooks that count here, in the order in which they run, with where they come from and whether they run.

import type { Command } from "commander";
import { createRedactor, type ListedHook, listHooks, refusesRun, toOneLine } from "../index.ts";
import { describeTerms } from "./describe-terms.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { describeProvenance } from "./explain.ts";
import { addTrustOption, loadHooks } from "./load-hooks.ts";

interface ListFlags {
  readonly cwd: string;
  readonly requireTrustedProject?: boolean;
  readonly json?: boolean;
}

export function addListCommand(program: Command): void {
  addTrustOption(program.command("list"))
    .description("list the hooks that count here: order, matcher, tier, trust")
    .argument(
      "[file]",
      "YAML or JSON file with hooks_external: (default: the settings of the user and of the project)",
    )
    .option("--cwd <dir>", "whose settings are read when no file is named", ".")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 a run would take them; 1 a run would be refused because of a hook; 78 refused.

Examples:
  bridle list
  bridle list hooks.yaml
  bridle list --json`,
    )
    .action(async (file: string | undefined, { cwd, requireTrustedProject, json = false }: ListFlags) => {
      const found = await listHooks(await loadHooks({ file, cwd, requireTrustedProject }));
      const hooks = createRedactor({ env: process.env }).json(found);
      if (json) process.stdout.write(`${JSON.stringify({ type: "hooks", hooks })}\n`);
      else process.stdout.write(`${describeHooks(hooks).map(toOneLine).join("\n")}\n`);
      process.exitCode = hooks.some(refusesRun) ? EXIT_CODES.failed : EXIT_CODES.success;
    });
}

/** Events in the profile's order; below each its hooks, numbered as they run. */
export function describeHooks(hooks: readonly ListedHook[]): string[] {
  if (hooks.length === 0) return ["no hook is declared; `bridle init` writes a first one"];
  const events = [...new Set(hooks.map(({ event }) => event))];
  return events.flatMap((event) => [
    event,
    ...hooks
      .filter((hook) => hook.event === event)
      .flatMap((hook, index) => [
        `  ${index + 1}. ${hook.matcher ?? "*"}  ${hook.command.join(" ")}`,
        ...(hook.where === undefined ? [] : [`     where ${JSON.stringify(hook.where)}`]),
        `     ${describeProvenance(hook)}; ${describeTerms(hook)}, ${hook.selftests} self-test(s)`,
        ...(hook.state === "runs" ? [] : [`     DOES NOT RUN (${hook.state}): ${hook.problem ?? ""}`]),
      ]),
  ]);
}
