// bridle prove: what the installed CLI really enforces, as a table; --compare: what an upgrade changed.

import { readFile } from "node:fs/promises";
import { Argument, type Command, InvalidArgumentError } from "commander";
import {
  AgentHooksRefused,
  type CaseChange,
  compareProofs,
  type Proof,
  type ProvenCase,
  type Provider,
  parseProof,
  proveProvider,
  toOneLine,
} from "../index.ts";
import { ENDING_SIGNALS, parseProvider } from "./compile-file.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { createProgressBar } from "./progress-bar.ts";
import { RunInterrupted } from "./report-error.ts";

interface ProveFlags {
  readonly binary?: string;
  readonly all?: boolean;
  readonly case?: string[];
  readonly jobs?: number;
  readonly json?: boolean;
  readonly compare?: string[];
}

export function addProveCommand(program: Command): void {
  program
    .command("prove")
    .description("find out whether the installed agent really runs and obeys guards: offline, without a key")
    .addArgument(new Argument("[provider]", "claude or codex").argParser(parseProvider))
    .option("--binary <path>", "the agent's binary (default: found on PATH)")
    .option("--all", "the whole matrix instead of what a blocking guard relies on")
    .option("--case <id...>", "only these cases; the result is not kept")
    .option("--jobs <n>", "cases at a time", parseJobs)
    .option("--compare <old-and-new...>", "two records: shows what changed, runs nothing")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Examples:
  bridle prove codex
  bridle prove claude --binary ./claude --all --json > new.json
  bridle prove --compare old.json new.json`,
    )
    .action(async (provider: Provider | undefined, flags: ProveFlags, command: Command) => {
      if (flags.compare !== undefined) return compareFiles(flags.compare, flags.json === true, command);
      if (provider === undefined) return command.error("error: name a provider: claude or codex");
      return prove(provider, flags);
    });
}

function parseJobs(value: string): number {
  const jobs = Number(value);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > 64)
    throw new InvalidArgumentError("a whole number from 1 to 64");
  return jobs;
}

async function prove(provider: Provider, { binary, all, case: only, jobs, json }: ProveFlags): Promise<void> {
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => interrupted.abort(new RunInterrupted(signal));
  for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
  const bar = createProgressBar(process.stderr);
  try {
    const { proof, path } = await proveProvider({
      provider,
      signal: interrupted.signal,
      onFound: ({ version }) => bar.title(`asking ${provider} ${version}`),
      onProgress: ({ done, total, case: { id } }) => bar.show(done, total, id),
      ...(binary === undefined ? {} : { binary }),
      ...(all === true ? { set: "all" } : {}),
      ...(only === undefined ? {} : { only }),
      ...(jobs === undefined ? {} : { jobs }),
    });
    bar.clear();
    if (json === true)
      process.stdout.write(
        `${JSON.stringify({ type: "proof", ...(path === undefined ? {} : { path }), proof })}\n`,
      );
    else process.stdout.write(`${describeProof(proof, path).map(toOneLine).join("\n")}\n`);
    if (proof.cases.some(isBroken)) process.exitCode = EXIT_CODES.failed;
  } finally {
    bar.clear();
  }
}

function isBroken({ required, verdict }: ProvenCase): boolean {
  return required && verdict !== "holds";
}

const MARKS: Readonly<Record<ProvenCase["verdict"], string>> = {
  holds: "yes",
  refused: "REFUSED",
  fails: "NO",
  unclear: "UNCLEAR",
};

const INDENT = " ".repeat(9);

/** The table for a terminal, one string a line. */
export function describeProof(proof: Proof, path: string | undefined): string[] {
  const { provider, version, cases, durationMs, network, set, platform } = proof;
  const rows = cases.flatMap((item) => {
    const { required, verdict, title, rule, observed, because } = item;
    const mark = required || verdict === "holds" ? MARKS[verdict] : "no";
    const known = because === undefined || verdict === "holds" ? [] : [`${INDENT}known: ${because}`];
    return [
      `${mark.padEnd(9)}${title}`,
      `${INDENT}${nameOf(item, provider)} | ${rule.join(", ")} | ${observed}`,
      ...known,
    ];
  });
  const required = cases.filter((item) => item.required);
  const broken = required.filter(isBroken);
  const known = cases.filter(({ required: must, verdict }) => !must && verdict !== "holds").length;
  const seconds = (durationMs / 1000).toFixed(1);
  const where =
    network === "netns"
      ? "in a network namespace without a way out"
      : "with loopback addresses and dead proxies";
  return [
    `Does ${provider} ${version} (${platform}) run your guards and obey them? Each line was tried with a scripted model; what counts is what happened on disk.`,
    "",
    ...rows,
    "",
    `${required.length - broken.length} of ${required.length} required answers are yes${known > 0 ? `; ${known} known gap(s), marked "no", are not required` : ""}. ${seconds} s, ${where}.`,
    broken.length === 0
      ? set === "core"
        ? `Proven: this binary can be given blocking guards.`
        : `Proven: the whole matrix holds for this binary.`
      : `Not proven: blocking guards are refused for this binary (${broken.map(({ id }) => id).join(", ")}).`,
    ...(path === undefined ? [] : [`Record: ${path}`]),
  ];
}

function nameOf({ id, column }: Pick<ProvenCase, "id" | "column">, provider: Provider): string {
  return column === provider ? id : `${id} (${column.slice(provider.length + 1)})`;
}

async function compareFiles(files: readonly string[], json: boolean, command: Command): Promise<void> {
  const [older, newer, ...more] = files;
  if (older === undefined || newer === undefined || more.length > 0)
    return command.error("error: --compare takes two files: OLD NEW");
  const comparison = compareProofs(await readProof(older), await readProof(newer));
  const { before, after, changes, unchanged } = comparison;
  const worse = changes.filter(({ change }) => change === "worse");
  if (worse.length > 0) process.exitCode = EXIT_CODES.failed;
  if (json) {
    process.stdout.write(`${JSON.stringify({ type: "comparison", ...comparison })}\n`);
    return;
  }
  const lines = [
    `${before.provider} ${before.version} -> ${after.version} (${after.platform})`,
    ...(before.matrix === after.matrix ? [] : ["The two records were made with different matrices."]),
    ...changes.map(describeChange),
    `${changes.length} case(s) changed, ${worse.length} for the worse; ${unchanged} are the same.`,
  ];
  process.stdout.write(`${lines.map(toOneLine).join("\n")}\n`);
}

function describeChange({ change, id, column, title, before, after }: CaseChange): string {
  const seen = after === undefined ? "" : `: ${after.observed}`;
  return `${change.padEnd(8)}${id} (${column})  ${before?.verdict ?? "-"} -> ${after?.verdict ?? "-"}  ${title}${seen}`;
}

async function readProof(file: string): Promise<Proof> {
  const refuse = (message: string) =>
    new AgentHooksRefused([
      {
        code: "option_invalid",
        path: file,
        message,
        hint: "pass what `bridle prove --json` printed, or a record",
      },
    ]);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw refuse(`cannot be read: ${(error as Error).message}`);
  }
  const proof = parseProof(text);
  if (typeof proof === "string") throw refuse(proof);
  return proof;
}
