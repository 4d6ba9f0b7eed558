// The claude adapter: its parts behind the one provider interface.

import type { HookPlan } from "../../compiler/plan.ts";
import type { Issue } from "../../errors.ts";
import { capabilityOf } from "../../profile/events.ts";
import { decodeEnvelope } from "../decode-envelope.ts";
import { probeVersion } from "../probe.ts";
import type { ProviderAdapter } from "../provider.ts";
import { materialise } from "./arguments.ts";
import { callbacks } from "./callbacks.ts";
import { checkOptions } from "./conflicts.ts";
import { preflight } from "./preflight.ts";
import { createStreamParser } from "./stream.ts";
import { encodeVerdict } from "./verdict.ts";

/** First version whose `onFailure: "block"` was measured to work; older ones ignore the field without a word (C-5). */
const FIRST_WITH_ON_FAILURE = [2, 1, 295] as const;

export const claudeAdapter: ProviderAdapter = {
  provider: "claude",
  credentialEnv: [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
  ],
  probe: (binary, how) => probeVersion("claude", binary, how),
  plan: checkVersion,
  checkOptions,
  materialise,
  preflight: (plan, context, _rendered, channel) => preflight(plan, context, channel),
  encodePrompt: (prompt) => {
    const message = { role: "user", content: [{ type: "text", text: prompt }] };
    return { bytes: `${JSON.stringify({ type: "user", message, parent_tool_use_id: null })}\n`, end: false };
  },
  cleanStop: {
    stdinLine: JSON.stringify({
      type: "control_request",
      request_id: "bridle-stop",
      request: { subtype: "interrupt" },
    }),
    signal: "SIGTERM",
  },
  callbacks,
  decodeEnvelope,
  encodeVerdict,
  createStreamParser,
};

function checkVersion({ binary, events }: HookPlan): Issue[] {
  const hasGate = events.some((event) => capabilityOf(event).role === "gate");
  if (!hasGate || isAtLeast(binary.version, FIRST_WITH_ON_FAILURE)) return [];
  return [
    {
      code: "provider_unsupported",
      path: "binary",
      message: `claude ${binary.version} ignores onFailure: a gate that crashes would be skipped`,
      hint: "use 2.1.295 or later from the native installer; npm on Node 20 brings an older one",
    },
  ];
}

function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split(/[.+-]/).map(Number);
  for (const [index, wanted] of least.entries()) {
    const have = parts[index] ?? 0;
    if (have !== wanted) return have > wanted;
  }
  return true;
}
