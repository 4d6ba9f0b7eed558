// What an import says about a file: one entry for each thing found under its hooks, and nothing left out.

import type { CommandEntry } from "../declaration/types.ts";
import type { Provider } from "../profile/events.ts";

/** - `imported`: becomes an entry of the declaration. - `rejected`: does not, and why. - `note`: nothing to import, said for completeness. */
export type Verdict = "imported" | "rejected" | "note";

export type FileKind = "json" | "toml" | "frontmatter";

export interface HookSource {
  readonly provider: Provider;
  /** Shown in the report; the core reads no file. */
  readonly path: string;
  readonly text: string;
  readonly kind: FileKind;
}

export interface ReportEntry {
  readonly verdict: Verdict;
  /** Where in the file: `hooks.PreToolUse[0].hooks[1]`. */
  readonly path: string;
  /** 1-based line of the file. */
  readonly line: number;
  readonly event?: string;
  /** As it would be declared; absent when everything matches. */
  readonly matcher?: string;
  /** Why it was rejected, or what a note says. */
  readonly reason?: string;
  /** Each mechanical translation that was made, in words. */
  readonly translations: readonly string[];
  /** What to look at before a run relies on it. */
  readonly warnings: readonly string[];
  /** Ids of the rows of docs/PROFILE.md, Divergences, that apply. */
  readonly divergences: readonly string[];
  readonly entry?: CommandEntry;
  /** Set when nothing but the shell in its command stood in the way: what `--wrap` needs to put that text into a file. */
  readonly wrap?: { readonly text: string; readonly entry: Omit<CommandEntry, "command"> };
  /** The exact text of the file that this entry is about. */
  readonly original: string;
}

export interface FileReport {
  readonly provider: Provider;
  readonly path: string;
  readonly entries: readonly ReportEntry[];
  readonly notes: readonly string[];
  /** The file cannot be read as what it is; then there are no entries. */
  readonly error?: FileError;
}

export interface FileError {
  readonly message: string;
  /** 1-based; absent when no place is known. */
  readonly line?: number;
  readonly column?: number;
}
