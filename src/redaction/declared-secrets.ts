// What a declaration puts into the environment of its hooks: secret when a name says so.

import type { CompiledEntry } from "../compiler/plan.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import { bindEnv } from "../exec/bind-command.ts";
import { isSecretName } from "./patterns.ts";

/** Values of variables with a secret's name, those that stand there and those that `env:NAME` reads from `env`. */
export function declaredSecrets(declaration: HookDeclaration, env: NodeJS.ProcessEnv): string[] {
  return Object.values(declaration)
    .flatMap((groups) => groups.flatMap(({ hooks }) => hooks))
    .flatMap((entry) => (entry.type === "command" ? Object.entries(bindEnv(entry.env ?? {}, env)) : []))
    .filter(([name]) => isSecretName(name))
    .map(([, value]) => value);
}

/** The same of entries as they are compiled. */
export function secretsOfEntries(entries: readonly CompiledEntry[], env: NodeJS.ProcessEnv): string[] {
  return entries
    .flatMap((entry) => (entry.type === "command" ? Object.entries(bindEnv(entry.env, env)) : []))
    .filter(([name]) => isSecretName(name))
    .map(([, value]) => value);
}
