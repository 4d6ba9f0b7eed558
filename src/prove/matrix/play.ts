// What the three ways to play a case have in common: the model server, the environment, what the model's side saw.

import { dirname } from "node:path";
import type { Provider } from "../../profile/events.ts";
import { RUN_MARKER } from "../../spawn/environment.ts";
import { startAnthropicServer } from "../anthropic-server.ts";
import type { ModelServer } from "../loopback-server.ts";
import { startOpenaiServer } from "../openai-server.ts";
import { loopbackProvider } from "../provider-env.ts";
import { scriptToken } from "../script.ts";
import type { Observation } from "./observation.ts";
import type { ColumnName, MatrixCase, StepSource } from "./schema.ts";
import type { Stage } from "./stage.ts";
import { toScript } from "./translate.ts";

export interface PlayOptions {
  readonly item: MatrixCase;
  readonly stage: Stage;
  readonly binary: string;
  /** Folder with the matrix's own helpers. */
  readonly folder: string;
  /** Variables that keep the CLI from the network where no namespace does. */
  readonly networkEnv: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export function providerOf(column: ColumnName): Provider {
  return column.startsWith("claude") ? "claude" : "codex";
}

/** Longest that a run without Bridle's own deadlines may take. */
export const LONGEST_MS = 30_000;

export async function withServer<T>(
  { item, stage }: PlayOptions,
  steps: readonly StepSource[],
  play: (server: ModelServer, prompt: string) => Promise<T>,
): Promise<T> {
  const token = scriptToken(`case-${item.id}`);
  const start = providerOf(item.column) === "claude" ? startAnthropicServer : startOpenaiServer;
  await using server = await start({ scripts: { [token]: toScript(steps, item.column, stage) } });
  return await play(server, `${stage.expand(item.prompt ?? "Please go on.")} ${token}`);
}

export function toolPath(): string {
  return `/usr/local/bin:/usr/bin:/bin:${dirname(process.execPath)}`;
}

export function baseEnv({ item, stage, networkEnv }: PlayOptions, url: string): Record<string, string> {
  const marker = process.env[RUN_MARKER];
  return {
    ...(marker === undefined ? {} : { [RUN_MARKER]: marker }),
    PATH: toolPath(),
    HOME: stage.home,
    TMPDIR: stage.tmp,
    ...loopbackProvider(providerOf(item.column), url).env,
    ...networkEnv,
    ...stage.expand({ ...item.env }),
  };
}

export function seenBy(server: ModelServer): Pick<Observation, "told" | "sent" | "offered" | "modelCalls"> {
  return {
    told: [...server.userTexts(), ...server.toolResults().values()].join("\n"),
    sent: JSON.stringify(server.requests.map(({ body }) => body)),
    offered: server.offeredTools(),
    modelCalls: server.modelCalls,
  };
}
