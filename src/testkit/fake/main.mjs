// @ts-check
// Where a fake provider starts: reads the script, answers `--version`, or becomes the CLI that it stands for.

import { printError, printText } from "./output.mjs";
import { FakeScriptInvalid, loadFakeScript } from "./script.mjs";

/** @typedef {"claude" | "codex"} Provider */

/** @type {Readonly<Record<Provider, string>>} */
export const DEFAULT_VERSIONS = { claude: "2.1.332", codex: "0.171.0" };

/** @type {Readonly<Record<Provider, (version: string) => string>>} */
const VERSION_LINES = {
  claude: (version) => `${version} (Claude Code)`,
  codex: (version) => `codex-cli ${version}`,
};

/** The version a fake shows: never that of a real CLI. @param {string} version */
export const fakeVersion = (version) => `${version}+fake`;

/**
 * Runs as the provider, from this process's own arguments and stdin. A script that cannot be used is exit 64.
 * @param {{ provider: Provider, script: string | undefined }} options `script`: path of the script file.
 */
export async function runFakeProvider({ provider, script }) {
  const isVersion = process.argv[2] === "--version";
  if (script === undefined && !isVersion) {
    await printError("BRIDLE_FAKE_SCRIPT does not name a script file\n");
    process.exit(64);
  }
  try {
    const loaded = script === undefined ? { steps: [] } : loadFakeScript(script, provider);
    if (isVersion) {
      const version = fakeVersion(loaded.version ?? DEFAULT_VERSIONS[provider]);
      await printText(`${VERSION_LINES[provider](version)}\n`);
      return;
    }
    if (provider === "claude") await (await import("./claude/main.mjs")).runClaude(loaded);
    else await (await import("./codex/main.mjs")).runCodex(loaded);
  } catch (error) {
    if (!(error instanceof FakeScriptInvalid)) throw error;
    await printError(`${error.message}\n`);
    process.exit(64);
  }
}
