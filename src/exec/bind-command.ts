// Gives a compiled hook what only a run knows: the run directory in its argv, and the values of variables that its env or its headers name.
// Pure.

import { fillRunDirectory } from "../compiler/placeholders.ts";
import type { CompiledEntry } from "../compiler/plan.ts";
import { ENV_REFERENCE } from "../declaration/schema.ts";

/** The variable of the supervisor that a value of `env` or `headers` names; undefined when the value is meant as it stands. */
export function referenceIn(value: string): string | undefined {
  return value.startsWith(ENV_REFERENCE) ? value.slice(ENV_REFERENCE.length) : undefined;
}

/** Names of variables that an entry wants and `env` does not have. */
export function missingReferences(entry: CompiledEntry, env: NodeJS.ProcessEnv): string[] {
  const references = Object.values(boundValues(entry)).map(referenceIn);
  return references.filter((name) => name !== undefined && env[name] === undefined) as string[];
}

/** Where an entry names variables, in the declaration's own word. */
export function placeOfReferences({ type }: CompiledEntry): "env" | "headers" {
  return type === "http" ? "headers" : "env";
}

function boundValues(entry: CompiledEntry): Readonly<Record<string, string>> {
  if (entry.type === "function") return {};
  return entry.type === "http" ? entry.headers : entry.env;
}

/** `missingReferences` must have been empty: a variable that went away since is an empty one. */
export function bindCommand<Entry extends CompiledEntry>(
  entry: Entry,
  { env, runDirectory }: { env: NodeJS.ProcessEnv; runDirectory: string | undefined },
): Entry {
  if (entry.type === "http") return { ...entry, headers: bindEnv(entry.headers, env) };
  if (entry.type !== "command") return entry;
  return {
    ...entry,
    argv: runDirectory === undefined ? entry.argv : fillRunDirectory(entry.argv, runDirectory),
    env: bindEnv(entry.env, env),
  };
}

export function bindEnv(
  declared: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(declared).map(([name, value]) => {
      const reference = referenceIn(value);
      return [name, reference === undefined ? value : (env[reference] ?? "")];
    }),
  );
}
