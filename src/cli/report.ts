// bridle report: one HTML file of a run or of a fan-out.

import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { lstat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "commander";
import { AgentHooksRefused, createReport, toOneLine } from "../index.ts";
import { writeWhole } from "./receipts/print.ts";

interface ReportFlags {
  readonly out?: string;
  readonly force?: boolean;
  readonly open?: boolean;
  readonly json?: boolean;
}

/** What every report has in its head: only such a file is written over without --force. */
const OWN_MARK = '<meta name="generator" content="bridle report">';
/** What a line of receipts begins with. */
const RECEIPT_START = '{"run_id":';
const HEAD_BYTES = 4096;

export function addReportCommand(program: Command): void {
  program
    .command("report")
    .description(
      "write one self-contained HTML file of a run or a fan-out: timeline, verdicts, denials, integrity",
    )
    .argument("<what>", "a run or a fan-out, or the beginning of a run's id; or a file of receipts")
    .option("--out <file>", "where it is written (default: bridle-report-<id>.html here)")
    .option("--force", "replace a file that is no report")
    .option("--open", "show it in the browser")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
A report that is there already is replaced; any other file is not, without --force.

Examples:
  bridle report 1b4e28ba --open
  bridle report 1b4e28ba --out run.html`,
    )
    .action(async (what: string, { out, force = false, open = false, json = false }: ReportFlags) => {
      const { of, id, html } = await createReport(what);
      const target = resolve(
        out ?? `bridle-report-${id.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 80)}.html`,
      );
      const head = await readHead(target);
      if (head?.startsWith(RECEIPT_START) === true) throw refuseReceipts(target);
      const isOwn = head?.includes(OWN_MARK) === true;
      const path = await writeWhole(target, only(html), { force: force || isOwn });
      if (json) process.stdout.write(`${JSON.stringify({ type: "report", of, id, path })}\n`);
      else process.stdout.write(`${toOneLine(path)}\n`);
      if (open) openInBrowser(path);
    });
}

/** Of a regular file; undefined: there is none. */
async function readHead(path: string): Promise<string | undefined> {
  const stats = await lstat(path).catch(() => undefined); // not there: nothing to replace
  if (stats?.isFile() !== true) return undefined;
  let head = "";
  for await (const piece of createReadStream(path, { encoding: "utf8", end: HEAD_BYTES - 1 })) head += piece;
  return head;
}

function refuseReceipts(path: string): AgentHooksRefused {
  const message = "holds receipts, which a report never replaces";
  const hint = "name another file with --out";
  return new AgentHooksRefused([{ code: "option_invalid", path: `--out ${path}`, message, hint }]);
}

/** Lets go of the browser at once; that there is none is told, and the file is there. */
function openInBrowser(path: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [pathToFileURL(path).href], { stdio: "ignore", detached: true });
  child.on("error", ({ message }) =>
    process.stderr.write(`bridle: ${toOneLine(`not opened: ${message}`)}\n`),
  );
  child.unref();
}

async function* only(text: string): AsyncGenerator<string, void> {
  yield text;
}
