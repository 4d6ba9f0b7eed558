// Reads a declaration from a YAML or JSON file under `hooks_external:`. Other keys of the file are not ours.

import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { parseSettings, refuseFile, refuseStrays } from "./parse-settings.ts";
import type { HookDeclaration } from "./types.ts";
import { validateDeclaration } from "./validate.ts";

export interface LoadedDeclaration {
  readonly declaration: HookDeclaration;
  /** Absolute path of the file: shown in every issue. */
  readonly source: string;
  /** Relative argv words are resolved against it: the file's folder, or that folder's parent when it is `.lionagi`. */
  readonly projectRoot: string;
}

/**
 * Loads a declaration file. Throws `AgentHooksRefused` (`declaration_invalid` and the codes of its entries) with every problem.
 * Function handlers cannot come from a file.
 */
export async function loadDeclaration(file: string): Promise<LoadedDeclaration> {
  const source = resolve(file);
  let text: string;
  try {
    text = await readFile(source, "utf8");
  } catch (error) {
    throw refuseFile(source, `cannot be read: ${(error as Error).message}`);
  }
  const { root } = parseSettings(text, source);
  if (!isJsonObject(root) || !Object.hasOwn(root, "hooks_external"))
    throw refuseFile(source, "has no hooks_external key", "put the events under hooks_external:");
  refuseStrays(root, source);
  const { declaration, issues } = validateDeclaration(root.hooks_external, source);
  if (issues.length > 0) throw new AgentHooksRefused(issues);
  const folder = dirname(source);
  return { declaration, source, projectRoot: basename(folder) === ".lionagi" ? dirname(folder) : folder };
}
