// What a declaration hands to its hooks: variables are secret when a name says so, headers of requests always.

import { queryOf } from "../declaration/http-url.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import { bindEnv } from "../exec/bind-command.ts";
import { isSecretName } from "./patterns.ts";

/** Of the entries of a declaration or of a plan: what stands there and what `env:NAME` reads from `env`. */
export function declaredSecrets(declaration: HookDeclaration, env: NodeJS.ProcessEnv): string[] {
  return Object.values(declaration)
    .flatMap((groups) => groups.flatMap(({ hooks }) => hooks))
    .flatMap((entry) => entrySecrets(entry, env));
}

interface Handing {
  readonly type: "command" | "function" | "http";
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Values of variables and of a query with a secret's name, and every header's. */
export function entrySecrets(
  { type, env: declared = {}, url = "", headers = {} }: Handing,
  env: NodeJS.ProcessEnv,
): string[] {
  if (type === "function") return [];
  const named = [...Object.entries(bindEnv(declared, env)), ...queryOf(url)];
  return [
    ...named.filter(([name]) => isSecretName(name)).map(([, value]) => value),
    ...headerSecrets(bindEnv(headers, env)),
  ];
}

/** Each header's value, with and without its scheme. */
export function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers).flatMap((value) => [value, value.slice(value.indexOf(" ") + 1)]);
}
