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
  provenCallbacks,
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
    .option(
      "--jobs <n>",
      "cases at a time, 1 to 64 (default: one more than processors, at most 6)",
      parseJobs,
    )
    .option("--compare <old-and-new...>", "two records: shows what changed, runs nothing")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Each answer ends with the rules it shows: sections of docs/PROFILE.md, differences between the agents (Dv1-*) and
measured facts (C-* in docs/providers/claude.md, X-* in docs/providers/codex.md).

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

/** Over its own pipes an agent need not hold: what does not is asked through the shim. */
const isNeeded = ({ column, required }: ProvenCase) => required && column !== "claude-callbacks";

function isBroken(item: ProvenCase): boolean {
  return isNeeded(item) && item.verdict !== "holds";
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
  const { provider, version, cases, durationMs, network, platform } = proof;
  const rows = cases.flatMap((item) => {
    const { verdict, title, rule, observed, because } = item;
    const mark = isNeeded(item) || verdict === "holds" ? MARKS[verdict] : "no";
    const known = because === undefined || verdict === "holds" ? [] : [`${INDENT}known: ${because}`];
    return [
      `${mark.padEnd(9)}${title}`,
      `${INDENT}${nameOf(item, provider)} | ${rule.join(", ")} | ${observed}`,
      ...known,
    ];
  });
  const required = cases.filter(isNeeded);
  const broken = required.filter(isBroken);
  const known = cases.filter((item) => !isNeeded(item) && item.verdict !== "holds").length;
  const callbacks = provenCallbacks(proof);
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
    conclude(proof, broken),
    ...(callbacks.length === 0
      ? []
      : [
          `Asked over its own pipes, without a process a call: ${callbacks.join(", ")}; all others by shell command.`,
        ]),
    ...(path === undefined ? [] : [`Record: ${path}`]),
  ];
}

/** What the answers mean, in one line. A part of the cases, or one that could not be tried, proves nothing. */
function conclude({ provider, set, cases }: Proof, broken: readonly ProvenCase[]): string {
  const names = [...new Set(broken.map((item) => nameOf(item, provider)))].join(", ");
  if (set === "part")
    return `Only ${cases.length} case(s) were run: this proves nothing and is not kept. Run it without --case.`;
  const unclear = broken.filter(({ core, verdict }) => core && verdict === "unclear");
  if (unclear.length > 0)
    return `Not decided: ${names} could not be tried. Nothing was put on record; try again.`;
  if (broken.some(({ core }) => core))
    return `Not proven: blocking guards are refused for this binary (${names}).`;
  if (broken.length > 0)
    return `Proven for blocking guards; outside of that the binary does not hold ${names}.`;
  return set === "core"
    ? "Proven: this binary can be given blocking guards. `bridle run` goes by this record; nothing more is to be done."
    : "Proven: the whole matrix holds for this binary.";
}

function nameOf({ id, column }: Pick<ProvenCase, "id" | "column">, provider: Provider): string {
  return column === provider ? id : `${id} (${column.slice(provider.length + 1)})`;
}

async function compareFiles(files: readonly string[], json: boolean, command: Command): Promise<void> {
  const [older, newer, ...more] = files;
  if (older === undefined || newer === undefined || more.length > 0)
    return command.error("error: --compare takes two files: OLD NEW");
  const [from, to] = [await readProof(older), await readProof(newer)];
  if (from.provider !== to.provider)
    return command.error(`error: ${older} is of ${from.provider}, ${newer} of ${to.provider}`);
  const comparison = compareProofs(from, to);
  const { before, after, changes, onlyInOne, unchanged } = comparison;
  const worse = changes.filter(({ change }) => change === "worse");
  if (worse.length > 0) process.exitCode = EXIT_CODES.failed;
  if (json) {
    process.stdout.write(`${JSON.stringify({ type: "comparison", ...comparison })}\n`);
    return;
  }
  const lines = [
    `${before.provider} ${before.version} -> ${after.version} (${after.platform})`,
    ...(before.matrix === after.matrix ? [] : ["The two records were made with different matrices."]),
    ...(before.set === after.set
      ? []
      : [
          `${older} holds the set "${before.set}", ${newer} "${after.set}": ${onlyInOne} case(s) are in one only and were left out.`,
        ]),
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
