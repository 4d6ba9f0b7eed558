// A CLI started as a user would start it, without Bridle: shows that what a case plants does something.

import { spawn } from "node:child_process";
import { onTestFinished } from "vitest";
import { startAnthropicServer } from "../../src/prove/anthropic-server.ts";
import { bareArguments } from "../../src/prove/matrix/bare-arguments.ts";
import { startOpenaiServer } from "../../src/prove/openai-server.ts";
import { type ModelScript, scriptToken } from "../../src/prove/script.ts";
import { resolveNativeBinary } from "../binaries.ts";
import { baseEnv, type Column, codexProviderConfig, type Site } from "./harness.ts";

/** Resolves with the exit code. codex trusts every hook it finds, as after a user's consent. */
export async function runRawCli(
  { provider, model }: Column,
  site: Site,
  script: ModelScript,
): Promise<number | null> {
  const token = scriptToken("raw");
  const start = provider === "claude" ? startAnthropicServer : startOpenaiServer;
  const server = await start({ scripts: { [token]: script } });
  onTestFinished(() => server.close());
  const argv = bareArguments(provider, model, codexProviderConfig(server.url));
  const child = spawn(resolveNativeBinary(provider), argv, {
    cwd: site.project,
    env: { ...baseEnv(site, provider, server.url), DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1" },
    stdio: ["pipe", "ignore", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.on("error", () => {}); // a CLI that ends early closes its stdin: its exit code tells
  child.stdin.end(`Please go on. ${token}`);
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
}
