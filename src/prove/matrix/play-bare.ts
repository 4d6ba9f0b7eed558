// Plays a case as a user starts the CLI, without Bridle and with every hook it finds trusted.

import { startChild } from "../../spawn/child.ts";
import { endTree } from "../../spawn/stop.ts";
import { loopbackProvider } from "../provider-env.ts";
import { bareArguments } from "./bare-arguments.ts";
import { endOf } from "./end-of-child.ts";
import type { Observation } from "./observation.ts";
import { baseEnv, type PlayOptions, providerOf, seenBy, withServer } from "./play.ts";
import { MODELS } from "./translate.ts";

/** As a user starts the CLI, every hook it finds trusted: shows that what a case plants does something. */
export async function playBare(options: PlayOptions): Promise<Observation> {
  const { item, stage, binary } = options;
  return withServer(options, item.steps ?? [], async (server, prompt) => {
    const { providerConfig } = loopbackProvider(providerOf(item.column), server.url);
    const child = await startChild({
      program: binary,
      argv: bareArguments(providerOf(item.column), MODELS[item.column], providerConfig),
      env: { ...baseEnv(options, server.url), DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1" },
      cwd: stage.project,
    });
    child.stdout.resume();
    child.stdin.end(prompt);
    const { code, signal } = await endOf(child, options.signal);
    await endTree(child, stage.root);
    const reason = `exit ${code ?? signal}`;
    return {
      ...seenBy(server),
      refusal: undefined,
      outcome: undefined,
      reason,
      hooks: undefined,
      warnings: [],
      receipt: "",
    };
  });
}
