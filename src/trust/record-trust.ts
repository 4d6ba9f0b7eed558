// Writes what the user trusts, and what no longer, into the user's settings file: under its lock, other keys and comments kept. What is
// recorded is what was shown; there is no way to trust without a record.

import { type Document, isMap, isScalar, isSeq, YAMLMap, YAMLSeq } from "yaml";
import { editSettings } from "../declaration/edit-settings.ts";
import type { LoadedSettings } from "../declaration/load-settings.ts";
import { refuseFile } from "../declaration/parse-settings.ts";
import { AgentHooksRefused, type Issue, refuseIfAny } from "../errors.ts";
import { hashCommand, refuseBlank } from "./command-hash.ts";
import { keepCopy, readSmall, sha256Of } from "./kept-copies.ts";
import type { PendingCommand } from "./pending.ts";
import { ENV_PIN, type Pin } from "./pins.ts";
import { listProjectPins } from "./project-trust.ts";
import { COMMANDS_KEY, FILES_KEY, PROJECTS_KEY, userSettingsFile } from "./trust-records.ts";

/**
 * Pins commands with the files and variables that were shown with them. Returns their hashes.
 * Throws `AgentHooksRefused`: `command_invalid` for an empty or blank argv, `command_not_found` for one that cannot run, `command_changed` when a
 * file is no longer what was shown, `declaration_invalid` when the user's file cannot be edited. Then nothing was recorded.
 */
export async function approve(
  commands: readonly PendingCommand[],
  { home }: { home: string },
): Promise<string[]> {
  const issues: Issue[] = [];
  for (const { command, problem } of commands) {
    refuseBlank(command);
    if (problem !== undefined)
      issues.push({
        code: "command_not_found",
        path: "trust",
        message: problem,
        hint: "nothing can be pinned",
      });
  }
  refuseIfAny(issues);
  await keepCopies(
    home,
    commands.flatMap(({ files }) => files),
  );
  const hashes = [...new Set(commands.map(({ command }) => hashCommand(command)))];
  const rows = commands.flatMap(({ command, files }) =>
    files.map(({ file, sha256 }) => ({ command: hashCommand(command), file, sha256 })),
  );
  const path = userSettingsFile(home);
  await editSettings(path, (document) => {
    const list = listAt(document, COMMANDS_KEY, path);
    const known = new Set(list.items.map(scalarOf));
    for (const hash of hashes) if (!known.has(hash)) list.add(document.createNode(hash));
    replaceRows(document, { key: FILES_KEY, path, same: ["command", "file"], rows });
    return true;
  });
  return hashes;
}

/** Forgets commands, all files pinned with them included. Returns the hashes that had been trusted. */
export async function revoke(hashes: readonly string[], { home }: { home: string }): Promise<string[]> {
  const path = userSettingsFile(home);
  const gone = new Set(hashes);
  const revoked = new Set<string>();
  await editSettings(path, (document) => {
    removeFrom(document, COMMANDS_KEY, path, (item) => {
      // Other programs keep records of their own form in this list.
      const hash = isMap(item) ? item.get("argv_hash") : scalarOf(item);
      if (typeof hash !== "string" || !gone.has(hash)) return false;
      revoked.add(hash);
      return true;
    });
    removeFrom(document, FILES_KEY, path, (item) => isMap(item) && gone.has(String(item.get("command"))));
    return revoked.size > 0;
  });
  return [...revoked];
}

/** Pins the project's settings files and the files that their commands name. Returns what was pinned. */
export async function approveProject(settings: LoadedSettings): Promise<Pin[]> {
  const { projectRoot: project, home } = settings;
  const pins = await listProjectPins(settings);
  const path = userSettingsFile(home);
  await editSettings(path, (document) => {
    removeFrom(document, PROJECTS_KEY, path, (item) => isMap(item) && item.get("project") === project);
    const rows = pins.map((pin) => ({ project, ...pin }));
    replaceRows(document, { key: PROJECTS_KEY, path, same: ["project", "file"], rows });
    return pins.length > 0;
  });
  return pins;
}

/** Returns whether it had been trusted. */
export async function revokeProject({
  projectRoot: project,
  home,
}: Pick<LoadedSettings, "projectRoot" | "home">): Promise<boolean> {
  const path = userSettingsFile(home);
  const { isChanged } = await editSettings(path, (document) =>
    removeFrom(document, PROJECTS_KEY, path, (item) => isMap(item) && item.get("project") === project),
  );
  return isChanged;
}

/** Before the record: the bytes that are kept are those that were shown. */
async function keepCopies(home: string, pins: readonly Pin[]): Promise<void> {
  const changed: Issue[] = [];
  for (const { file, sha256 } of pins) {
    if (file === ENV_PIN) continue;
    const bytes = await readSmall(file);
    if (bytes === undefined) continue;
    if (sha256Of(bytes) === sha256) await keepCopy(home, bytes, sha256);
    else {
      const message = `${file} is no longer what was shown`;
      changed.push({ code: "command_changed", path: "trust", message, hint: "look at it again" });
    }
  }
  if (changed.length > 0) throw new AgentHooksRefused(changed);
}

/** The list under a key, made when there is none. */
function listAt(document: Document.Parsed, key: string, path: string): YAMLSeq {
  if (document.contents === null) document.contents = new YAMLMap() as never;
  const found = document.get(key, true);
  if (isSeq(found)) return found;
  if (found !== undefined && !(isScalar(found) && found.value === null))
    throw refuseFile(`${path}: ${key}`, "is no list", "the file was left as it is");
  const list = new YAMLSeq();
  document.set(key, list);
  return list;
}

/** One row for each value of the fields `same`. */
function replaceRows(
  document: Document.Parsed,
  {
    key,
    path,
    same,
    rows,
  }: {
    key: string;
    path: string;
    same: readonly string[];
    rows: readonly Readonly<Record<string, string>>[];
  },
): void {
  if (rows.length === 0) return;
  const list = listAt(document, key, path);
  for (const row of rows) {
    const known = list.items.find(
      (item) => isMap(item) && same.every((field) => item.get(field) === row[field]),
    );
    if (isMap(known)) known.set("sha256", row.sha256);
    else list.add(document.createNode(row));
  }
}

/** Whether anything was removed. An empty list goes with its key. */
function removeFrom(
  document: Document.Parsed,
  key: string,
  path: string,
  isGone: (item: unknown) => boolean,
): boolean {
  if (document.contents === null || !document.has(key)) return false;
  const list = listAt(document, key, path);
  const before = list.items.length;
  list.items = list.items.filter((item) => !isGone(item));
  if (list.items.length === before) return false;
  if (list.items.length === 0) document.delete(key);
  return true;
}

function scalarOf(item: unknown): unknown {
  return isScalar(item) ? item.value : item;
}
