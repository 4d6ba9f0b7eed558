// What test, invoke, list and trust have in common: a named file, or the settings of the user and of the project, without an agent.

import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import type { Command } from "commander";
import { type LoadedSettings, loadDeclaration, loadSettings } from "../index.ts";

/** A named file counts as the project's. Its imported entries need their pins all the same. */
export async function loadHooks({
  file,
  cwd,
  requireTrustedProject = false,
}: {
  file: string | undefined;
  cwd: string;
  requireTrustedProject?: boolean | undefined;
}): Promise<LoadedSettings> {
  if (file === undefined) return loadSettings({ cwd, requireTrustedProject });
  const { declaration, origins, projectRoot, source } = await loadDeclaration(file);
  const home = await realpath(homedir()).catch(() => homedir());
  const only = { path: source, tier: "project", root: projectRoot, isFragment: false } as const;
  return { declaration, origins, projectRoot, files: [only], home, issues: [] };
}

export function addTrustOption(command: Command): Command {
  return command.option(
    "--require-trusted-project",
    "leave the project's own hooks out until `bridle trust project`",
  );
}
