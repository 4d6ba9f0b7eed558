// Where an entry comes from, and which tier that makes it. Provenance alone decides: what an entry says of itself and whose bundle it is
// in, never where its file was moved, merged or committed to.

import type { HookEntry } from "./types.ts";

/** `user` and `project` run; `imported` and `plugin` run only when they are pinned. */
export type Tier = "user" | "project" | "imported" | "plugin";

export interface Origin {
  /** Absolute path of the file that holds the entry. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly tier: Tier;
  /** The entry's own `source`. */
  readonly source?: string;
  /** Relative argv words are resolved against it: the folder that holds the file's `.lionagi`. */
  readonly root: string;
  /** `{project_dir}`, the same for every entry of one load. */
  readonly projectRoot: string;
  /** The home of the load: whose trust records count. */
  readonly home?: string;
  /** `{plugin_root}`; entries of a plugin bundle only. */
  readonly pluginRoot?: string;
  /** Why the project's files do not count yet (`requireTrustedProject`). */
  readonly projectUntrusted?: string;
}

/** A plugin's bundle is a plugin's, whatever is in it; an entry with a `source` is imported, whoever's file holds it. */
export function tierOf(entry: HookEntry, fileTier: "user" | "project" | "plugin"): Tier {
  if (fileTier === "plugin") return "plugin";
  return sourceOf(entry) === undefined ? fileTier : "imported";
}

export function sourceOf(entry: HookEntry): string | undefined {
  return entry.type === "command" ? entry.source : undefined;
}

const known = new WeakMap<HookEntry, Origin>();

/** Keeps the origin with the entry itself, so that it survives a caller who passes the declaration on alone. */
export function rememberOrigin(entry: HookEntry, origin: Origin): void {
  known.set(entry, origin);
}

export function rememberedOrigin(entry: HookEntry): Origin | undefined {
  return known.get(entry);
}
