// @ts-check
// Where a fake provider starts: answers `--version`, or reads the script and becomes the CLI that it stands for.

import { readFileSync } from "node:fs";
import { printError, printText } from "./output.mjs";

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
  if (process.argv[2] === "--version") return tellVersion(provider, script);
  if (script === undefined) {
    await printError("BRIDLE_FAKE_SCRIPT does not name a script file\n");
    process.exit(64);
  }
  // Loaded late, because `--version` needs none of it and is asked at every compile.
  const { FakeScriptInvalid, loadFakeScript } = await import("./script.mjs");
  try {
    const loaded = loadFakeScript(script, provider);
    if (provider === "claude") await (await import("./claude/main.mjs")).runClaude(loaded);
    else await (await import("./codex/main.mjs")).runCodex(loaded);
  } catch (error) {
    if (!(error instanceof FakeScriptInvalid)) throw error;
    await printError(`${error.message}\n`);
    process.exit(64);
  }
}

/** @param {Provider} provider @param {string | undefined} script */
async function tellVersion(provider, script) {
  const { version = DEFAULT_VERSIONS[provider] } =
    script === undefined ? {} : JSON.parse(readFileSync(script, "utf8"));
  await printText(`${VERSION_LINES[provider](fakeVersion(version))}\n`);
}
