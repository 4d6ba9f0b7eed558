// The provider's home for one run: always a fresh codex home, and claude's own only by option. Lends the login and nothing else.

import { readdirSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { isNamed } from "../look.ts";
import type { Provider } from "../profile/events.ts";

export interface ProviderHome {
  /** Absolute path. For claude it is used only when `configHome` is `run`. */
  readonly path: string;
}

/** The user's own codex home, from which only `auth.json` is lent. */
export function userCodexHome(env: NodeJS.ProcessEnv): string {
  return env.CODEX_HOME ?? join(env.HOME ?? homedir(), ".codex");
}

/**
 * Makes the home below `path`. With `configHome: "user"` codex's `auth.json` is linked, so that a refreshed login is written
 * through the link and N runs share one (docs/providers/codex.md, auth row).
 */
export async function prepareProviderHome({
  provider,
  path,
  configHome,
  env,
}: {
  provider: Provider;
  path: string;
  configHome: "user" | "run";
  env: NodeJS.ProcessEnv;
}): Promise<ProviderHome> {
  if (!isNamed(path)) await mkdir(path, { recursive: true, mode: 0o700 });
  if (provider === "codex" && configHome === "user") {
    const auth = join(userCodexHome(env), "auth.json");
    const link = join(path, "auth.json");
    if (isNamed(auth) && !isNamed(link)) await symlink(auth, link);
  }
  refuseDotEnv(path);
  return { path };
}

/** A `.env` in a codex home can set BASH_ENV and so disarm every hook. Called again just before exec. Throws `run_home_unsafe`. */
export function refuseDotEnv(home: string): void {
  const names = readdirSync(home);
  const found = names.filter((name) => name === ".env" || name.startsWith(".env."));
  if (found.length === 0) return;
  throw new AgentHooksRefused([
    {
      code: "run_home_unsafe",
      path: home,
      message: `holds ${found.join(", ")}, which the provider would load into every hook's environment`,
      hint: "remove it; pass variables with env or passEnv",
    },
  ]);
}
