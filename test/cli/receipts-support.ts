// Receipts of runs and of hosts on the disk, and the command that reads them.

import { execFile } from "node:child_process";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createJsonlStore, type StampedReceipt } from "../../src/index.ts";
import { openReceiptStore } from "../../src/store/index.ts";
import { DIST, fullReceipt, hook, makeFolder, receipt } from "../store/support.ts";

export const MAIN = join(DIST, "cli", "main.js");
export const RUN = "11111111-aaaa-4aaa-8aaa-000000000001";
export const SECOND_RUN = "11111111-bbbb-4aaa-8aaa-000000000002";

export const at = (second: number) => `2026-07-01T10:00:${String(second).padStart(2, "0")}.000Z`;

export const HOST_LINES = [
  receipt({ id: "h1", seq: 0, started_at: at(1), tool_name: "Bash" }),
  fullReceipt({ id: "h2", seq: 1, started_at: at(2), tool_name: "Read" }),
  receipt({ id: "h3", seq: 2, started_at: at(3), session_id: "session-2", status: "failed", error: "boom" }),
];

export const idsOf = (stdout: string): string[] =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).id);

export type Desk = Awaited<ReturnType<typeof makeDesk>>;

/** A home with a state directory of its own. */
export async function makeDesk() {
  const { path, remove } = await makeFolder();
  const runs = join(path, "state", "bridle", "receipts");
  const host = join(path, "host.jsonl");
  const env = {
    PATH: process.env.PATH,
    HOME: path,
    XDG_STATE_HOME: join(path, "state"),
    NO_COLOR: "1",
  };
  const bridle = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, [MAIN, "receipts", ...args], { env, cwd: path }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  /** The same receipts as a file and as a store. */
  const writeHost = async (of: "jsonl" | "sqlite"): Promise<string> => {
    const file = of === "jsonl" ? host : join(path, "host.db");
    const store = of === "jsonl" ? createJsonlStore({ path: file }) : await openReceiptStore({ path: file });
    store.register(hook({ matcher: "Bash" }));
    for (const line of HOST_LINES) store.write(line);
    store.close();
    return file;
  };
  return { path, runs, host, env, bridle, remove, writeHost, writeRun: writeRunIn(runs) };
}

/** As a run writes it: a Bash call that is denied, one whose guard fails, and the end. */
const writeRunIn =
  (runs: string) =>
  (run_id: string, { session, first = 0 }: { session: string; first?: number }): string => {
    let seq = 0;
    const stamp = (line: object) =>
      ({ run_id, seq: seq++, at: at(first + seq - 1), ...line }) as StampedReceipt;
    const lines = [
      stamp({
        kind: "run_started",
        provider: "codex",
        provider_version: "0.171.0",
        binary_sha256: "",
        digest: "",
        prove: "off",
        cwd: "/srv/project",
        session_id: session,
        prompt_bytes: 4,
      }),
      stamp({ kind: "fired", event: "PreToolUse", call: 1, fields: {}, tool_name: "Bash" }),
      stamp({
        kind: "hook",
        event: "PreToolUse",
        call: 1,
        hook: "PreToolUse[0].hooks[0]",
        decision: "deny",
        failed: false,
        exit: "exit 2",
        duration_ms: 12,
        leftovers: 0,
        notes: [],
      }),
      stamp({
        kind: "verdict",
        event: "PreToolUse",
        call: 1,
        decision: "deny",
        matched: ["PreToolUse[0].hooks[0]"],
        duration_ms: 13,
        in_time: true,
      }),
      stamp({
        kind: "hook",
        event: "PostToolUse",
        call: 2,
        hook: "PostToolUse[0].hooks[0]",
        decision: "none",
        failed: true,
        exit: "timeout",
        duration_ms: 1000,
        leftovers: 1,
        notes: [{ code: "hook_timeout", detail: "no answer within 1000 ms" }],
      }),
      stamp({ kind: "fault", fault: "late", event: "PreToolUse", detail: "call 3" }),
      stamp({
        kind: "run_ended",
        outcome: "success",
        reason: "final message",
        exit_code: 0,
        signal: null,
        duration_ms: 5000,
        extinction: "proven",
      }),
    ];
    mkdirSync(runs, { recursive: true });
    const file = join(runs, `${run_id}.jsonl`);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    utimesSync(file, 1_000_000 + first, 1_000_000 + first);
    return file;
  };
