// Remembers which hooks a kept session ran under, so that a resume cannot quietly run it under fewer.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { CompiledEntry, HookPlan } from "../compiler/plan.ts";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { makeDirectories } from "../make-directories.ts";
import { capabilityOf } from "../profile/events.ts";

const recordSchema = z.object({
  version: z.literal(1),
  provider: z.enum(["claude", "codex"]),
  cwd: z.string(),
  digest: z.string(),
  /** Fingerprints of the blocking hooks. */
  gates: z.array(z.string()),
  /** The provider home that holds the session. */
  home: z.string(),
});
export type SessionRecord = z.infer<typeof recordSchema>;

export function sessionsDirectory(stateDir: string): string {
  return join(stateDir, "sessions");
}

/** One line per blocking hook: what it watches and the bytes that run. */
export function fingerprintGates(plan: HookPlan): string[] {
  return plan.entries.filter(({ event }) => capabilityOf(event).role === "gate").map(fingerprint);
}

function fingerprint(entry: CompiledEntry): string {
  const { event, matcher = "", onFailure, grants, where, once, async: background } = entry;
  // Only where it is said: records that were written before there was any of it stay what they are.
  const narrowed =
    where === undefined && once === undefined && background === undefined
      ? []
      : [{ where, once, background }];
  const watched = [event, matcher, onFailure, grants, ...narrowed];
  return createHash("sha256")
    .update(JSON.stringify([watched, runsOf(entry)]))
    .digest("hex");
}

function runsOf(entry: CompiledEntry): unknown[] {
  if (entry.type === "http") return [entry.url, entry.headers];
  return entry.type === "command"
    ? [entry.argv, entry.env, entry.files.map(({ path, sha256 }) => [path, sha256])]
    : [entry.name, entry.handler.toString()];
}

export async function saveSession(
  stateDir: string,
  providerSessionId: string,
  record: Omit<SessionRecord, "version">,
): Promise<void> {
  await makeDirectories(sessionsDirectory(stateDir));
  await writeFile(recordPath(stateDir, providerSessionId), `${JSON.stringify({ version: 1, ...record })}\n`, {
    mode: 0o600,
  });
}

/** The record of a session to resume. Throws `resume_mismatch` when there is none or it was made under other terms. */
export async function loadSession({
  stateDir,
  providerSessionId,
  plan,
  cwd,
  allowHookChange,
}: {
  stateDir: string;
  providerSessionId: string;
  plan: HookPlan;
  cwd: string;
  allowHookChange: boolean;
}): Promise<SessionRecord> {
  const issues: Issue[] = [];
  const mismatch = (message: string, hint: string) =>
    issues.push({ code: "resume_mismatch", path: "resume", message, hint });
  const record = await readRecord(stateDir, providerSessionId);
  if (record === undefined)
    mismatch(
      `no record of session ${JSON.stringify(providerSessionId)}`,
      "run it with keepSession: true first",
    );
  else {
    if (record.provider !== plan.provider) mismatch(`the session belongs to ${record.provider}`, "");
    if (record.cwd !== cwd)
      mismatch(`the session was recorded in ${record.cwd}, not ${cwd}`, "resume it there");
    const now = new Set(fingerprintGates(plan));
    const lost = record.gates.filter((gate) => !now.has(gate)).length;
    if (record.digest !== plan.digest && lost > 0 && !allowHookChange) {
      mismatch(
        `${lost} of ${record.gates.length} blocking hook(s) it ran under are gone or changed`,
        "allowHookChange: true accepts that",
      );
    }
  }
  if (record === undefined || issues.length > 0) throw new AgentHooksRefused(issues);
  return record;
}

async function readRecord(stateDir: string, providerSessionId: string): Promise<SessionRecord | undefined> {
  // The id becomes a file name: nothing but what both providers mint.
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(providerSessionId)) return undefined;
  try {
    return recordSchema.parse(JSON.parse(await readFile(recordPath(stateDir, providerSessionId), "utf8")));
  } catch {
    return undefined; // missing, cut short or not ours: all mean that nothing is known, and the caller refuses
  }
}

function recordPath(stateDir: string, providerSessionId: string): string {
  return join(sessionsDirectory(stateDir), `${providerSessionId}.json`);
}
