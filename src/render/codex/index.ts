// The codex adapter: its parts behind the one provider interface.

import { decodeEnvelope } from "../decode-envelope.ts";
import { probeVersion } from "../probe.ts";
import type { ProviderAdapter } from "../provider.ts";
import { materialise } from "./arguments.ts";
import { checkOptions } from "./conflicts.ts";
import { preflight } from "./preflight.ts";
import { createStreamParser } from "./stream.ts";
import { encodeVerdict } from "./verdict.ts";

export const codexAdapter: ProviderAdapter = {
  provider: "codex",
  credentialEnv: ["CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN"],
  probe: (binary, how) => probeVersion("codex", binary, how),
  plan: () => [],
  checkOptions,
  materialise,
  preflight,
  encodePrompt: (prompt) => ({ bytes: prompt, end: true }),
  cleanStop: { signal: "SIGINT" },
  decodeEnvelope,
  encodeVerdict,
  createStreamParser,
};
