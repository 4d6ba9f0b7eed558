// bridle receipts verify: follows the hash chain of runs' receipts and says what is not as it was written.

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Command } from "commander";
import {
  AgentHooksRefused,
  formatIssue,
  type ListedRun,
  listRuns,
  type ReceiptProblem,
  type ReceiptsState,
  receiptsDirectory,
  toOneLine,
  type VerifiedReceipts,
  verifyReceipts,
} from "../../index.ts";
import { EXIT_CODES } from "../exit-codes.ts";

interface VerifyFlags {
  readonly head?: string;
  readonly json?: boolean;
}

/** `running`: open, and the run goes on. `unreadable`: it could not be read at all. */
type FileState = ReceiptsState | "running" | "unreadable";

interface Verified extends Omit<VerifiedReceipts, "state"> {
  readonly state: FileState;
}

export function addVerifyCommand(receipts: Command): void {
  receipts
    .command("verify")
    .description("follow the hash chain of runs' receipts: what was changed, is missing, moved or added")
    .argument(
      "[what...]",
      "runs, or beginnings of their ids, and files of receipts (default: all of this user's runs)",
    )
    .option("--head <hash>", "of one: the hash it must end in, noted elsewhere (receiptHead of the result)")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 all are intact, or go on; 1 one is not: broken, not chained, without an end; 64 usage error; 78 refused.

Examples:
  bridle receipts verify
  bridle receipts verify 1b4e28ba --head 9f86d081884c7d65…
  bridle receipts verify kept/*.jsonl --json`,
    )
    .action(async (what: string[], { head, json = false }: VerifyFlags, command: Command) => {
      const files = await findFiles(what);
      if (head !== undefined && files.length !== 1)
        command.error(`error: --head is of one file of receipts, and there are ${files.length}`);
      const runs = await listRuns({ all: true });
      let isSound = true;
      const shown: Verified[] = [];
      for (const file of files) {
        const verified = await verifyFile(file, head, runs);
        isSound &&= verified.state === "intact" || verified.state === "running";
        if (json) shown.push(verified);
        else for (const line of describe(verified)) process.stdout.write(`${toOneLine(line)}\n`);
      }
      if (json) process.stdout.write(`${JSON.stringify({ type: "verified", files: shown })}\n`);
      else if (files.length === 0) process.stdout.write("no receipts of runs\n");
      process.exitCode = isSound ? EXIT_CODES.success : EXIT_CODES.failed;
    });
}

async function verifyFile(
  path: string,
  head: string | undefined,
  runs: readonly ListedRun[],
): Promise<Verified> {
  try {
    const verified = await verifyReceipts(path, head === undefined ? {} : { head });
    return verified.state === "open" ? judgeOpen(verified, runs) : verified;
  } catch (error) {
    if (!(error instanceof AgentHooksRefused) || error.issues.some(({ code }) => code === "option_invalid"))
      throw error;
    const detail = error.issues.map(formatIssue).join("; ");
    const problems: ReceiptProblem[] = [{ kind: "missing", line: 0, detail }];
    return { path, state: "unreadable", lines: 0, runs: [], problems };
  }
}

/** Without an end: the journal knows whether there should be one. */
function judgeOpen(verified: VerifiedReceipts, runs: readonly ListedRun[]): Verified {
  const known = runs.find(({ runId }) => `${runId}.jsonl` === basename(verified.path));
  if (known?.state === "running" && verified.problems.every(({ kind }) => kind === "torn"))
    return { ...verified, state: "running" };
  if (known?.state !== "ended") return verified;
  const detail = `the journal says that the run has ended (${known.outcome}), and its last lines are not here`;
  const cut: ReceiptProblem = { kind: "cut", line: verified.lines, detail };
  return { ...verified, state: "broken", problems: [...verified.problems, cut] };
}

const MEANING: Readonly<Record<FileState, string>> = {
  intact: "",
  running: ", the run goes on",
  open: ", no end: the run was killed and not recovered, or its last lines were cut off",
  broken: "",
  not_chained: ", written without a chain: nothing can be shown",
  unreadable: "",
};

function describe({ path, state, lines, runs, problems }: Verified): string[] {
  const [only, ...others] = runs;
  const head = only?.head === undefined || others.length > 0 ? "" : `, head ${only.head}`;
  const many = others.length > 0 ? ` of ${runs.length} runs` : "";
  const word = state.replace("_", " ").padEnd(11);
  return [
    `${word} ${path}  ${lines} line(s)${many}${head}${MEANING[state]}`,
    ...problems.map(({ kind, line, detail }) => `  ${path}:${line}: ${kind.replace("_", " ")}: ${detail}`),
  ];
}

/** A word with a slash, an ending, or that names a file that is there, is a file; every other is of a run. */
async function findFiles(what: readonly string[]): Promise<string[]> {
  const folder = receiptsDirectory();
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const own = names.filter((name) => name.endsWith(".jsonl")).sort();
  if (what.length === 0) return own.map((name) => join(folder, name));
  return what.map((word) => {
    if (word.includes("/") || word.endsWith(".jsonl") || existsSync(word)) return resolve(word);
    return join(folder, chooseRun(word, own));
  });
}

function chooseRun(start: string, names: readonly string[]): string {
  const found = names.filter((name) => start !== "" && name.startsWith(start));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const shown = found.slice(0, 20).map((name) => basename(name, ".jsonl"));
  const message =
    only === undefined
      ? `${JSON.stringify(start)} names no run with receipts, and no file`
      : `${JSON.stringify(start)} names ${found.length}: ${shown.join(", ")}`;
  const hint = only === undefined ? "`bridle receipts list` shows them" : "give more of the id";
  throw new AgentHooksRefused([{ code: "option_invalid", path: "what", message, hint }]);
}
