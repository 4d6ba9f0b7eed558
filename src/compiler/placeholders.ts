// Replaces the placeholders of an argv word. A value becomes part of that one word, whatever is in it: nothing is split again and nothing
// goes through a shell. Pure.

import { capabilityOf, isEventName } from "../profile/events.ts";

/** Known at compile. */
export interface PlaceholderValues {
  readonly project_dir: string;
  readonly home: string;
  /** Entries of a plugin bundle only, unless the caller says otherwise. */
  readonly plugin_root: string | undefined;
}

/** Known when a run has its directory; stays in the compiled argv until then. */
export const RUN_DIR = "run_dir";

/** A name in braces. `${name}` is a shell's, and `{a,b}` or `{ name }` are nobody's: they stay as they are. */
const PLACEHOLDER = /(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

export interface Expanded {
  readonly argv: readonly string[];
  /** Names without a value, each once. */
  readonly unset: readonly string[];
  readonly needsRunDirectory: boolean;
}

export function expandArgv(argv: readonly string[], values: PlaceholderValues): Expanded {
  const unset = new Set<string>();
  let needsRunDirectory = false;
  const known: Readonly<Record<string, string | undefined>> = { ...values };
  const expanded = argv.map((word) =>
    word.replaceAll(PLACEHOLDER, (whole, name: string) => {
      if (name === RUN_DIR) {
        needsRunDirectory = true;
        return whole;
      }
      const value = Object.hasOwn(known, name) ? known[name] : undefined;
      if (value === undefined) unset.add(name);
      return value ?? whole;
    }),
  );
  return { argv: expanded, unset: [...unset], needsRunDirectory };
}

export function fillRunDirectory(argv: readonly string[], runDirectory: string): readonly string[] {
  return argv.map((word) =>
    word.replaceAll(PLACEHOLDER, (whole, name: string) => (name === RUN_DIR ? runDirectory : whole)),
  );
}

export const PLACEHOLDER_NAMES: readonly string[] = ["project_dir", "home", "plugin_root", RUN_DIR];

/** Bridle's own events fire before there is a run directory, or after it is gone. */
export function hasRunDirectory(event: string): boolean {
  return isEventName(event) && capabilityOf(event).ours !== true;
}
