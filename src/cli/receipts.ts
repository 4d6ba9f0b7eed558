// bridle receipts: what was written down of runs and of hosts, listed, shown, exported and verified. Reads only.

import { type Command, Option } from "commander";
import { AgentHooksRefused, toOneLine } from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { CSV_HEAD, toCsv } from "./receipts/csv.ts";
import { describeEntry } from "./receipts/describe.ts";
import type { Entry } from "./receipts/entry.ts";
import { addFilterOptions, checkPeriod, type Filters, isMeant } from "./receipts/filters.ts";
import { printLines, writeWhole } from "./receipts/print.ts";
import { refuseSource } from "./receipts/refuse-source.ts";
import { type FoundIds, openSource, type Source } from "./receipts/source.ts";
import { createSummaries, formatSummaries } from "./receipts/summarize.ts";
import { addVerifyCommand } from "./receipts/verify.ts";

interface Flags extends Filters {
  readonly from?: string;
  readonly json?: boolean;
}

interface ExportFlags extends Flags {
  readonly format: "jsonl" | "csv";
  readonly out?: string;
  readonly force?: boolean;
}

export function addReceiptsCommand(program: Command): void {
  const receipts = program
    .command("receipts")
    .description("what was written down of hooks that ran: list runs, show one, export lines, verify files")
    .addHelpText(
      "after",
      `
All of them take --json.

Exit codes: 0 everything was read; 1 something could not be read, and stderr says what; verify: something is not as it
was written; 64 usage error; 78 refused.

Examples:
  bridle receipts list --since 2h
  bridle receipts show 1b4e28ba
  bridle receipts verify 1b4e28ba
  bridle receipts list --from state/receipts.sqlite --decision deny
  bridle receipts export --format csv --status failed --out failed.csv`,
    );

  withCommon(receipts.command("list"), "at most so many, the latest ones")
    .description("one row a run, or a session of a host, the latest first: hooks that ran, denials, failures")
    .option("--json", "one JSON object on stdout")
    .action((flags: Flags, command: Command) => withSource(flags, command, (source) => list(source, flags)));

  withCommon(receipts.command("show"), "at most so many lines, the first ones")
    .description("the lines of one run or session, in their order")
    .argument("<id>", "of a run or of a session, or its beginning")
    .option("--json", "the lines themselves, as JSONL on stdout")
    .action((id: string, flags: Flags, command: Command) =>
      withSource(flags, command, (source) => show(source, id, flags)),
    );

  withCommon(receipts.command("export"), "at most so many lines, the first ones")
    .description("all lines that the filters leave")
    .addOption(new Option("--format <format>", "of the lines").choices(["jsonl", "csv"]).default("jsonl"))
    .option(
      "--out <file>",
      "a file of yours alone, written whole or not at all, and never the source (default: stdout)",
    )
    .option("--force", "replace the file that is there")
    .option("--json", "with --out: one JSON object on stdout")
    .action((flags: ExportFlags, command: Command) =>
      withSource(flags, command, (source) => exportLines(source, flags)),
    );

  addVerifyCommand(receipts);
}

function withCommon(command: Command, limited: string): Command {
  return addFilterOptions(
    command.option(
      "--from <path>",
      "a file of a host's receipts, an SQLite store, or a folder of .jsonl files (default: the receipts of this user's runs)",
    ),
    { limited },
  );
}

/** Opens, reads, tells what could not be read. `read` resolves with false when nobody listens any more. */
async function withSource(
  flags: Flags,
  command: Command,
  read: (source: Source) => Promise<boolean>,
): Promise<void> {
  checkPeriod(command, flags);
  const source = await openSource(flags.from);
  try {
    if (!(await read(source))) return;
  } finally {
    source.close();
    for (const problem of source.problems) process.stderr.write(`bridle: ${toOneLine(problem)}\n`);
  }
  process.exitCode = source.problems.length === 0 ? EXIT_CODES.success : EXIT_CODES.failed;
}

async function list(source: Source, { json = false, ...filters }: Flags): Promise<boolean> {
  const summaries = createSummaries();
  // Only stores use the filters to read less: of a run in a file the end is there to be noted.
  for await (const entry of source.entries(filters))
    summaries.add(entry, { isMeant: isMeant(entry, filters) });
  const runs = summaries.rows().slice(0, filters.limit);
  const { problems } = source;
  if (json) return printLines(only(`${JSON.stringify({ type: "receipts", runs, problems })}\n`));
  const lines = runs.length === 0 ? [`no receipts in ${toOneLine(source.name)}`] : formatSummaries(runs);
  return printLines(only(lines.map((line) => `${line}\n`).join("")));
}

async function show(source: Source, start: string, { json = false, ...filters }: Flags): Promise<boolean> {
  const found = await source.findIds(start);
  const id = chooseId(start, found, source.name);
  const entries = choose(source.entriesOf(id, found.get(id) ?? new Set()), filters);
  return printLines(mapLines(entries, json ? toJsonLine : toText));
}

async function exportLines(source: Source, flags: ExportFlags): Promise<boolean> {
  const { format, out, force = false, json = false } = flags;
  if (out !== undefined) refuseSource(out, source);
  let lines = 0;
  const entries = choose(source.entries(flags), flags);
  const toLine = format === "csv" ? toCsv : toJsonLine;
  const counted = mapLines(entries, (entry) => {
    lines += 1;
    return toLine(entry);
  });
  const whole = format === "csv" ? withHead(CSV_HEAD, counted) : counted;
  if (out === undefined) return printLines(whole);
  const path = await writeWhole(out, whole, { force });
  if (json)
    return printLines(
      only(`${JSON.stringify({ type: "exported", path, lines, problems: source.problems })}\n`),
    );
  return printLines(only(`${lines} line(s) written to ${toOneLine(path)}\n`));
}

function chooseId(start: string, found: FoundIds, name: string): string {
  const ids = [...found.keys()].sort();
  if (start !== "" && found.has(start)) return start;
  if (start !== "" && ids.length === 1 && ids[0] !== undefined) return ids[0];
  const message =
    start === ""
      ? "it is empty"
      : ids.length === 0
        ? `${JSON.stringify(start)} names no run and no session in ${name}`
        : `${JSON.stringify(start)} names ${ids.length} or more: ${ids.join(", ")}`;
  const hint = ids.length === 0 ? "`bridle receipts list` shows them" : "give more of the id";
  throw new AgentHooksRefused([{ code: "option_invalid", path: "id", message, hint }]);
}

async function* choose(entries: AsyncIterable<Entry>, filters: Filters): AsyncGenerator<Entry, void> {
  let left = filters.limit ?? Number.POSITIVE_INFINITY;
  for await (const entry of entries) {
    if (!isMeant(entry, filters)) continue;
    yield entry;
    left -= 1;
    if (left === 0) return;
  }
}

async function* mapLines(
  entries: AsyncIterable<Entry>,
  toLine: (entry: Entry) => string,
): AsyncGenerator<string, void> {
  for await (const entry of entries) yield toLine(entry);
}

async function* withHead(head: string, lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  yield head;
  yield* lines;
}

async function* only(text: string): AsyncGenerator<string, void> {
  yield text;
}

/** As a store or a run has written it. */
function toJsonLine({ line }: Entry): string {
  return `${JSON.stringify(line)}\n`;
}

function toText(entry: Entry): string {
  return `${describeEntry(entry).join("\n")}\n`;
}
