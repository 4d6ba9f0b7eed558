// bridle init: writes a settings file and a first guard that passes its self-tests. It overwrites nothing and runs nothing.

import { lstat, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { toOneLine } from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { type FirstFile, firstFiles, type Language } from "./first-guard.ts";

interface InitFlags {
  readonly lang: Language;
  readonly dir: string;
  readonly json?: boolean;
}

export function addInitCommand(program: Command): void {
  program
    .command("init")
    .description("write a commented .lionagi/settings.yaml and a first guard with its self-tests")
    .addOption(new Option("--lang <language>", "of the guard").choices(["node", "sh"]).default("node"))
    .option("--dir <dir>", "the project", ".")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 written; 1 a file is there already, and nothing was written.

Examples:
  bridle init
  bridle init --lang sh --dir path/to/project`,
    )
    .action(async ({ lang, dir, json = false }: InitFlags) => {
      const root = resolve(dir);
      const files = firstFiles(lang);
      const { written, there } = await writeAll(root, files);
      if (json) process.stdout.write(`${JSON.stringify({ type: "init", root, written, there })}\n`);
      else if (there.length > 0)
        process.stderr.write(
          `bridle: ${toOneLine(there.join(", "))} is there already: nothing was written\n`,
        );
      else process.stdout.write(`${describeInit(root, written).map(toOneLine).join("\n")}\n`);
      process.exitCode = there.length === 0 ? EXIT_CODES.success : EXIT_CODES.failed;
    });
}

/** All of them or none. A file that appears meanwhile is not overwritten either. */
async function writeAll(
  root: string,
  files: readonly FirstFile[],
): Promise<{ written: string[]; there: string[] }> {
  const there: string[] = [];
  for (const { path } of files) if (await isThere(join(root, path))) there.push(path);
  if (there.length > 0) return { written: [], there };
  const written: string[] = [];
  try {
    for (const { path, mode, text } of files) {
      const file = join(root, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { mode, flag: "wx" });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(join(root, path), { force: true });
    const { code, path = root } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw error;
    return { written: [], there: [path] };
  }
  return { written, there };
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return false;
      throw error;
    },
  );
}

function describeInit(root: string, written: readonly string[]): string[] {
  return [
    ...written.map((path) => `written  ${join(root, path)}`),
    "next:",
    "  bridle test                      what the guard answers to its self-tests",
    "  bridle list                      what runs, and why",
    "  bridle doctor                    whether an agent is there that can be guarded",
    '  bridle run codex "your task"     a guarded run; claude in its place for the other',
  ];
}
