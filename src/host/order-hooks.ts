// Declared hooks and hooks in process in the one order in which they run, checked as a whole.

import type { CompiledEntry } from "../compiler/plan.ts";
import type { Issue } from "../errors.ts";
import { missingReferences } from "../exec/bind-command.ts";
import { checkHostHook, compareOrder, type HostHook, type OrderedEntry } from "./host-hook.ts";

/** Adds every problem to `issues`: what is returned is whole only where there is none. */
export function orderHooks(
  declared: readonly CompiledEntry[],
  inProcess: readonly HostHook[],
  env: NodeJS.ProcessEnv,
  issues: Issue[],
): readonly OrderedEntry<CompiledEntry>[] {
  const ordered: OrderedEntry<CompiledEntry>[] = declared.map((entry, order) => ({
    entry,
    priority: 0,
    order,
  }));
  for (const entry of declared) {
    const missing = missingReferences(entry, env);
    if (missing.length === 0) continue;
    const message = `it names ${missing.join(", ")}, which is not set`;
    issues.push({ code: "placeholder_unset", path: entry.id, message, hint: "set it, or pass env" });
  }
  const ids = new Set(declared.map(({ id }) => id));
  inProcess.forEach((hook, index) => {
    const entry = checkHostHook(hook, index);
    if (!("id" in entry)) {
      issues.push(...entry);
      return;
    }
    if (ids.has(entry.id)) {
      const message = `another hook is named ${JSON.stringify(entry.id)}`;
      issues.push({ code: "declaration_invalid", path: `inProcess[${index}].id`, message, hint: "" });
    }
    ids.add(entry.id);
    ordered.push({ entry, priority: hook.priority ?? 0, order: declared.length + index });
  });
  return ordered.toSorted(compareOrder);
}
