// Receipts to write, a folder for them, and programs of their own that write until they are killed.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { inject } from "vitest";
import type { HookReceipt, HookRecord } from "../../src/host/receipt.ts";
import type { AgentHooksRefused } from "../../src/index.ts";

export const DIST = inject("dist");

export async function makeFolder() {
  const path = await realpath(await mkdtemp(join(tmpdir(), "bridle-store-")));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

export function receipt(changes: Partial<HookReceipt> = {}): HookReceipt {
  return {
    id: crypto.randomUUID(),
    seq: 0,
    owner_id: "tenant-1",
    run_id: "run-1",
    session_id: "session-1",
    call: 1,
    event: "PreToolUse",
    hook: "PreToolUse[0].hooks[0]",
    hook_type: "command",
    failure_mode: "closed",
    started_at: "2026-07-01T10:00:00.000Z",
    duration_ms: 12,
    status: "ok",
    decision: "none",
    background: false,
    input_keys: ["hook_event_name", "tool_name"],
    output_keys: [],
    exit: "exit 0",
    notes: [],
    ...changes,
  };
}

/** With everything that may be given. */
export function fullReceipt(changes: Partial<HookReceipt> = {}): HookReceipt {
  return receipt({
    scope: "project-7",
    decision: "deny",
    status: "timed_out",
    background: true,
    asked: "refused",
    tool_name: "Bash",
    tool_use_id: "toolu_1",
    agent_id: "agent-1",
    output_keys: ["decision", "hookSpecificOutput.permissionDecision"],
    exit: "timeout",
    notes: ["hook_timeout", "denied_by_exit"],
    error: 'first line\nsecond "line"',
    duration_ms: 12.5,
    ...changes,
  });
}

export function hook(changes: Partial<HookRecord> = {}): HookRecord {
  return {
    id: "PreToolUse[0].hooks[0]",
    owner_id: "tenant-1",
    event: "PreToolUse",
    type: "command",
    name: "guard",
    priority: 0,
    failure_mode: "closed",
    registered_at: "2026-07-01T09:00:00.000Z",
    ...changes,
  };
}

export async function collect<T>(items: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The one issue of a refusal. */
export async function issueOf(run: () => unknown) {
  try {
    await run();
  } catch (error) {
    const { issues = [] } = error as AgentHooksRefused;
    if (issues.length !== 1) throw error;
    return issues[0];
  }
  throw new Error("nothing was refused");
}

const WRITER = `
import { writeSync } from "node:fs";
const { dist, kind, path, first, count, text, template } = JSON.parse(process.argv[1]);
const store = kind === "jsonl"
  ? (await import(dist + "/host/jsonl-store.js")).createJsonlStore({ path })
  : await (await import(dist + "/store/index.js")).openReceiptStore({ path });
for (let seq = 0; seq < count; seq += 1) {
  const id = first + "-" + seq;
  store.write({ ...template, id, seq, error: text });
  writeSync(1, id + "\\n");
}
store.close();
`;

export interface Writer {
  readonly child: ChildProcess;
  /** Ids of the receipts whose \`write\` has returned. */
  readonly ids: string[];
  /** Resolves with exit code and signal when it has ended and everything it printed is in \`ids\`. */
  readonly ended: Promise<[number | null, string | null]>;
}

/** A program that writes receipts, and prints the id of each behind it. */
export function startWriter(orders: {
  kind: "jsonl" | "sqlite";
  path: string;
  /** Start of its ids. */
  first: string;
  count?: number;
  /** Makes the lines as long as a test wants them. */
  text?: string;
  onId?: (id: string) => void;
}): Writer {
  const { onId, ...rest } = orders;
  const told = { dist: DIST, count: 1_000_000, text: "", template: receipt(), ...rest };
  const child = spawn(process.execPath, ["--input-type=module", "-e", WRITER, JSON.stringify(told)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ids: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (id) => {
    ids.push(id);
    onId?.(id);
  });
  const ended = Promise.all([once(child, "exit"), once(lines, "close")]).then(
    ([status]) => status as [number | null, string | null],
  );
  return { child, ids, ended };
}
