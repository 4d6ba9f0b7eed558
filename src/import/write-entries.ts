// Adds imported entries to a settings document, each as a group of its own with a comment that says where it came from. What is there
// already is not added again.

import { type Document, isMap, isSeq, type Node, YAMLMap } from "yaml";
import type { CommandEntry } from "../declaration/types.ts";
import { AgentHooksRefused } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { toOneLine } from "../redaction/terminal.ts";

const KEY = "hooks_external";

export interface NewEntry {
  readonly event: string;
  readonly matcher: string | undefined;
  readonly entry: CommandEntry;
  /** Where it came from, in one line: `.claude/settings.json:12 hooks.Stop[0].hooks[0]`. */
  readonly origin: string;
}

/** The entries of a document by event, matcher and argv. Whoever wrote them: one that lost its `source` was promoted, not removed. */
export type EntryIndex = Map<string, Readonly<Record<string, unknown>>>;

export function indexEntries(document: Document.Parsed): EntryIndex {
  const index: EntryIndex = new Map();
  const root: unknown = document.toJS();
  const events = isJsonObject(root) && isJsonObject(root[KEY]) ? root[KEY] : {};
  for (const [event, groups] of Object.entries(events)) {
    for (const group of Array.isArray(groups) ? groups : []) {
      const hooks = isJsonObject(group) && Array.isArray(group.hooks) ? group.hooks : [];
      const matcher = isJsonObject(group) ? group.matcher : undefined;
      for (const hook of hooks) if (isJsonObject(hook)) index.set(keyOf(event, matcher, hook.command), hook);
    }
  }
  return index;
}

export function findPresent(
  index: EntryIndex,
  { event, matcher, entry }: NewEntry,
): Readonly<Record<string, unknown>> | undefined {
  return index.get(keyOf(event, matcher, entry.command));
}

function keyOf(event: string, matcher: unknown, command: unknown): string {
  const isEverything = matcher === undefined || matcher === null || matcher === "" || matcher === "*";
  return JSON.stringify([event, isEverything ? "" : matcher, command]);
}

/** Throws `AgentHooksRefused` when the document has something else where the entry belongs. */
export function addEntry(
  document: Document.Parsed,
  index: EntryIndex,
  { event, matcher, entry, origin }: NewEntry,
  file: string,
): void {
  if (document.contents === null) document.contents = new YAMLMap() as never;
  const refuse = (path: string, message: string) =>
    new AgentHooksRefused([
      { code: "declaration_invalid", path: `${file}: ${path}`, message, hint: "the file was left as it is" },
    ]);
  const { type, command, ...rest } = entry;
  const group = document.createNode({
    ...(matcher === undefined ? {} : { matcher }),
    hooks: [{ type, command, ...rest }],
  });
  const words = group.getIn(["hooks", 0, "command"]) as Node & { flow?: boolean };
  words.flow = true;
  group.commentBefore = ` ${toOneLine(origin)}`;

  let events: unknown = document.get(KEY, true);
  if (isEmpty(events)) {
    events = new YAMLMap();
    document.set(KEY, events);
  }
  if (!isMap(events)) throw refuse(KEY, "is no map of events");
  const groups: unknown = events.get(event, true);
  if (isEmpty(groups)) events.set(event, document.createNode([group]));
  else if (isSeq(groups)) groups.items.push(group);
  else throw refuse(`${KEY}.${event}`, "is no list of groups");
  index.set(keyOf(event, matcher, command), { ...entry });
}

/** Not there, null, or an empty collection, which may be written as `{}` or `[]`. */
function isEmpty(node: unknown): boolean {
  if (node === undefined || node === null) return true;
  if (isMap(node) || isSeq(node)) return node.items.length === 0;
  return typeof node === "object" && "value" in node && node.value === null;
}
