// Reads the hooks of one host file and says of each what becomes of it. Pure: reads no file, runs nothing, and drops nothing: what
// stands below hooks is either an entry of the report or inside the text of one.

import { isEventName, type Provider } from "../profile/events.ts";
import { eventProblem, isKnownEvent } from "./describe-event.ts";
import { describeForeignHost } from "./describe-host.ts";
import { EVERYTHING, translateMatcher } from "./describe-matcher.ts";
import { parseFrontmatter } from "./parse-frontmatter.ts";
import { parseJson } from "./parse-json.ts";
import { parseToml } from "./parse-toml.ts";
import { DESCRIPTIVE_KEYS } from "./read-policy.ts";
import type { FileReport, HookSource, ReportEntry } from "./report-types.ts";
import {
  describeNode,
  duplicateKeys,
  joinPath,
  type Member,
  memberOf,
  type ParsedSource,
  type SourceNode,
} from "./source-tree.ts";
import { translateHandler } from "./translate-handler.ts";

const PARSERS: Readonly<Record<HookSource["kind"], (text: string) => ParsedSource>> = {
  json: parseJson,
  toml: parseToml,
  frontmatter: parseFrontmatter,
};

const SCOPE =
  "scope: these hooks run only while this skill or agent is active; imported they would run always. Copy one by hand if that is meant";

interface Place {
  readonly provider: Provider;
  readonly path: string;
  readonly problems: readonly string[];
  readonly scope?: string | undefined;
}

/** Never throws for what a text holds. */
export function importHooks({ provider, path, text, kind }: HookSource): FileReport {
  const parsed = PARSERS[kind](text);
  if ("error" in parsed) return { provider, path, entries: [], notes: [], error: parsed.error };
  const { root } = parsed;
  if (root !== undefined && root.kind !== "object") {
    const error = { message: `the file holds ${describeNode(root)}, not an object`, line: root.line };
    return { provider, path, entries: [], notes: parsed.notes, error };
  }
  const scope = kind === "frontmatter" ? SCOPE : undefined;
  const entries = root === undefined ? [] : readRoot(root, { provider, path: "", problems: [], scope });
  const notes = [...parsed.notes];
  const foreign = root === undefined ? undefined : describeForeignHost(root);
  if (foreign !== undefined) notes.push(foreign);
  if (entries.length === 0) notes.push("0 entries found");
  return { provider, path, entries, notes };
}

function readRoot(root: SourceNode & { kind: "object" }, place: Place): ReportEntry[] {
  const { provider } = place;
  const off = memberOf(root, "disableAllHooks")?.value;
  const problems =
    off === undefined || (off.kind === "boolean" && !off.value)
      ? []
      : ["the file switches its hooks off (disableAllHooks)"];
  const lastHooks = root.members.findLast(({ key }) => key === "hooks");
  return root.members.flatMap((member): ReportEntry[] => {
    const { key, value } = member;
    const here = { ...place, problems, path: joinPath("", key) };
    if (key === "hooks") {
      const superseded = member === lastHooks ? [] : supersededBy("hooks", lastHooks, provider);
      return readHooks(member, { ...here, problems: [...problems, ...superseded] });
    }
    if (key === "notify" && provider === "codex")
      return [
        rejectItem(member, here, ["notify: different calling convention, its JSON is the last argument"]),
      ];
    if (!isKnownEvent(key)) return [];
    const wrong = `event ${key} found at top level; wrap it in "hooks"`;
    return readEvent({ key, line: member.line, value }, { ...here, problems: [...problems, wrong] });
  });
}

function supersededBy(key: string, last: Member | undefined, provider: Provider): string[] {
  return [
    `the key ${JSON.stringify(key)} stands twice: ${provider} reads only the last one, line ${last?.line ?? "unknown"}`,
  ];
}

function readHooks(member: Member, place: Place): ReportEntry[] {
  const { value } = member;
  const { provider, path } = place;
  if (value.kind === "null") return [noteItem(member, place, "hooks is null: nothing to import")];
  if (value.kind === "list") {
    if (value.items.length === 0)
      return [noteItem(member, place, "hooks is an empty list: nothing to import")];
    return value.items.map((item, index) =>
      rejectItem({ line: item.line, value: item }, { ...place, path: `${path}[${index}]` }, [
        `hooks is a list; ${provider} reads an object with an event as each key${describeSwitch(item)}`,
      ]),
    );
  }
  if (value.kind !== "object")
    return [rejectItem(member, place, [`hooks is ${describeNode(value)}, not an object`])];
  const lastOf = new Map(value.members.map((event) => [event.key, event]));
  return value.members.flatMap((event): ReportEntry[] => {
    const here = { ...place, path: joinPath(path, event.key) };
    if (event.key === "state" && provider === "codex")
      return [noteItem(event, here, "hooks.state ignored: trust bookkeeping")];
    const last = lastOf.get(event.key);
    const superseded = last === event ? [] : supersededBy(event.key, last, provider);
    return readEvent(event, { ...here, problems: [...place.problems, ...superseded] });
  });
}

