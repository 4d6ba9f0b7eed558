// Tells whether a host's matcher is one here, and what to know about the tool names in it. Changes no matcher but those that say
// "everything".

import type { EventName, Provider } from "../profile/events.ts";
import { capabilityOf } from "../profile/events.ts";
import { matcherProblem } from "../profile/matcher.ts";
import { toolKind } from "../profile/tool.ts";
import { describeNode, type SourceNode } from "./source-tree.ts";

export type TranslatedMatcher =
  | {
      /** Undefined: everything. */
      readonly matcher: string | undefined;
      readonly translations: readonly string[];
      readonly warnings: readonly string[];
      readonly namesTools: boolean;
    }
  | { readonly reason: string };

export const EVERYTHING = {
  matcher: undefined,
  translations: [],
  warnings: [],
  namesTools: false,
} as const satisfies TranslatedMatcher;

export function translateMatcher(
  event: EventName,
  node: SourceNode | undefined,
  provider: Provider,
): TranslatedMatcher {
  if (node === undefined) return EVERYTHING;
  if (node.kind !== "string") return { reason: `matcher is ${describeNode(node)}, not a string` };
  const { value } = node;
  if (value === "" || value === "*")
    return { ...EVERYTHING, translations: [`matcher ${JSON.stringify(value)} → none: everything`] };
  if (/^kind:/.test(value)) return { reason: `kind: is a word of Bridle; ${provider} knows no such matcher` };
  const problem = matcherProblem(event, value);
  if (problem !== undefined) return { reason: `matcher ${JSON.stringify(value)}: ${problem}` };
  if (capabilityOf(event).subject !== "tool_name") return { ...EVERYTHING, matcher: value };
  const warnings = describeToolNames(value, provider);
  return { matcher: value, translations: [], warnings, namesTools: true };
}

const PERMISSION_RULE = /^[A-Za-z_]+\(.*\)$/;

/** What the names in a tool matcher are under the other agent. */
function describeToolNames(matcher: string, provider: Provider): string[] {
  if (PERMISSION_RULE.test(matcher)) return ["looks like a permission rule; as a matcher it matches no tool"];
  const isPattern = !/^[\w\- ,|]+$/.test(matcher);
  const names = matcher.match(/[A-Za-z_]\w+/g) ?? [];
  const other: Provider = provider === "claude" ? "codex" : "claude";
  const warnings = names
    .filter((name) => !name.startsWith("mcp__"))
    .flatMap((name): string[] => {
      const kind = toolKind(name, provider);
      if (toolKind(name, other) === kind && kind !== "other") return [];
      if (kind !== "other")
        return [
          `tool name ${name} is ${provider}'s own: under ${other} ${OTHERWISE[other][kind] ?? "nothing matches it"}`,
        ];
      if (isPattern) return [];
      const foreign = toolKind(name, other) !== "other" ? `is ${other}'s` : "is of no tool that is known";
      return [`tool name ${name} ${foreign}: under ${provider} it may match nothing`];
    });
  return [...new Set(warnings)];
}

/** What a kind of tool is called under an agent. */
const OTHERWISE: Readonly<Record<Provider, Readonly<Record<string, string>>>> = {
  claude: {
    edit: "edits are Edit, MultiEdit, Write and NotebookEdit; kind:edit matches under both",
    read: "reads are Read, Glob and Grep; kind:read matches under both",
    web: "the web is WebFetch and WebSearch; kind:web matches under both",
    agent: "subagents are Task and Agent; kind:agent matches under both",
  },
  codex: {
    shell: "the shell is Bash; kind:shell matches under both",
    edit: "edits are apply_patch; kind:edit matches under both",
    read: "most reads are Bash; kind:read matches view_image",
    web: "the web is web_search; kind:web matches under both",
    agent: "subagents are spawn_agent; kind:agent matches under both",
  },
};
