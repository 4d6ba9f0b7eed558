// What test, invoke, list and trust have in common: a named file, or the settings of the user and of the project, without an agent.

import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { type LoadedSettings, loadDeclaration, loadSettings } from "../index.ts";

/** A file counts as the project's. */
export async function loadHooks({
  file,
  cwd,
}: {
  file: string | undefined;
  cwd: string;
}): Promise<LoadedSettings> {
  if (file === undefined) return loadSettings({ cwd });
  const { declaration, origins, projectRoot, source } = await loadDeclaration(file);
  const home = await realpath(homedir()).catch(() => homedir());
  const only = { path: source, tier: "project", root: projectRoot, isFragment: false } as const;
  return { declaration, origins, projectRoot, files: [only], home, issues: [] };
}