function readEvent(member: Member, place: Place): ReportEntry[] {
  const { key: event, value } = member;
  const unknown = eventProblem(event, place.provider);
  const problems = [...(unknown === undefined ? [] : [unknown]), ...place.problems];
  const here = { ...place, problems };
  if (value.kind !== "list")
    return [
      rejectItem(
        member,
        here,
        [`an event holds a list of groups, not ${describeNode(value)}${describeSwitch(value)}`],
        event,
      ),
    ];
  if (value.items.length === 0)
    return problems.length > 0
      ? [rejectItem(member, here, [], event)]
      : [noteItem(member, here, "the list is empty: nothing to import", event)];
  return value.items.flatMap((group, index) =>
    readGroup(group, event, { ...here, path: `${place.path}[${index}]` }),
  );
}

function readGroup(group: SourceNode, event: string, place: Place): ReportEntry[] {
  const { provider, path, scope } = place;
  const item = { line: group.line, value: group };
  if (group.kind !== "object")
    return [rejectItem(item, place, [`a group is an object with hooks, not ${describeNode(group)}`], event)];
  // More than one when the key stands twice: then the group is refused, and the handlers of each are named.
  const lists = group.members.filter(({ key }) => key === "hooks");
  if (lists.length === 0) {
    const what = HANDLER_KEYS.some((key) => memberOf(group, key) !== undefined)
      ? `handler outside a hooks list (never ran in ${provider === "claude" ? "Claude Code" : "Codex"})`
      : "a group needs hooks: [handlers], and has none";
    return [rejectItem(item, place, [`${what}${describeSwitch(group)}`], event)];
  }
  const here = { ...place, problems: [...place.problems, ...groupProblems(group)] };
  // Of an event that is not one nothing can be said about its matcher.
  const matcher =
    isEventName(event) && eventProblem(event, provider) === undefined
      ? translateMatcher(event, memberOf(group, "matcher")?.value, provider)
      : EVERYTHING;
  return lists.flatMap((hooks): ReportEntry[] => {
    const found = lists.length > 1 ? hooks : item;
    if (hooks.value.kind !== "list")
      return [
        rejectItem(
          found,
          here,
          [
            `a group needs hooks: [handlers]; here it is ${describeNode(hooks.value)}${describeSwitch(group)}`,
          ],
          event,
        ),
      ];
    if (hooks.value.items.length === 0)
      return here.problems.length > 0
        ? [rejectItem(found, here, ["the group has no handlers"], event)]
        : [noteItem(found, here, "the group has no handlers: nothing to import", event)];
    return hooks.value.items.map((handler, index) =>
      translateHandler(handler, {
        provider,
        event,
        path: `${path}.hooks[${index}]`,
        problems: here.problems,
        matcher,
        scope,
      }),
    );
  });
}

const HANDLER_KEYS = ["type", "command", "bash", "powershell", "shell", "url", "prompt", "commands"];

/** What stands on the group and would be lost without a word. */
function groupProblems(group: SourceNode & { kind: "object" }): string[] {
  const problems = duplicateKeys(group.members).map(
    (key) => `the key ${JSON.stringify(key)} of the group stands twice`,
  );
  for (const { key, value } of group.members) {
    if (key === "matcher" || key === "hooks" || DESCRIPTIVE_KEYS.has(key)) continue;
    if (key === "if") problems.push("if filter not supported; importing would widen the hook");
    else if (key !== "enabled")
      problems.push(
        `unknown key ${JSON.stringify(key)} on the group: ${describeNode(value)}; leaving it out could change what runs`,
      );
    else if (value.kind !== "boolean" || !value.value)
      problems.push(`enabled is ${describeNode(value)}: a group that is switched off is not imported live`);
  }
  return problems;
}

/** `enabled: false` must be seen, wherever it stands. */
function describeSwitch(node: SourceNode): string {
  const enabled = memberOf(node, "enabled")?.value;
  return enabled === undefined ? "" : ` (enabled: ${describeNode(enabled)})`;
}

type Item = Pick<Member, "line" | "value">;

function rejectItem(item: Item, place: Place, reasons: readonly string[], event?: string): ReportEntry {
  return {
    ...itemOf(item, place, event),
    verdict: "rejected",
    reason: [...place.problems, ...reasons].join("; "),
  };
}

function noteItem(item: Item, place: Place, reason: string, event?: string): ReportEntry {
  return { ...itemOf(item, place, event), verdict: "note", reason };
}

function itemOf({ line, value }: Item, { path }: Place, event: string | undefined) {
  return {
    path,
    line,
    ...(event === undefined ? {} : { event }),
    translations: [],
    warnings: [],
    divergences: [],
    original: value.text,
  };
}
