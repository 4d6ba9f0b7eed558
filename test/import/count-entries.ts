// The second opinion: how many entries a host file has.

import { parse as parseToml } from "smol-toml";
import { parseDocument, parse as parseYaml } from "yaml";
import type { FileKind, HookSource } from "../../src/import/report-types.ts";
import { EVENT_NAMES, type Provider, SEAMLESS_EVENTS } from "../../src/profile/events.ts";

/** How many entries a file has, by other parsers than the import's own; undefined when they cannot say. */
export function countEntries({ text, kind, provider: name }: HookSource): number | undefined {
  const root = parseElsewhere(text, kind);
  if (typeof root !== "object" || root === null || Array.isArray(root)) return undefined;
  let count = 0;
  for (const [key, value] of Object.entries(root)) {
    if (key === "hooks") count += countHooks(value, name);
    else if (key === "notify" && name === "codex") count++;
    else if ((EVENT_NAMES as readonly string[]).includes(key) || SEAMLESS_EVENTS.includes(key))
      count += countList(value, countGroup);
  }
  return count;
}

function countHooks(hooks: unknown, name: Provider): number {
  if (Array.isArray(hooks)) return Math.max(1, hooks.length);
  if (typeof hooks !== "object" || hooks === null) return 1;
  let count = 0;
  for (const [key, value] of Object.entries(hooks))
    count += key === "state" && name === "codex" ? 1 : countList(value, countGroup);
  return count;
}

function countGroup(group: unknown): number {
  const hooks =
    typeof group === "object" && group !== null && Object.hasOwn(group, "hooks")
      ? Reflect.get(group, "hooks")
      : 0;
  return countList(hooks, () => 1);
}

function countList(value: unknown, each: (item: unknown) => number): number {
  if (!Array.isArray(value) || value.length === 0) return 1;
  return value.reduce<number>((sum, item) => sum + each(item), 0);
}

/** Undefined when another parser cannot read it, or keys stand twice: then it would count fewer. */
function parseElsewhere(text: string, kind: FileKind): unknown {
  try {
    if (kind === "toml") return parseToml(text.replace(/^\uFEFF/, ""));
    if (kind === "json") {
      const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
      return parseDocument(text.replace(/^\uFEFF/, ""), { uniqueKeys: true }).errors.length > 0
        ? undefined
        : value;
    }
    const yaml = /^---[ \t]*\r?\n((?:[\s\S]*?\r?\n)??)---[ \t]*(?:\r?\n|$)/.exec(
      text.replace(/^\uFEFF/, ""),
    )?.[1];
    return yaml === undefined ? undefined : parseYaml(yaml, { uniqueKeys: true, logLevel: "error" });
  } catch {
    return undefined; // no second opinion on this one
  }
}
