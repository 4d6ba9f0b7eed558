// Which calls a hook wants to see. Evaluated by us, never by a provider, with RE2 semantics: linear time, so a hostile
// pattern cannot stall a guard, and the same answer under every provider (docs/PROFILE.md, "Matchers").

import { isJsonObject, type JsonObject } from "../json.ts";
import { loadRe2 } from "../packages.ts";
import type { ToolKind } from "./envelope-types.ts";
import { capabilityOf, type EventName } from "./events.ts";

export const TOOL_KINDS: readonly ToolKind[] = ["shell", "read", "edit", "web", "mcp", "agent", "other"];

/** Longest matcher accepted, in UTF-16 units. */
export const MATCHER_MAX_LENGTH = 4096;

export interface Matcher {
  /** True when the envelope of an event with a subject is wanted. */
  matches(envelope: JsonObject, subjectField: string): boolean;
}

const EXACT_OR_LIST = /^[A-Za-z0-9_\- ,|]+$/;
const KIND_LIST = /^kind:[^|,]*(?:[|,][^|,]*)*$/;

const MATCH_ALL: Matcher = { matches: () => true };

/**
 * Compiles a matcher. Omitted, `""` and `"*"` match all; only letters, digits, `_ - space , |` make an exact name or a list;
 * `kind:shell` (or `kind:shell|edit`) tests `tool_kind`; anything else is an unanchored RE2 expression.
 * Throws `Error` with a readable message when the pattern does not compile.
 */
export function compileMatcher(source: string | undefined): Matcher {
  if (source === undefined || source === "" || source === "*") return MATCH_ALL;
  if (source.length > MATCHER_MAX_LENGTH) {
    throw new Error(`matcher has ${source.length} characters; at most ${MATCHER_MAX_LENGTH} are allowed`);
  }
  if (KIND_LIST.test(source)) return compileKindList(source);
  if (/kind\s*:/i.test(source))
    throw new Error("kind: stands alone, in lower case, as in kind:shell or kind:shell|edit");
  if (EXACT_OR_LIST.test(source)) return compileNameList(source);
  const pattern = loadRe2().compile(source);
  return {
    matches: (envelope, subjectField) => {
      const subject = envelope[subjectField];
      return typeof subject === "string" && pattern.matcher(subject).find();
    },
  };
}

function splitList(source: string): string[] {
  return source
    .split(/[|,]/)
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function compileNameList(source: string): Matcher {
  const names = new Set(splitList(source));
  if (names.size === 0) throw new Error("matcher names nothing");
  return {
    matches: (envelope, subjectField) => {
      const subject = envelope[subjectField];
      return typeof subject === "string" && names.has(subject);
    },
  };
}

function compileKindList(source: string): Matcher {
  const kinds = new Set(splitList(source).map((word) => word.replace(/^kind:\s*/, "")));
  for (const kind of kinds) {
    if (!(TOOL_KINDS as readonly string[]).includes(kind)) {
      throw new Error(`unknown tool kind ${JSON.stringify(kind)}; known: ${TOOL_KINDS.join(", ")}`);
    }
  }
  return {
    matches: ({ tool_kind: kind, tool_command: command }) => {
      if (typeof kind === "string" && kinds.has(kind)) return true;
      // A patch typed into the shell is an edit that codex carries out itself (docs/providers/codex.md, apply_patch row).
      return kinds.has("edit") && typeof command === "string" && command.includes("*** Begin Patch");
    },
  };
}

const compiled = new Map<string, Matcher>();

/** True when a hook with this matcher wants this envelope. Compiled matchers are kept; the set is as small as the declarations. */
export function matches(event: EventName, source: string | undefined, envelope: JsonObject): boolean {
  const { subject } = capabilityOf(event);
  if (source === undefined || subject === undefined || !isJsonObject(envelope)) return true;
  let matcher = compiled.get(source);
  if (matcher === undefined) {
    matcher = compileMatcher(source);
    compiled.set(source, matcher);
  }
  return matcher.matches(envelope, subject);
}

/** Says why a matcher cannot be used on an event, or undefined when it can. */
export function matcherProblem(event: EventName, source: string | undefined): string | undefined {
  if (source === undefined) return undefined;
  const { subject } = capabilityOf(event);
  if (subject === undefined) return `${event} has no subject to match`;
  if (/^kind:/.test(source) && subject !== "tool_name")
    return `${event} carries no tool, so kind: cannot match`;
  try {
    compileMatcher(source);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
