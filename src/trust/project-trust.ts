// Whether a project's own files may be believed at all, for checkouts of code that others wrote: its settings files and the files that their
// commands name, each by its bytes.

import { absolutePath } from "../compiler/resolve-command.ts";
import { resolveEntry } from "../compiler/resolve-entry.ts";
import type { LoadedSettings } from "../declaration/load-settings.ts";
import type { Issue } from "../errors.ts";
import { identifyFile } from "./identity.ts";
import { judgePin } from "./judge.ts";
import { ENV_PIN, type Pin } from "./pins.ts";
import { readTrust } from "./trust-records.ts";

type Project = Pick<LoadedSettings, "declaration" | "origins" | "files" | "projectRoot" | "home">;

/** What `bridle trust project` pins: sorted, each file once. Empty when the project has no settings. */
export async function listProjectPins({
  declaration,
  origins,
  files,
  projectRoot,
  home,
}: Project): Promise<Pin[]> {
  const pins = new Map<string, string>();
  const projects = new Set(files.filter(({ tier }) => tier === "project").map(({ path }) => path));
  for (const file of projects) {
    const { path, sha256 } = await identifyFile(file);
    pins.set(path, sha256);
  }
  const place = { projectRoot, home, path: absolutePath(process.env.PATH ?? "") };
  for (const entry of Object.values(declaration).flatMap((groups) => groups.flatMap(({ hooks }) => hooks))) {
    const origin = origins.get(entry);
    if (entry.type !== "command" || origin === undefined || !projects.has(origin.file)) continue;
    const resolved = await resolveEntry(entry, origin.file, { place, origin, hasRunDirectory: true });
    // What is missing has no bytes; compile refuses it by its own name. Variables stand in the settings file.
    for (const { file, sha256 } of "pins" in resolved ? resolved.pins : [])
      if (file !== ENV_PIN) pins.set(file, sha256);
  }
  return [...pins]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([file, sha256]) => ({ file, sha256 }));
}

/** Why the project is not trusted; undefined when it is, or has nothing to trust. */
export async function describeProjectTrust(project: Project): Promise<string | undefined> {
  const { projects } = await readTrust(project.home);
  const rows = projects.filter((row) => row.project === project.projectRoot);
  for (const pin of await listProjectPins(project)) {
    const judged = judgePin(pin, rows);
    if (judged.state !== "trusted") return judged.detail;
  }
  return undefined;
}

/** `path`: the project, or an entry of it. */
export function untrustedProjectIssue(path: string, why: string): Issue {
  return {
    code: "command_untrusted",
    path,
    message: `the project's hooks are not trusted: ${why}`,
    hint: "read its .lionagi, then `bridle trust project`",
  };
}
