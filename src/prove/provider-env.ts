// What a run needs to talk to a loopback model server instead of a vendor: no key, no account, no other host.

import type { JsonObject } from "../json.ts";
import type { Provider } from "../profile/events.ts";

export interface LoopbackProvider {
  /** Environment to add to the run's own. The key is a dummy; the servers never read it. */
  readonly env: Readonly<Record<string, string>>;
  /** For `spawnAgent({ providerConfig })`: codex's model provider; empty for claude. */
  readonly providerConfig: JsonObject;
  /** Models known to work: the first is the default. codex: classic tools first, then code mode. */
  readonly models: readonly string[];
}

export const CLAUDE_MODEL = "claude-sonnet-4-5";
export const CODEX_CLASSIC_MODEL = "gpt-5.5";
export const CODEX_CODE_MODE_MODEL = "gpt-6.2-sol";
export const CODEX_PROVIDER_ID = "bridle-loopback";

/** `url` is the server's `url`, without a path. Throws for an address that is not on loopback. */
export function loopbackProvider(provider: Provider, url: string): LoopbackProvider {
  const { hostname, origin } = new URL(url);
  if (hostname !== "127.0.0.1" && hostname !== "[::1]" && hostname !== "localhost") {
    throw new TypeError(`A loopback provider must be on loopback, not ${JSON.stringify(hostname)}.`);
  }
  if (provider === "claude") {
    return {
      env: {
        ANTHROPIC_BASE_URL: origin,
        ANTHROPIC_API_KEY: "dummy-key-for-the-loopback-server",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_TELEMETRY: "1",
        NO_PROXY: "127.0.0.1,localhost",
      },
      providerConfig: {},
      models: [CLAUDE_MODEL],
    };
  }
  return {
    env: { OPENAI_API_KEY: "dummy-key-for-the-loopback-server", NO_PROXY: "127.0.0.1,localhost" },
    providerConfig: {
      model_provider: CODEX_PROVIDER_ID,
      model_providers: {
        [CODEX_PROVIDER_ID]: {
          name: CODEX_PROVIDER_ID,
          base_url: `${origin}/v1`,
          wire_api: "responses",
          env_key: "OPENAI_API_KEY",
          request_max_retries: 0,
          stream_max_retries: 0,
        },
      },
    },
    models: [CODEX_CLASSIC_MODEL, CODEX_CODE_MODE_MODEL],
  };
}
