// Finds the provider's binary and, behind an npm wrapper, the native one: the wrapper stays in between and outlives signals
// (docs/providers/codex.md, wrapper row).

import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import type { Provider } from "../profile/events.ts";
import { identifyFile } from "../trust/identity.ts";
import { binaryKind } from "../trust/native-binary.ts";
import { findInPackages } from "./native-package.ts";
import type { FileIdentity } from "./plan.ts";
import { findProgram } from "./resolve-command.ts";

/** Identity of the native binary. Throws `provider_not_found`. Whether it is native is the adapter's probe to say. */
export async function findProviderBinary(
  provider: Provider,
  { binary, cwd, path }: { binary?: string | undefined; cwd: string; path: string },
): Promise<FileIdentity> {
  const named = binary === undefined ? provider : resolve(cwd, binary);
  const found = await findProgram(named, { root: cwd, path });
  if (found === undefined) {
    const message = binary === undefined ? `no ${provider} on PATH (${path})` : `no program at ${named}`;
    const hint = `install ${provider}, or pass its native binary: a regular file that may be executed`;
    throw new AgentHooksRefused([{ code: "provider_not_found", path: "binary", message, hint }]);
  }
  const real = await realpath(found);
  const kind = await binaryKind(real);
  // A fake that was named must never turn into the real CLI beside it: a test would start an agent.
  const isItself = kind === "native" || (kind === "fake" && binary !== undefined);
  const native = isItself ? undefined : await nativeBehind(provider, real);
  return identifyFile(native ?? real);
}

async function nativeBehind(provider: Provider, wrapper: string): Promise<string | undefined> {
  for (let folder = dirname(wrapper); folder !== dirname(folder); folder = dirname(folder)) {
    const match = await findInPackages(provider, join(folder, "node_modules"));
    if (match !== undefined) return match;
  }
  return undefined;
}

/** Programs that a provider keeps beside its binary: codex runs the tools of code mode in one (docs/providers/codex.md X-53). */
const COMPANIONS: Readonly<Record<Provider, readonly string[]>> = {
  claude: [],
  codex: ["codex-code-mode-host"],
};

/** Identities of those that are there. */
export async function findCompanions(provider: Provider, binaryPath: string): Promise<FileIdentity[]> {
  const found: FileIdentity[] = [];
  for (const name of COMPANIONS[provider]) {
    const path = join(dirname(binaryPath), name);
    if (existsSync(path)) found.push(await identifyFile(path));
  }
  return found;
}
