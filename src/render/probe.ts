// Asks a provider binary for its version, in an environment that holds nothing of the user's, and refuses what is not native:
// the npm wrapper stays between us and the CLI and outlives signals. A fake of the testkit is taken when the caller named it.

import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { AgentHooksRefused, type RefusalCode } from "../errors.ts";
import { OWNER_PATTERN, ownerName, removeAbandoned } from "../exec/owner-name.ts";
import type { Provider } from "../profile/events.ts";
import { binaryKind } from "../trust/native-binary.ts";
import type { ProbeOptions } from "./provider.ts";

/** What each says of itself beside its version (docs/providers/claude.md C-46, docs/providers/codex.md X-54). */
const NAMES: Readonly<Record<Provider, RegExp>> = { claude: /claude code/i, codex: /codex/i };

const PREFIX = "bridle-probe-";
const PROBE = new RegExp(`^${PREFIX}(${OWNER_PATTERN})-\\w+$`);

/** The homes that killed programs have left. Never rejects. */
export async function removeAbandonedProbes(folder = tmpdir()): Promise<void> {
  const real = await realpath(folder).catch(() => undefined); // not there: the probe says so
  if (real !== undefined) await removeAbandoned(real, PROBE);
}

/** Longest wait for `--version`. */
const PROBE_TIMEOUT_MS = 20_000;

export async function probeVersion(
  provider: Provider,
  binary: string,
  { isNamed }: ProbeOptions,
): Promise<{ version: string }> {
  const refuse = (code: RefusalCode, message: string, hint: string) => {
    throw new AgentHooksRefused([{ code, path: "binary", message, hint }]);
  };
  const kind = await binaryKind(binary);
  if (kind === "script") {
    refuse(
      "provider_unsupported",
      `${binary} is a script, not the native ${provider} binary`,
      "pass the native binary of the platform package, not the npm wrapper",
    );
  } else if (kind === "fake" && !isNamed) {
    refuse(
      "provider_unsupported",
      `${binary} is a fake ${provider} of the testkit, found on PATH`,
      "a fake is taken only when it is named: pass its path as binary",
    );
  } else if (kind === "other") {
    refuse(
      "provider_unsupported",
      `${binary} is not an executable of this platform`,
      "pass the native binary",
    );
  }
  await removeAbandonedProbes();
  const home = await mkdtemp(join(tmpdir(), `${PREFIX}${ownerName()}-`)).catch((cause: Error) => {
    const hint = "set TMPDIR to a folder that is there and that you may write";
    throw new AgentHooksRefused([{ code: "option_invalid", path: "TMPDIR", message: cause.message, hint }], {
      cause,
    });
  });
  try {
    const { stdout, stderr, failed } = await askVersion(binary, home);
    const version = /\d+\.\d+\.\d+[\w.+-]*/.exec(stdout)?.[0];
    if (failed || version === undefined) {
      const said = `${stdout}\n${stderr}`.trim().slice(0, 300);
      refuse(
        "provider_unsupported",
        `${binary} --version did not answer with a version: ${JSON.stringify(said)}`,
        "",
      );
    }
    if (!NAMES[provider].test(stdout))
      refuse(
        "provider_unsupported",
        `${binary} says ${JSON.stringify(stdout.trim().slice(0, 100))}, which is not ${provider}`,
        `pass the binary of ${provider}`,
      );
    return { version: version as string };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

interface Said {
  readonly stdout: string;
  readonly stderr: string;
  /** It did not end with 0, in time, or could not be started: then stderr says so. */
  readonly failed: boolean;
}

async function askVersion(binary: string, home: string): Promise<Said> {
  const asked = promisify(execFile)(binary, ["--version"], {
    env: {
      PATH: "/usr/bin:/bin",
      HOME: home,
      CODEX_HOME: home,
      CLAUDE_CONFIG_DIR: home,
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
    },
    cwd: home,
    timeout: PROBE_TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  asked.child.stdin?.on("error", () => {}).end(); // one that reads waits for nothing
  try {
    const { stdout, stderr } = await asked;
    return { stdout: withoutLastBreak(stdout), stderr: withoutLastBreak(stderr), failed: false };
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & Partial<Said>;
    const said = stdout === "" && stderr === "" ? message : stderr;
    return { stdout: withoutLastBreak(stdout), stderr: withoutLastBreak(said), failed: true };
  }
}

function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}
