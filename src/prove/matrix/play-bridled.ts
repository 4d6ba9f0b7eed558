// Plays a case through Bridle: compile, spawn, to the end.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { compileAgentHooks } from "../../compiler/compile.ts";
import type { HookDeclaration } from "../../declaration/types.ts";
import { AgentHooksRefused } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import type { SpawnOptions } from "../../spawn/options.ts";
import type { RunResult } from "../../spawn/result.ts";
import { spawnAgent } from "../../spawn/spawn.ts";
import type { ModelServer } from "../loopback-server.ts";
import { loopbackProvider } from "../provider-env.ts";
import type { Observation } from "./observation.ts";
import { baseEnv, type PlayOptions, providerOf, seenBy, toolPath, withServer } from "./play.ts";
import { CALLBACK_COLUMN } from "./schema.ts";
import { runOptions } from "./translate.ts";

/** No hook that the provider fires: shows what happens without a guard. */
export const NO_GUARD: HookDeclaration = {
  agent_exit: [{ hooks: [{ type: "function", name: "watches nothing", handler: () => undefined }] }],
};

/** Through Bridle: compile, spawn, to the end. */
export async function playBridled(options: PlayOptions, declaration: HookDeclaration): Promise<Observation> {
  const { item } = options;
  const steps = item.steps ?? [];
  return withServer(options, steps, async (server, prompt) => {
    try {
      const result = await runOnce(options, declaration, server, prompt);
      const last = item.resume === undefined ? result : await resume(options, declaration, result);
      return {
        ...seenBy(server),
        refusal: undefined,
        outcome: last.outcome,
        reason: last.reason,
        hooks: last.hooks,
        warnings: last.warnings.map(({ code, message }) => `${code}: ${message}`),
        receipt: last.receiptPath === undefined ? "" : await readFile(last.receiptPath, "utf8"),
      };
    } catch (error) {
      if (!(error instanceof AgentHooksRefused)) throw error;
      const refusal = { codes: error.issues.map(({ code }) => code), message: error.message };
      const nothing = { outcome: undefined, reason: "", hooks: undefined, warnings: [], receipt: "" };
      return { ...seenBy(server), ...nothing, refusal };
    }
  });
}

async function resume(
  options: PlayOptions,
  declaration: HookDeclaration,
  first: RunResult,
): Promise<RunResult> {
  const { item } = options;
  const prompt = item.resume_prompt ?? item.prompt;
  const asked = prompt === undefined ? {} : { prompt };
  const again = { ...options, item: { ...item, id: `${item.id}-resumed`, ...asked } };
  return withServer(again, item.resume ?? [], (server, prompt) =>
    runOnce(again, declaration, server, prompt, { resume: first.providerSessionId ?? "unknown" }),
  );
}

async function runOnce(
  options: PlayOptions,
  declaration: HookDeclaration,
  server: ModelServer,
  prompt: string,
  more: Partial<SpawnOptions> = {},
): Promise<RunResult> {
  const { item, stage, binary, folder } = options;
  const provider = providerOf(item.column);
  const hooks = await compileAgentHooks(declaration, {
    provider,
    cwd: stage.project,
    path: toolPath(),
    binary,
    prove: "off",
    transport: item.column === CALLBACK_COLUMN ? "callbacks" : "shim",
  });
  const { env: _own, providerConfig } = loopbackProvider(provider, server.url);
  const run = await spawnAgent({
    hooks,
    prompt,
    cwd: stage.project,
    baseEnv: baseEnv(options, server.url),
    passEnv: Object.keys(options.networkEnv),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(item.mcp === true ? { mcpServers: mcpServers(folder) } : {}),
    ...(item.resume === undefined ? {} : { keepSession: true }),
    ...runOptions(item, stage, providerConfig),
    ...more,
  } as SpawnOptions);
  for await (const _event of run); // takes the events, so that the provider is never held up
  return run.result;
}

function mcpServers(folder: string): Record<string, JsonObject> {
  return { files: { command: process.execPath, args: [join(folder, "touch-mcp-server.mjs")] } };
}
