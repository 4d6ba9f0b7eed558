// The arguments of a CLI as a user starts it, every hook it finds trusted.

import type { JsonObject } from "../../json.ts";
import type { Provider } from "../../profile/events.ts";
import { tomlValue } from "../../render/codex/toml.ts";

/** The prompt goes over stdin. `providerConfig`: codex's `-c` keys. */
export function bareArguments(provider: Provider, model: string, providerConfig: JsonObject): string[] {
  if (provider === "claude") return ["-p", "--model", model, "--allowedTools=Bash"];
  const config = Object.entries(providerConfig).flatMap(([key, value]) => [
    "-c",
    `${key}=${tomlValue(value)}`,
  ]);
  return [
    "exec",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    ...config,
    "-c",
    "analytics.enabled=false",
    "-m",
    model,
    "-",
  ];
}
