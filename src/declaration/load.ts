// Reads a declaration from a YAML or JSON file under `hooks_external:`. Other keys of the file are not ours.

import { basename, dirname, resolve } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { type Origin, sourceOf, tierOf } from "./origin.ts";
import { readHooks } from "./read-hooks.ts";
import type { HookDeclaration, HookEntry } from "./types.ts";
import { validateDeclaration } from "./validate.ts";

export interface LoadedDeclaration {
  readonly declaration: HookDeclaration;
  /** Absolute path of the file: shown in every issue. */
  readonly source: string;
  /** Relative argv words are resolved against it: the file's folder, or that folder's parent when it is `.lionagi`. */
  readonly projectRoot: string;
  /** A named file is the project's; its entries with a `source` are imported. */
  readonly origins: ReadonlyMap<HookEntry, Origin>;
}

/**
 * Loads a declaration file. Throws `AgentHooksRefused` (`declaration_invalid` and the codes of its entries) with every problem.
 * Function handlers cannot come from a file.
 */
export async function loadDeclaration(file: string): Promise<LoadedDeclaration> {
  const source = resolve(file);
  const { declared, parsed } = await readHooks(source, { isRequired: true });
  const { declaration, issues } = validateDeclaration(declared, source);
  if (issues.length > 0) throw new AgentHooksRefused(issues);
  const folder = dirname(source);
  const projectRoot = basename(folder) === ".lionagi" ? dirname(folder) : folder;
  const origins = new Map<HookEntry, Origin>();
  for (const [event, groups] of Object.entries(declaration)) {
    for (const [groupIndex, { hooks }] of groups.entries()) {
      for (const [entryIndex, entry] of hooks.entries()) {
        const line = parsed.lineOf(["hooks_external", event, groupIndex, "hooks", entryIndex]);
        const from = sourceOf(entry);
        origins.set(entry, {
          file: source,
          line,
          tier: tierOf(entry, "project"),
          ...(from === undefined ? {} : { source: from }),
          root: projectRoot,
          projectRoot,
        });
      }
    }
  }
  return { declaration, source, projectRoot, origins };
}
