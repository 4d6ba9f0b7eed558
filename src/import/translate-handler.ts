// One handler of a host's file becomes an entry, or the reasons why not: all of them. A key that is not understood is a reason too,
// because leaving it out could change what the hook does.

import type { CommandEntry } from "../declaration/types.ts";
import { validateDeclaration } from "../declaration/validate.ts";
import type { EventName, Provider } from "../profile/events.ts";
import { unsupportedBy } from "./describe-event.ts";
import type { TranslatedMatcher } from "./describe-matcher.ts";
import { describePayload } from "./describe-payload.ts";
import { divergencesOf } from "./list-divergences.ts";
import { readPolicy } from "./read-policy.ts";
import type { ReportEntry } from "./report-types.ts";
import { describeNode, duplicateKeys, memberOf, type SourceNode } from "./source-tree.ts";
import { type TranslatedCommand, translateExecForm, translateShellText } from "./translate-command.ts";

/** What a handler stands in. */
export interface Surroundings {
  readonly provider: Provider;
  readonly path: string;
  readonly event: string;
  /** Why nothing in this place can be imported: unknown event, wrong level, a filter on the group. */
  readonly problems: readonly string[];
  readonly matcher: TranslatedMatcher;
  /** Set when the hooks of this file belong to something smaller than a run. */
  readonly scope?: string | undefined;
}

export function translateHandler(
  node: SourceNode,
  { provider, path, event, problems, matcher, scope }: Surroundings,
): ReportEntry {
  const base = { path, line: node.line, event, original: node.text };
  const reject = (reasons: readonly string[], extra: Partial<ReportEntry> = {}): ReportEntry => ({
    ...base,
    verdict: "rejected",
    reason: [...new Set(reasons)].join("; "),
    translations: [],
    warnings: [],
    divergences: [],
    ...extra,
  });
  if (node.kind !== "object")
    return reject([...problems, `a handler is an object with type and command, not ${describeNode(node)}`]);

  const found = [...problems, ...("reason" in matcher ? [matcher.reason] : [])];
  for (const key of duplicateKeys(node.members)) found.push(`the key ${JSON.stringify(key)} stands twice`);
  found.push(...typeProblems(node));
  const event_ = event as EventName;
  const policy = readPolicy(node, { provider, event: event_, isEventKnown: problems.length === 0 });
  found.push(...policy.problems);
  const command = readCommand(node, provider);
  if ("problem" in command) found.push(command.problem);
  if (found.length > 0 || "problem" in command || "reason" in matcher)
    return reject(found.length > 0 ? found : ["it cannot be read"]);

  const group = matcher.matcher === undefined ? {} : { matcher: matcher.matcher };
  const common: Omit<CommandEntry, "command"> = {
    type: "command",
    ...policy.fields,
    source: `imported:${provider}`,
  };
  const { translated } = command;
  const isShellText = command.form === "shell";
  const details = {
    ...group,
    warnings: [...matcher.warnings, ...policy.warnings, ...eventWarnings(event_)],
    divergences: divergencesOf({ event: event_, isShellText, namesTools: matcher.namesTools }),
  };
  if ("reason" in translated)
    return isShellText && scope === undefined
      ? reject([translated.reason], { ...details, wrap: { text: command.text, entry: common } })
      : reject([translated.reason]);

  const entry: CommandEntry = { ...common, command: translated.argv };
  const unusable = shapeProblems(event_, { ...group, hooks: [entry] });
  if (unusable.length > 0) return reject(unusable);
  const report = {
    ...base,
    ...details,
    translations: [...translated.translations, ...matcher.translations, ...policy.translations],
    warnings: [...translated.warnings, ...describePayload(translated.argv), ...details.warnings],
  };
  if (scope !== undefined) return { ...report, verdict: "note", reason: scope };
  return { ...report, verdict: "imported", entry };
}

function typeProblems(node: SourceNode & { kind: "object" }): string[] {
  const type = memberOf(node, "type")?.value;
  if (type === undefined) return ["the handler has no type, so it never ran"];
  if (type.kind === "string" && type.value === "command") return [];
  if (type.kind === "string" && type.value === "http")
    return [
      "handler type http is not run by Bridle from an import: only commands can be pinned; declare it by hand",
    ];
  if (type.kind === "string" && ["prompt", "agent", "mcp_tool"].includes(type.value))
    return [`handler type ${type.value} is not run by Bridle`];
  return [`handler type ${describeNode(type)} is unknown`];
}

type ReadCommand =
  | { readonly problem: string }
  | {
      readonly form: "shell" | "exec";
      readonly text: string;
      readonly translated: TranslatedCommand;
    };

function readCommand(node: SourceNode & { kind: "object" }, provider: Provider): ReadCommand {
  const command = memberOf(node, "command")?.value;
  const args = memberOf(node, "args")?.value;
  if (command === undefined) return { problem: "there is no command" };
  if (command.kind !== "string")
    return { problem: `command is ${describeNode(command)}; ${provider} takes a string, so this never ran` };
  const text = command.value;
  if (text.trim() === "") return { problem: "the command is blank" };
  if (args === undefined) return { form: "shell", text, translated: translateShellText(text, provider) };
  if (provider !== "claude") return { problem: `${provider} knows no args, and they cannot be left out` };
  if (args.kind !== "list") return { problem: `args is ${describeNode(args)}, not a list of strings` };
  const words = args.items.flatMap((item) => (item.kind === "string" ? [item.value] : []));
  if (words.length < args.items.length) return { problem: "args holds something that is no string" };
  return { form: "exec", text, translated: translateExecForm(text, words, provider) };
}

function eventWarnings(event: EventName): string[] {
  return unsupportedBy(event).map(
    (provider) =>
      `${event} does not fire under ${provider} as Bridle runs it: a run of ${provider} refuses this entry`,
  );
}

/** The last look: what is written must be something that loads. A timeout above the limit is kept as it is and warned of elsewhere. */
function shapeProblems(event: EventName, group: object): string[] {
  const { issues } = validateDeclaration({ [event]: [group] }, "entry");
  return issues
    .filter(({ code }) => code !== "deadline_invalid")
    .map(({ message, path }) => `${path.replace(/^entry: /, "")}: ${message}`);
}
