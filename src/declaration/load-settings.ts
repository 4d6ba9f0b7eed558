// The declaration of a working directory: the user's hooks, then the project's, then those of plugin bundles, one list an event. Nothing is
// overridden and nothing dropped; each entry keeps where it came from.

import { homedir } from "node:os";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { describeProjectTrust, untrustedProjectIssue } from "../trust/project-trust.ts";
import { locateSettings, type SettingsFile } from "./find-settings.ts";
import { type Origin, rememberOrigin, sourceOf, tierOf } from "./origin.ts";
import { readHooks } from "./read-hooks.ts";
import type { HookDeclaration, HookEntry } from "./types.ts";
import { validateDeclaration } from "./validate.ts";

export interface LoadSettingsOptions {
  /** The agent's working directory, or any folder of the project. */
  readonly cwd: string;
  /** Holds the user's `.lionagi`. @default the user's home */
  readonly home?: string;
  /** Folders of plugin bundles; each has its hooks in its own `.lionagi`. @default none */
  readonly plugins?: readonly string[];
  /** The project's files count only after `bridle trust project`: until then compile refuses them. @default false */
  readonly requireTrustedProject?: boolean;
}

export interface LoadedSettings {
  /** Each event's groups: the user's, the project's, the plugins'. */
  readonly declaration: HookDeclaration;
  readonly origins: ReadonlyMap<HookEntry, Origin>;
  /** The files read, in order. */
  readonly files: readonly SettingsFile[];
  /** The outermost folder of the repository whose `.lionagi` was read; `cwd` when there is none. */
  readonly projectRoot: string;
  readonly home: string;
  /** What compile will refuse whatever the entries say: a project that is not trusted. */
  readonly issues: readonly Issue[];
}

/**
 * Reads `hooks_external` of `.lionagi/settings.yaml` and of `.lionagi/hooks/*.yaml`, of the user and of the project.
 *
 * @throws AgentHooksRefused with every problem of every file: `declaration_invalid` and the codes of entries
 * @example
 * const settings = await loadSettings({ cwd });
 * const hooks = await compileAgentHooks(settings.declaration, { provider, cwd, origins: settings.origins });
 */
export async function loadSettings({
  cwd,
  home: givenHome = homedir(),
  plugins = [],
  requireTrustedProject = false,
}: LoadSettingsOptions): Promise<LoadedSettings> {
  const { folder, home, projectFolders, files } = await locateSettings({ cwd, home: givenHome, plugins });
  const projectRoot = projectFolders[0] ?? folder;
  const issues: Issue[] = [];
  const parts: LoadedPart[] = [];
  for (const file of files) {
    try {
      parts.push(await loadPart(file));
    } catch (error) {
      if (!(error instanceof AgentHooksRefused)) throw error;
      issues.push(...error.issues);
    }
  }
  if (issues.length > 0) throw new AgentHooksRefused(issues);

  const declaration: HookDeclaration = Object.create(null);
  const places: Place[] = [];
  for (const { file, declared, lineOf } of parts) {
    for (const [event, groups] of Object.entries(declared)) {
      const copies = groups.map((group, groupIndex) => ({
        ...group,
        hooks: group.hooks.map((entry, entryIndex) => {
          // A copy each: YAML aliases make one object of two entries.
          const copy = structuredClone(entry);
          const line = lineOf(["hooks_external", event, groupIndex, "hooks", entryIndex]);
          places.push({ entry: copy, file, line });
          return copy;
        }),
      }));
      declaration[event] = [...(declaration[event] ?? []), ...copies];
    }
  }
  const settings = { declaration, files, projectRoot, home };
  const untrusted = requireTrustedProject
    ? await describeProjectTrust({ ...settings, origins: originsOf(places, { projectRoot, home }) })
    : undefined;
  return {
    ...settings,
    origins: originsOf(places, { projectRoot, home, untrusted }),
    issues: untrusted === undefined ? [] : [untrustedProjectIssue(projectRoot, untrusted)],
  };
}

interface LoadedPart {
  readonly file: SettingsFile;
  readonly declared: HookDeclaration;
  readonly lineOf: (path: readonly (string | number)[]) => number;
}

interface Place {
  readonly entry: HookEntry;
  readonly file: SettingsFile;
  readonly line: number;
}

async function loadPart(file: SettingsFile): Promise<LoadedPart> {
  const { path, isFragment } = file;
  const { declared, parsed } = await readHooks(path, { isRequired: isFragment });
  const { lineOf } = parsed;
  if (declared === undefined) return { file, declared: {}, lineOf };
  const { declaration, issues } = validateDeclaration(declared, path);
  if (issues.length > 0) throw new AgentHooksRefused(issues);
  return { file, declared: declaration, lineOf };
}

function originsOf(
  places: readonly Place[],
  { projectRoot, home, untrusted }: { projectRoot: string; home: string; untrusted?: string | undefined },
): Map<HookEntry, Origin> {
  const origins = new Map<HookEntry, Origin>();
  for (const { entry, file, line } of places) {
    const source = sourceOf(entry);
    const origin: Origin = {
      file: file.path,
      line,
      tier: tierOf(entry, file.tier),
      ...(source === undefined ? {} : { source }),
      root: file.root,
      projectRoot,
      home,
      ...(file.tier === "plugin" ? { pluginRoot: file.root } : {}),
      ...(file.tier === "project" && untrusted !== undefined ? { projectUntrusted: untrusted } : {}),
    };
    origins.set(entry, origin);
    rememberOrigin(entry, origin);
  }
  return origins;
}
