// The hooks of a loaded declaration as a run would take them, without an agent's binary: which run, which do not, and why. Starts nothing.

import { showUrl } from "../declaration/http-url.ts";
import type { LoadedSettings } from "../declaration/load-settings.ts";
import type { HookEntry, HookGroup, SelfTest } from "../declaration/types.ts";
import type { Issue, RefusalCode } from "../errors.ts";
import { missingReferences, placeOfReferences } from "../exec/bind-command.ts";
import { EVENT_NAMES, type EventName } from "../profile/events.ts";
import type { Where } from "../profile/where.ts";
import { compileEntries } from "./compile-entries.ts";
import { HOOK_TIMEOUT_SECONDS } from "./deadlines.ts";
import type { CompiledEntry, EntryProvenance } from "./plan.ts";
import { absolutePath, pathOutside } from "./resolve-command.ts";

export interface ListedHook extends EntryProvenance {
  /** Stable within the declaration, for example `PreToolUse[0].hooks[1]`. */
  readonly id: string;
  readonly event: EventName;
  readonly matcher?: string;
  readonly where?: Where;
  /** argv as declared, the name of a function, or `POST` and an address without its query's values. It may hold secrets: show it redacted. */
  readonly command: readonly string[];
  readonly timeoutMs: number;
  readonly onFailure: "closed" | "open";
  readonly grants: boolean;
  readonly once?: true;
  readonly async?: true;
  readonly persistent?: true;
  readonly selftests: number;
  /** `runs`; `pending`: not trusted; `refused`: it cannot run. */
  readonly state: "runs" | "pending" | "refused";
  /** Why it does not run. */
  readonly problem?: string;
  readonly code?: RefusalCode;
}

export interface ResolvedHook extends ListedHook {
  /** Of hooks that run. */
  readonly compiled: CompiledEntry | undefined;
  readonly tests: readonly SelfTest[];
}

export interface ResolvedHooks {
  /** Events in the profile's order; the hooks of one event in the order in which they run. */
  readonly hooks: readonly ResolvedHook[];
  readonly issues: readonly Issue[];
  readonly projectRoot: string;
  /** PATH given to hooks. */
  readonly hookPath: string;
}

export type Loaded = Pick<LoadedSettings, "declaration" | "origins" | "projectRoot" | "home">;

export interface ResolveOptions {
  /** PATH for programs and for hooks. @default the process's own */
  readonly path?: string;
  /** `{plugin_root}` of entries outside a plugin bundle. */
  readonly pluginRoot?: string;
  /** What an entry's `env:NAME` is read from. @default the process's own */
  readonly env?: NodeJS.ProcessEnv;
}

/** `declaration` was checked when it was loaded. */
export async function resolveHooks(
  { declaration, origins, projectRoot, home }: Loaded,
  { path: givenPath = process.env.PATH ?? "", pluginRoot, env = process.env }: ResolveOptions = {},
): Promise<ResolvedHooks> {
  const path = absolutePath(givenPath);
  const issues: Issue[] = [];
  const { entries, skipped, provenance } = await compileEntries(declaration, {
    source: "declaration",
    place: { projectRoot, home, pluginRoot, path },
    origins,
    issues,
  });
  const unset = entries.flatMap((entry) => {
    const missing = missingReferences(entry, env);
    const message = `its ${placeOfReferences(entry)} name ${missing.join(", ")}, which is not set`;
    return missing.length === 0 ? [] : [{ id: entry.id, code: "placeholder_unset" as const, message }];
  });
  const compiled = new Map(
    entries.filter(({ id }) => !unset.some((one) => one.id === id)).map((entry) => [entry.id, entry]),
  );
  const describe = (
    event: EventName,
    { matcher, where }: Pick<HookGroup, "matcher" | "where">,
    entry: HookEntry,
    id: string,
  ) => {
    const origin = origins.get(entry);
    const from = provenance[id] ?? { tier: origin?.tier ?? "caller", trust: "own" as const };
    const runs = compiled.get(id);
    const problems = [
      ...issues
        .filter(({ path: at }) => at.includes(`: ${id}.`))
        .map(({ code, message, hint }) => ({
          code,
          message: hint === "" ? message : `${message} (${hint})`,
        })),
      ...[...skipped, ...unset].filter((one) => one.id === id),
    ];
    const isPending = problems.some(({ code }) => code === "command_untrusted" || code === "command_changed");
    const [first] = problems;
    return {
      id,
      event,
      ...(matcher === undefined ? {} : { matcher }),
      ...(where === undefined ? {} : { where }),
      command: commandOf(entry),
      timeoutMs: Math.ceil((entry.timeout ?? HOOK_TIMEOUT_SECONDS) * 1000),
      onFailure: entry.on_failure ?? "closed",
      grants: entry.grants ?? false,
      ...(entry.once === true ? { once: true as const } : {}),
      ...(entry.async === true ? { async: true as const } : {}),
      ...(entry.type === "command" && entry.persistent === true ? { persistent: true as const } : {}),
      selftests: entry.selftest?.length ?? 0,
      ...from,
      ...(from.origin === undefined && origin !== undefined
        ? { origin: `${origin.file}:${origin.line}` }
        : {}),
      state: runs !== undefined ? ("runs" as const) : isPending ? ("pending" as const) : ("refused" as const),
      ...(runs !== undefined || first === undefined
        ? {}
        : { problem: problems.map(({ message }) => message).join("; "), code: first.code }),
      compiled: runs,
      tests: entry.selftest ?? [],
    };
  };
  const hooks = EVENT_NAMES.flatMap((event) =>
    (declaration[event] ?? []).flatMap((group, groupIndex) =>
      group.hooks.map((entry, entryIndex) =>
        describe(event, group, entry, `${event}[${groupIndex}].hooks[${entryIndex}]`),
      ),
    ),
  );
  return { hooks, issues, projectRoot, hookPath: pathOutside(path, [projectRoot]) };
}

function commandOf(entry: HookEntry): readonly string[] {
  if (entry.type === "command") return entry.command;
  if (entry.type === "http") return ["POST", showUrl(entry.url)];
  return [entry.name ?? (entry.handler.name || "function")];
}

/** What `bridle list` shows. */
export async function listHooks(loaded: Loaded, options: ResolveOptions = {}): Promise<ListedHook[]> {
  const { hooks } = await resolveHooks(loaded, options);
  return hooks.map(({ compiled: _compiled, tests: _tests, ...listed }) => listed);
}
