// The imported and plugin commands that would not run, with what a person needs in order to decide.

import { hasRunDirectory } from "../compiler/placeholders.ts";
import { absolutePath } from "../compiler/resolve-command.ts";
import { type EntryPlace, resolveEntry } from "../compiler/resolve-entry.ts";
import type { LoadedSettings } from "../declaration/load-settings.ts";
import type { Origin } from "../declaration/origin.ts";
import type { CommandEntry } from "../declaration/types.ts";
import { hashCommand } from "./command-hash.ts";
import { judgeCommand, judgePin, type TrustState } from "./judge.ts";
import { ENV_PIN, type Pin } from "./pins.ts";
import { type ShownFile, showFile } from "./show-file.ts";
import { readTrust, type TrustRecords } from "./trust-records.ts";

export interface PendingFile extends Pin, ShownFile {
  readonly state: TrustState["state"];
}

export interface PendingCommand {
  /** sha256 of the argv: names it in `approve` and `revoke`. */
  readonly hash: string;
  /** As declared. */
  readonly command: readonly string[];
  readonly state: "untrusted" | "changed";
  readonly detail: string;
  /** The argv that would run, with its paths. */
  readonly runs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files and variables that approval pins. */
  readonly files: readonly PendingFile[];
  /** Entries that it would let run. */
  readonly entries: readonly {
    readonly event: string;
    readonly matcher?: string;
    readonly origin: Origin;
  }[];
  /** Why it cannot be approved: the program or a file is missing. */
  readonly problem?: string;
}

/** `path` and `pluginRoot` as they are given to compile. Sorted as declared; entries with the same argv, files and variables are one. Throws `AgentHooksRefused` when the user's file cannot be read. */
export async function pendingCommands(
  settings: Pick<LoadedSettings, "declaration" | "origins" | "projectRoot" | "home">,
  { path = process.env.PATH ?? "", pluginRoot }: { path?: string; pluginRoot?: string } = {},
): Promise<PendingCommand[]> {
  const { declaration, origins, projectRoot, home } = settings;
  const records = await readTrust(home);
  const place = { projectRoot, home, pluginRoot, path: absolutePath(path) };
  const found = new Map<string, PendingCommand>();
  for (const [event, groups] of Object.entries(declaration)) {
    for (const { matcher, hooks } of groups) {
      for (const entry of hooks) {
        const origin = origins.get(entry);
        if (entry.type !== "command" || origin === undefined || !needsPin(origin)) continue;
        const pending = await describePending(entry, { event, origin, place, records });
        if (pending === undefined) continue;
        const key = JSON.stringify([pending.hash, pending.files.map(({ file, sha256 }) => [file, sha256])]);
        const named = { event, ...(matcher === undefined ? {} : { matcher }), origin };
        const entries = [...(found.get(key)?.entries ?? []), named];
        found.set(key, { ...pending, entries });
      }
    }
  }
  return [...found.values()];
}

/** Whether an entry of this origin runs only when it is pinned. */
export function needsPin({ tier }: Pick<Origin, "tier">): boolean {
  return tier === "imported" || tier === "plugin";
}

async function describePending(
  entry: CommandEntry,
  {
    event,
    origin,
    place,
    records,
  }: { event: string; origin: Origin; place: EntryPlace; records: TrustRecords },
): Promise<Omit<PendingCommand, "entries"> | undefined> {
  const { command, env = {} } = entry;
  const hash = hashCommand(command);
  const resolved = await resolveEntry(entry, origin.file, {
    place,
    origin,
    hasRunDirectory: hasRunDirectory(event),
  });
  if (!("pins" in resolved)) {
    const problem = resolved.map(({ message }) => message).join("; ");
    return { hash, command, state: "untrusted", detail: problem, runs: command, env, files: [], problem };
  }
  const judged = judgeCommand(command, resolved.pins, records);
  if (judged.state === "trusted") return undefined;
  const rows = records.files.filter((row) => row.command === hash);
  const files = await Promise.all(
    resolved.pins.map(async (pin): Promise<PendingFile> => {
      const { state } = judgePin(pin, rows);
      if (pin.file === ENV_PIN) return { ...pin, state };
      const trusted = rows.find(({ file }) => file === pin.file)?.sha256;
      return { ...pin, state, ...(await showFile(pin, { home: place.home, trusted })) };
    }),
  );
  const { state, detail } = judged;
  return { hash, command, state, detail, runs: resolved.argv, env, files };
}
