// Reads YAML (or JSON) text as settings, and tells on which line a part of it stands. Judges nothing of what it says.

import { type Document, isAlias, isCollection, isNode, LineCounter, parseDocument } from "yaml";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { isEventName, SEAMLESS_EVENTS } from "../profile/events.ts";

export interface ParsedSettings {
  /** The whole file as data. */
  readonly root: unknown;
  /** Line of the deepest part of `path` that is there, from 1. */
  lineOf(path: readonly (string | number)[]): number;
}

export function refuseFile(path: string, message: string, hint = ""): AgentHooksRefused {
  return new AgentHooksRefused([{ code: "declaration_invalid", path, message, hint }]);
}

/** Throws `AgentHooksRefused` (`declaration_invalid`) when the text is no YAML, or holds more aliases than a settings file can need. */
export function parseSettings(text: string, source: string): ParsedSettings {
  const lines = new LineCounter();
  const document = parseDocument(text.replace(/^\uFEFF/, ""), { uniqueKeys: true, lineCounter: lines });
  if (document.errors.length > 0)
    throw new AgentHooksRefused(
      document.errors.map((error): Issue => {
        const line = error.linePos?.[0].line;
        const path = line === undefined ? source : `${source}:${line}`;
        const message = error.message.split("\n")[0] ?? error.code;
        return { code: "declaration_invalid", path, message, hint: "" };
      }),
    );
  let root: unknown;
  try {
    root = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw refuseFile(source, (error as Error).message, "fewer aliases");
  }
  return { root, lineOf: (path) => lines.linePos(offsetOf(document, path)).line };
}

function offsetOf(document: Document.Parsed, path: readonly (string | number)[]): number {
  let node: unknown = document.contents;
  let offset = document.contents?.range?.[0] ?? 0;
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (!isCollection(node)) break;
    node = node.get(key, true);
    if (!isNode(node)) break;
    offset = node.range?.[0] ?? offset;
  }
  return offset;
}

/** Refuses events that stand beside `hooks_external` instead of below it: nothing would read them. */
export function refuseStrays(root: { readonly [key: string]: unknown }, source: string): void {
  const isEvent = (key: string) => isEventName(key) || SEAMLESS_EVENTS.includes(key);
  const { hooks } = root;
  // `hooks: {pre, post, on_error}` is another program's; events or a list of groups below it are ours, misplaced.
  const isMisnamed = Array.isArray(hooks) || (isJsonObject(hooks) && Object.keys(hooks).some(isEvent));
  const strays = Object.keys(root).filter((key) => isEvent(key) || (key === "hooks" && isMisnamed));
  if (strays.length > 0)
    throw refuseFile(
      source,
      `${strays.join(", ")} stands beside hooks_external and would not be read`,
      "indent it below hooks_external:",
    );
}
