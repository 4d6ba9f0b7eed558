// bridle validate: every problem of the settings, or of files, with its line. Starts nothing.

import type { Command } from "commander";
import {
  createRedactor,
  type LocatedIssue,
  listHooks,
  toOneLine,
  type ValidatedFile,
  validateFile,
  validateSettings,
} from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { loadHooks } from "./load-hooks.ts";

interface ValidateFlags {
  readonly cwd: string;
  readonly json?: boolean;
}

export function addValidateCommand(program: Command): void {
  program
    .command("validate")
    .description("show every problem of the settings, or of files, with file and line; starts nothing")
    .argument(
      "[file...]",
      "YAML or JSON files with hooks_external: (default: the settings of the user and of the project)",
    )
    .option("--cwd <dir>", "whose settings are read when no file is named", ".")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 no problem; 78 at least one.

Examples:
  bridle validate
  bridle validate .lionagi/hooks/*.yaml
  bridle validate hooks.yaml --json`,
    )
    .action(async (named: string[], { cwd, json = false }: ValidateFlags) => {
      const files =
        named.length === 0
          ? await validateSettings({ cwd })
          : await Promise.all(named.map((path) => validateFile({ path })));
      const shape = files.flatMap(({ issues }) => issues);
      // What a command names is looked for only when all that it stands in is understood.
      const missing =
        shape.length > 0 ? [] : await findMissing(named.length === 0 ? [undefined] : named, cwd);
      const issues = createRedactor({ env: process.env }).json([...shape, ...missing]);
      if (json)
        process.stdout.write(
          `${JSON.stringify({ type: "validated", files: files.map(summarise), issues })}\n`,
        );
      else
        process.stdout.write(
          `${[...issues.map(describeLocated), ...describeFiles(files, issues.length)].map(toOneLine).join("\n")}\n`,
        );
      process.exitCode = issues.length === 0 ? EXIT_CODES.success : EXIT_CODES.refused;
    });
}

/** Programs and scripts that are not there, placeholders without a value. Trust is no matter of a file's validity. */
async function findMissing(files: readonly (string | undefined)[], cwd: string): Promise<LocatedIssue[]> {
  const found: LocatedIssue[] = [];
  for (const file of files) {
    for (const { state, id, origin = "", problem = "", code = "command_not_found" } of await listHooks(
      await loadHooks({ file, cwd }),
    )) {
      if (state !== "refused") continue;
      const at = origin.lastIndexOf(":");
      found.push({
        code,
        path: `${origin}: ${id}`,
        message: problem,
        hint: "",
        file: origin.slice(0, at),
        line: Number(origin.slice(at + 1)),
      });
    }
  }
  return found;
}

function summarise({ path, entries, issues }: ValidatedFile): object {
  return { path, entries, issues: issues.length };
}

export function describeLocated({ file, line, code, path, message, hint }: LocatedIssue): string {
  const where = path.startsWith(file) ? path.slice(file.length).replace(/^:\d*:?\s*/, "") : path;
  const at = line === undefined ? file : `${file}:${line}`;
  return `${at}: ${code}${where === "" ? "" : ` ${where}`}: ${message}${hint === "" ? "" : ` (${hint})`}`;
}

function describeFiles(files: readonly ValidatedFile[], problems: number): string[] {
  if (files.length === 0) return ["no settings file is there; `bridle init` writes a first one"];
  return [
    ...files.map(({ path, entries }) => `${path}: ${entries} hook(s)`),
    problems === 0 ? "ok" : `${problems} problem(s)`,
  ];
}
