// The native binary inside a provider's package, below a folder node_modules. Reads names alone.

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Provider } from "../profile/events.ts";

interface NativePackage {
  readonly scope: string;
  /** How the package's name begins: what follows is the kind of the C library. */
  readonly prefix: string;
  /** From the package to the binary; undefined stands for any name that is not hidden. */
  readonly path: readonly (string | undefined)[];
}

const KEY = `${process.platform}-${process.arch}`;
const PACKAGES: Readonly<Record<Provider, NativePackage>> = {
  claude: { scope: "@anthropic-ai", prefix: `claude-code-${KEY}`, path: ["claude"] },
  codex: { scope: "@openai", prefix: `codex-${KEY}`, path: ["vendor", undefined, "bin", "codex"] },
};

/** The first by name; undefined when there is none, or none can be read. */
export async function findInPackages(provider: Provider, modules: string): Promise<string | undefined> {
  const { scope, prefix, path } = PACKAGES[provider];
  const names = (await namesIn(join(modules, scope))).filter((name) => name.startsWith(prefix));
  for (const name of names) {
    const found = await findBelow(join(modules, scope, name), path);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function findBelow(at: string, [part, ...rest]: NativePackage["path"]): Promise<string | undefined> {
  if (part === undefined) {
    for (const name of await namesIn(at)) {
      const found = await findBelow(join(at, name), rest);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const path = join(at, part);
  if (rest.length > 0) return findBelow(path, rest);
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  return isFile ? path : undefined;
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []); // no folder, no package
  return names.filter((name) => !name.startsWith(".")).sort();
}
