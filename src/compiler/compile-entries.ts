// The entries of a checked declaration, resolved, identified and judged for trust. One that is not trusted is refused on a gate; on any other
// event it is left out, and said so.

import { showUrl } from "../declaration/http-url.ts";
import { type Origin, rememberedOrigin, sourceOf } from "../declaration/origin.ts";
import type {
  CommandEntry,
  FunctionEntry,
  HookDeclaration,
  HookEntry,
  HttpEntry,
} from "../declaration/types.ts";
import type { Issue } from "../errors.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import { hashCommand } from "../trust/command-hash.ts";
import { judgeCommand, type TrustState } from "../trust/judge.ts";
import { untrustedProjectIssue } from "../trust/project-trust.ts";
import { readTrust, type TrustRecords } from "../trust/trust-records.ts";
import { HOOK_TIMEOUT_SECONDS } from "./deadlines.ts";
import { hasRunDirectory } from "./placeholders.ts";
import type { CompiledEntry, EntryProvenance, SkippedEntry } from "./plan.ts";
import { type EntryPlace, resolveEntry } from "./resolve-entry.ts";

export interface CompileEntriesOptions {
  /** Shown at the head of the path of entries without an origin. */
  readonly source: string;
  readonly place: EntryPlace;
  readonly origins: ReadonlyMap<HookEntry, Origin>;
  readonly issues: Issue[];
}

export interface CompiledEntries {
  readonly entries: readonly CompiledEntry[];
  readonly skipped: readonly SkippedEntry[];
  /** By entry id, of those left out too. */
  readonly provenance: Readonly<Record<string, EntryProvenance>>;
}

export async function compileEntries(
  declaration: HookDeclaration,
  options: CompileEntriesOptions,
): Promise<CompiledEntries> {
  const entries: CompiledEntry[] = [];
  const skipped: SkippedEntry[] = [];
  const provenance: Record<string, EntryProvenance> = {};
  let records: Promise<TrustRecords> | undefined;
  const trustOf = async (entry: CommandEntry, pins: Parameters<typeof judgeCommand>[1]) => {
    records ??= readTrust(options.place.home);
    return judgeCommand(entry.command, pins, await records);
  };
  for (const [event, groups] of Object.entries(declaration) as [EventName, HookDeclaration[string]][]) {
    for (const [groupIndex, { matcher, where, hooks }] of groups.entries()) {
      for (const [entryIndex, entry] of hooks.entries()) {
        const id = `${event}[${groupIndex}].hooks[${entryIndex}]`;
        const origin = options.origins.get(entry) ?? rememberedOrigin(entry);
        const common = {
          id,
          event,
          matcher,
          // A copy: what is frozen in the token must not be the caller's own, nor change with it.
          ...(where === undefined ? {} : { where: structuredClone(where) }),
          timeoutMs: Math.ceil((entry.timeout ?? HOOK_TIMEOUT_SECONDS) * 1000),
          onFailure: entry.on_failure ?? "closed",
          grants: entry.grants ?? false,
          ...(entry.once === true ? { once: true } : {}),
          ...(entry.async === true ? { async: true } : {}),
        } as const;
        if (entry.type === "function") {
          entries.push({ ...common, type: "function", name: functionName(entry), handler: entry.handler });
          provenance[id] = provenanceOf(entry, origin, "own");
          continue;
        }
        const leaveOut = (issue: Issue & { code: SkippedEntry["code"] }) => {
          const { code, message, hint } = issue;
          if (capabilityOf(event).role === "gate") options.issues.push(issue);
          else skipped.push({ id, event, matcher, code, message: `${at}: ${message} (${hint})` });
        };
        const at = `${origin === undefined ? options.source : `${origin.file}:${origin.line}`}: ${id}`;
        if (entry.type === "http") {
          const isUntrusted = isPinned(entry, origin);
          provenance[id] = provenanceOf(entry, origin, isUntrusted ? "untrusted" : "own");
          if (origin?.projectUntrusted !== undefined)
            options.issues.push(untrustedProjectIssue(`${at}.url`, origin.projectUntrusted));
          else if (isUntrusted) leaveOut(httpTrustIssue(entry, at));
          else entries.push({ ...common, type: "http", url: entry.url, headers: { ...entry.headers } });
          continue;
        }
        const { place } = options;
        const resolved = await resolveEntry(entry, at, {
          place,
          origin,
          hasRunDirectory: hasRunDirectory(event),
        });
        if (!("pins" in resolved)) {
          options.issues.push(...resolved);
          continue;
        }
        const trust = isPinned(entry, origin) ? await trustOf(entry, resolved.pins) : OWN;
        provenance[id] = provenanceOf(entry, origin, trust.state);
        if (origin?.projectUntrusted !== undefined) {
          options.issues.push(untrustedProjectIssue(`${at}.command`, origin.projectUntrusted));
          continue;
        }
        if (trust.state === "untrusted" || trust.state === "changed") {
          leaveOut(trustIssue(entry, at, trust));
          continue;
        }
        const { argv, argv0, files } = resolved;
        const persistent = entry.persistent === true ? { persistent: true } : {};
        entries.push({
          ...common,
          type: "command",
          argv,
          argv0,
          files,
          env: { ...entry.env },
          ...persistent,
        });
      }
    }
  }
  return { entries, skipped, provenance };
}

const OWN = { state: "own" } as const;

/** Without an origin the entry's own word is left, and it counts. */
function isPinned(entry: HookEntry, origin: Origin | undefined): boolean {
  return sourceOf(entry) !== undefined || origin?.tier === "imported" || origin?.tier === "plugin";
}

function provenanceOf(
  entry: HookEntry,
  origin: Origin | undefined,
  trust: EntryProvenance["trust"],
): EntryProvenance {
  const source = sourceOf(entry);
  return {
    tier: source !== undefined && origin?.tier !== "plugin" ? "imported" : (origin?.tier ?? "caller"),
    ...(source === undefined ? {} : { source }),
    ...(origin === undefined ? {} : { origin: `${origin.file}:${origin.line}` }),
    trust,
  };
}

function trustIssue(
  { command }: CommandEntry,
  at: string,
  { state, detail }: Exclude<TrustState, { state: "trusted" }>,
): Issue & { code: SkippedEntry["code"] } {
  const hash = hashCommand(command).slice(0, 16);
  return {
    code: state === "changed" ? "command_changed" : "command_untrusted",
    path: `${at}.command`,
    message: detail,
    hint: `read it with \`bridle trust\`, then \`bridle trust approve ${hash}\``,
  };
}

/** There is nothing to pin: what answers at an address can change with every call. */
function httpTrustIssue({ url }: HttpEntry, at: string): Issue & { code: SkippedEntry["code"] } {
  return {
    code: "command_untrusted",
    path: `${at}.url`,
    message: `POST ${showUrl(url)} cannot be trusted: only commands can be pinned, and this entry comes with a plugin or an import`,
    hint: "declare it in a file of your own",
  };
}

function functionName({ name, handler }: FunctionEntry): string {
  return name ?? (handler.name || "anonymous function");
}
