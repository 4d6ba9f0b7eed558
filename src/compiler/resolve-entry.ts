// One declared command with its placeholders expanded and its files found, as compile will pin it and trust must judge it: the same for both.

import type { Origin } from "../declaration/origin.ts";
import type { CommandEntry } from "../declaration/types.ts";
import type { Issue } from "../errors.ts";
import { listPins, type Pin } from "../trust/pins.ts";
import { expandArgv, PLACEHOLDER_NAMES, RUN_DIR } from "./placeholders.ts";
import { type ResolvedCommand, resolveCommand } from "./resolve-command.ts";

export interface EntryPlace {
  /** Absolute real path of the project. */
  readonly projectRoot: string;
  readonly home: string;
  /** For entries outside a plugin bundle. */
  readonly pluginRoot?: string | undefined;
  /** PATH, absolute folders only. */
  readonly path: string;
}

export interface ResolvedEntry extends ResolvedCommand {
  readonly pins: readonly Pin[];
}

/** Issues: `placeholder_unset`, `command_not_found`. `hasRunDirectory`: false for events that fire outside of it. */
export async function resolveEntry(
  entry: CommandEntry,
  at: string,
  {
    place: { projectRoot, home, pluginRoot, path },
    origin,
    hasRunDirectory,
  }: { place: EntryPlace; origin: Origin | undefined; hasRunDirectory: boolean },
): Promise<ResolvedEntry | Issue[]> {
  const plugin = origin?.pluginRoot ?? pluginRoot;
  const { argv, unset, needsRunDirectory } = expandArgv(entry.command, {
    project_dir: projectRoot,
    home,
    plugin_root: plugin,
  });
  const issues = unset.map((name) => unsetPlaceholder(name, at));
  if (needsRunDirectory && !hasRunDirectory) issues.push(unsetPlaceholder(RUN_DIR, at));
  if (issues.length > 0) return issues;
  const resolved = await resolveCommand(argv, at, { root: origin?.root ?? projectRoot, path });
  if ("code" in resolved) return [resolved];
  const places = [projectRoot, home, ...(plugin === undefined ? [] : [plugin])];
  return { ...resolved, pins: await listPins({ command: argv, resolved, env: entry.env, places }) };
}

function unsetPlaceholder(name: string, at: string): Issue {
  const hints: Readonly<Record<string, string>> = {
    plugin_root: "it has a value in a plugin bundle, or with the option pluginRoot; else write the folder",
    [RUN_DIR]: "agent_prompt runs before there is a run directory, agent_exit after it is gone",
  };
  const near = PLACEHOLDER_NAMES.find((known) => known === name.toLowerCase());
  const unknown =
    near === undefined
      ? `known: ${PLACEHOLDER_NAMES.map((known) => `{${known}}`).join(", ")}; a word that is no placeholder needs a space: { ${name} }`
      : `did you mean {${near}}?`;
  return {
    code: "placeholder_unset",
    path: `${at}.command`,
    message: `{${name}} has no value`,
    hint: hints[name] ?? unknown,
  };
}
