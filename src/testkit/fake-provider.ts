// Makes a fake claude or codex: an executable that plays a script. What it runs is plain JavaScript, because an executable must start
// under Node 20 from the sources of this repository as well as from the package.

import { chmod, mkdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Provider } from "../profile/events.ts";
import { FAKE_PROVIDER_MARK } from "../trust/native-binary.ts";
import { parseFakeScript } from "./fake/script.mjs";
import type { FakeScript } from "./script-types.ts";

export interface FakeProviderOptions {
  readonly provider: Provider;
  readonly script: FakeScript;
  /** Made when it is not there. Two files are written: the executable and its script. */
  readonly directory: string;
  /** Name of the files; files of this name are replaced. Default `fake-claude`, `fake-codex`. */
  readonly name?: string;
}

export interface FakeProvider {
  /** Absolute path of the executable; pass it as `binary`. */
  readonly binary: string;
}

/** Kernels cut a longer first line, or refuse it. */
const SHEBANG_MAX_BYTES = 255;

/**
 * Writes a fake provider. Bridle accepts it where it is named as `binary`, never from PATH.
 *
 * @throws FakeScriptInvalid with every problem of the script; `Error` when the path of this node cannot stand in a shebang.
 * @example
 * const { binary } = await createFakeProvider({
 *   provider: "claude",
 *   script: { steps: [{ tools: [{ shell: "rm -r build" }] }, { text: "done" }] },
 *   directory: "/tmp/fakes",
 * });
 * const hooks = await compileAgentHooks(declaration, { provider: "claude", cwd, binary, prove: "off" });
 */
export async function createFakeProvider({
  provider,
  script,
  directory,
  name = `fake-${provider}`,
}: FakeProviderOptions): Promise<FakeProvider> {
  parseFakeScript(script, { provider });
  const shebang = `#!${process.execPath}`;
  if (/\s/.test(process.execPath) || Buffer.byteLength(shebang) > SHEBANG_MAX_BYTES)
    throw new Error(`the path of node cannot stand in a first line: ${process.execPath}`);
  await mkdir(directory, { recursive: true });
  const folder = await realpath(directory);
  const scriptFile = join(folder, `${name}.json`);
  const binary = join(folder, `${name}.mjs`);
  const module = new URL("./fake/main.mjs", import.meta.url).href;
  await writeFile(scriptFile, `${JSON.stringify(script, undefined, 2)}\n`);
  await writeFile(
    binary,
    [
      shebang,
      FAKE_PROVIDER_MARK,
      `import { runFakeProvider } from ${JSON.stringify(module)};`,
      `await runFakeProvider({ provider: ${JSON.stringify(provider)}, script: ${JSON.stringify(scriptFile)} });`,
      "",
    ].join("\n"),
  );
  await chmod(binary, 0o755);
  return { binary };
}
