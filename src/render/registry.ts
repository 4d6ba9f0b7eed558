// One row a provider.

import type { Provider } from "../profile/events.ts";
import { claudeAdapter } from "./claude/index.ts";
import { codexAdapter } from "./codex/index.ts";
import type { ProviderAdapter } from "./provider.ts";

const ADAPTERS: Readonly<Record<Provider, ProviderAdapter>> = { claude: claudeAdapter, codex: codexAdapter };

export function adapterFor(provider: Provider): ProviderAdapter {
  return ADAPTERS[provider];
}
