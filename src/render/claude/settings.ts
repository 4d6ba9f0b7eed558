// claude's settings.json for one run: our hooks, the admitted rules, nothing else. One bad field voids the whole file without a
// word (docs/providers/claude.md C-4), so it is checked against a strict schema before it is returned.

import { z } from "zod";
import type { HookPlan } from "../../compiler/plan.ts";
import type { JsonObject } from "../../json.ts";
import { capabilityOf } from "../../profile/events.ts";
import { handlerCommand } from "../handler-form.ts";
import type { RunContext } from "../provider.ts";

const handler = z.strictObject({
  type: z.literal("command"),
  command: z.string().min(1),
  timeout: z.number().positive(),
  onFailure: z.literal("block").optional(),
});
const settingsSchema = z
  .object({
    hooks: z.record(z.string(), z.array(z.strictObject({ hooks: z.array(handler).length(1) })).length(1)),
    permissions: z
      .looseObject({ deny: z.array(z.string()).optional(), ask: z.array(z.string()).optional() })
      .optional(),
  })
  .loose();

/** Keys a caller may not admit through `providerConfig`: each would switch hooks off, add foreign ones or run code of its own. */
export const RESERVED_SETTINGS: readonly string[] = [
  "hooks",
  "disableAllHooks",
  "allowManagedHooksOnly",
  "env",
  "apiKeyHelper",
  "awsAuthRefresh",
  "awsCredentialExport",
  "otelHeadersHelper",
  "statusLine",
  "fileSuggestion",
  "enabledPlugins",
  "extraKnownMarketplaces",
  "strictPluginOnlyCustomization",
  "enableAllProjectMcpServers",
  "enabledMcpjsonServers",
  "permissions",
  "sandbox",
  "outputStyle",
  "subagentStatusLine",
];

export function renderHooks(plan: HookPlan, shimPath: string): JsonObject {
  const hooks: JsonObject = {};
  for (const event of plan.events) {
    const { role } = capabilityOf(event);
    const deadline = plan.deadlines[event];
    if (deadline === undefined || plan.transports[event] === "callback") continue;
    const gate = role === "gate";
    const command = handlerCommand({ shimPath, event, shimSeconds: deadline.shimSeconds, gate });
    const rendered = {
      type: "command",
      command,
      timeout: deadline.providerSeconds,
      ...(gate ? { onFailure: "block" } : {}),
    };
    hooks[event] = [{ hooks: [rendered] }];
  }
  return hooks;
}

export function renderSettings(plan: HookPlan, { shimPath, options }: RunContext): JsonObject {
  const { denyRules = { deny: [], ask: [] }, providerConfig = {} } = options;
  const permissions: JsonObject = {};
  if (denyRules.deny.length > 0) permissions.deny = [...denyRules.deny];
  if (denyRules.ask.length > 0) permissions.ask = [...denyRules.ask];
  const settings: JsonObject = {
    ...providerConfig,
    ...(Object.keys(permissions).length > 0 ? { permissions } : {}),
    hooks: renderHooks(plan, shimPath),
  };
  settingsSchema.parse(settings);
  return settings;
}
