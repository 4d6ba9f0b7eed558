// Runs a linter on the files that a tool has just changed and hands its complaints to the model. No shell, and no file outside the working
// directory. Runs after the edit: it takes nothing back.

import { realpath, stat } from "node:fs/promises";
import { isAbsolute, resolve, sep } from "node:path";
import { findProgram } from "../compiler/resolve-command.ts";
import { TIMEOUT_MAX_SECONDS } from "../declaration/schema.ts";
import type { FunctionEntry } from "../declaration/types.ts";
import { buildHookEnv } from "../exec/hook-env.ts";
import { type CommandResult, runCommand } from "../exec/run-command.ts";
import { deny } from "../profile/answer.ts";
import { describeExit } from "../profile/describe-exit.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { checkOptions, checkStrings, optionError } from "./options.ts";
import { readCall } from "./read-call.ts";

export interface LintAfterEditOptions {
  /** Program and arguments; the absolute paths of the files are appended. A program with a slash is relative to the agent's directory. */
  readonly command: readonly string[];
  /** Only files that end so, with the dot: `[".ts", ".tsx"]`. @default all files */
  readonly extensions?: readonly string[];
  /** Seconds for the linter; later it is ended, and the model is told so. @default 60 */
  readonly timeout?: number;
}

const NAME = "lintAfterEdit";
const TIMEOUT_SECONDS = 60;
/** What the entry has beyond the linter's own time, so that a late linter is told by this hook: seconds. */
const MARGIN_SECONDS = 10;
const OUTPUT_BYTES = 256 * 1024;
/** Of the output, for the model, in UTF-16 units. */
const SHOWN_MAX = 8_000;

let runs = 0;

/**
 * For `PostToolUse`. Exit 0 is silent; any other end blocks with the output, cut. A linter that cannot be started is a failure of the hook,
 * which the receipts tell. Throws `TypeError` for options that cannot be used.
 * @example { PostToolUse: [{ matcher: "kind:edit", hooks: [lintAfterEdit({ command: ["npx", "eslint"] })] }] }
 */
export function lintAfterEdit(options: LintAfterEditOptions): FunctionEntry {
  checkOptions(NAME, options, ["command", "extensions", "timeout"]);
  const { command, extensions, timeout = TIMEOUT_SECONDS } = options ?? {};
  const argv = checkStrings(`${NAME}: command`, command, { isEmptyFine: false });
  const endings =
    extensions === undefined
      ? undefined
      : checkStrings(`${NAME}: extensions`, extensions, { isEmptyFine: false });
  for (const [index, ending] of (endings ?? []).entries())
    if (!/^\.[^/]+$/.test(ending))
      throw optionError(`${NAME}: extensions[${index}]`, "an ending with its dot, such as .ts", ending);
  if (
    typeof timeout !== "number" ||
    !Number.isFinite(timeout) ||
    timeout <= 0 ||
    timeout > TIMEOUT_MAX_SECONDS - MARGIN_SECONDS
  )
    throw optionError(
      `${NAME}: timeout`,
      `a number of seconds above 0, at most ${TIMEOUT_MAX_SECONDS - MARGIN_SECONDS}`,
      timeout,
    );
  return {
    type: "function",
    name: NAME,
    timeout: timeout + MARGIN_SECONDS,
    handler: async (envelope, { signal }) => {
      const { paths } = readCall(envelope);
      const { cwd } = envelope;
      const files = await existingFiles(paths, cwd, endings);
      if (files.length === 0) return undefined;
      const path = process.env.PATH ?? "";
      const program = await findProgram(argv[0] as string, { root: cwd, path });
      if (program === undefined)
        throw new Error(
          `${NAME}: the program ${JSON.stringify(argv[0])} is not there; looked ${argv[0]?.includes("/") ? `in ${cwd}` : "on PATH"}`,
        );
      runs += 1;
      const marker = `${NAME}.${process.pid}.${runs}`;
      const result = await runCommand({
        argv: [program, ...argv.slice(1), ...files],
        env: buildHookEnv({
          hookPath: path,
          base: process.env,
          projectDir: cwd,
          runId: envelope.run_id,
          entryEnv: {},
          marker,
        }),
        cwd,
        stdin: "",
        timeoutMs: Math.ceil(timeout * 1000),
        marker,
        capBytes: OUTPUT_BYTES,
        signal,
      });
      if (result.exit.kind === "failed") throw new Error(`${NAME}: ${result.exit.message}`);
      if (result.exit.kind === "exit" && result.exit.code === 0) return undefined;
      return deny(
        envelope,
        `${NAME}: ${argv[0]} found problems (${describeExit(result.exit)}):\n${describeOutput(result)}`,
      );
    },
  };
}

/** Regular files below `cwd`, links resolved, each once; what was deleted is not there any more. */
async function existingFiles(
  paths: readonly string[],
  cwd: string,
  endings: readonly string[] | undefined,
): Promise<string[]> {
  const root = await realpath(cwd);
  const found = new Set<string>();
  for (const path of paths) {
    if (path.includes("\0") || (endings !== undefined && !endings.some((ending) => path.endsWith(ending))))
      continue;
    const real = await realpath(isAbsolute(path) ? path : resolve(cwd, path)).catch(() => undefined);
    if (real === undefined || !real.startsWith(root === sep ? sep : root + sep)) continue;
    if ((await stat(real).catch(() => undefined))?.isFile() === true) found.add(real);
  }
  return [...found];
}

function describeOutput({ stdout, stderr, stdoutTruncated, stderrTruncated }: CommandResult): string {
  const text = createRedactor({ env: process.env }).text(
    [stdout, stderr]
      .map((bytes) => bytes.toString().trim())
      .filter((part) => part !== "")
      .join("\n"),
  );
  if (text === "") return "it printed nothing";
  const isCut = text.length > SHOWN_MAX;
  return `${isCut ? text.slice(0, SHOWN_MAX) : text}${isCut || stdoutTruncated || stderrTruncated ? "\n… (cut)" : ""}`;
}
