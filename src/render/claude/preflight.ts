// Asks the started claude, on its control channel and before any prompt, which hooks it holds. No API call is made
// (docs/providers/claude.md C-20). Anything but exactly ours refuses.

import { isDeepStrictEqual } from "node:util";
import type { HookPlan } from "../../compiler/plan.ts";
import type { Issue } from "../../errors.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { capabilityOf } from "../../profile/events.ts";
import type { PreflightChannel, PreflightReport, RunContext } from "../provider.ts";
import { renderCallbacks } from "./callbacks.ts";
import { renderHooks } from "./settings.ts";

const POLICY_FLAGS = ["disabledByPolicy", "managedOnly", "pluginOnly", "allDisabled"] as const;

export async function preflight(
  plan: HookPlan,
  context: RunContext,
  channel: PreflightChannel,
): Promise<PreflightReport> {
  const ask = createAsker(channel);
  const callbacks = renderCallbacks(plan);
  const initialized = await ask("initialize", callbacks === undefined ? {} : { hooks: callbacks });
  const settings = await ask("get_settings");
  const issues: Issue[] = checkInitialize(plan, initialized);
  if (issues.length > 0) return report(issues, [], initialized);
  const listing = await ask("get_hooks_listing");
  const ours = renderHooks(plan, context.shimPath);
  const policy = checkPolicy(listing, settings);
  const foreign = foreignHooks(listing);
  issues.push(...policy);
  if (policy.length === 0)
    issues.push(
      ...checkSettings(settings, ours, foreign.length > 0),
      ...checkListing(listing, ours),
      ...checkForeign(foreign),
    );
  return report(issues, foreign, initialized);
}

type Ask = (subtype: string, more?: JsonObject) => Promise<JsonObject>;

function createAsker({ stdin, onLine, exited, signal }: PreflightChannel): Ask {
  if (stdin === undefined || onLine === undefined || exited === undefined)
    throw new Error("the claude preflight needs the CLI's own pipes");
  let count = 0;
  return (subtype, more = {}) =>
    new Promise<JsonObject>((resolve, reject) => {
      const id = `bridle-${++count}`;
      const settle = (act: () => void) => {
        stopListening();
        signal.removeEventListener("abort", onAbort);
        act();
      };
      const onAbort = () => settle(() => reject(signal.reason));
      const stopListening = onLine((line) => {
        const answer = parseAnswer(line, id);
        if (answer === undefined) return;
        if (answer.subtype === "success")
          settle(() => resolve(isJsonObject(answer.response) ? answer.response : {}));
        else
          settle(() =>
            reject(
              new Error(`claude answered ${subtype} with ${JSON.stringify(answer.error ?? answer.subtype)}`),
            ),
          );
      });
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort);
      void exited.then(({ code, signal: by, stderr }) =>
        settle(() =>
          reject(
            new Error(
              `claude ended during the preflight (${by ?? `exit ${code}`}): ${stderr.trim().slice(-2000)}`,
            ),
          ),
        ),
      );
      stdin.write(
        `${JSON.stringify({ type: "control_request", request_id: id, request: { subtype, ...more } })}\n`,
      );
    });
}

function parseAnswer(line: string, id: string): JsonObject | undefined {
  if (!line.includes("control_response")) return undefined;
  try {
    const { type, response } = JSON.parse(line);
    return type === "control_response" && response?.request_id === id ? response : undefined;
  } catch {
    return undefined; // not JSON, so not the answer; the stream parser reports such lines
  }
}

function checkInitialize(plan: HookPlan, initialized: JsonObject): Issue[] {
  const { claude_code_version: version } = initialized;
  // What was proven and looked up is true of the version that was asked at compile, and of no other.
  if (typeof version === "string" && version !== plan.binary.version)
    return [
      {
        code: "provider_changed",
        path: "binary",
        message: `the started claude says it is ${version}; it was ${plan.binary.version} at compile`,
        hint: "compile again",
      },
    ];
  if (renderCallbacks(plan) !== undefined && initialized.hooks_applied !== true)
    return [failed("claude does not say that it took the callbacks")];
  const needsBlock = plan.events.some((event) => capabilityOf(event).role === "gate");
  if (!needsBlock || initialized.hook_on_failure_supported === true) return [];
  return [
    {
      code: "provider_unsupported",
      path: "binary",
      message: `claude ${plan.binary.version} does not support onFailure: a gate that crashes would be skipped`,
      hint: "use 2.1.295 or later, from the native installer",
    },
  ];
}

function checkPolicy(listing: JsonObject, settings: JsonObject): Issue[] {
  const { policy } = listing;
  if (!isJsonObject(policy)) return [failed("claude does not say whether a policy switches hooks off")];
  const set: string[] = POLICY_FLAGS.filter((flag) => (policy[flag] ?? false) !== false);
  const effective = isJsonObject(settings.effective) ? settings.effective : {};
  if (effective.disableAllHooks === true) set.push("disableAllHooks");
  if (set.length === 0) return [];
  return [
    {
      code: "provider_policy",
      path: "preflight",
      message: `a policy of this machine switches our hooks off: ${set.join(", ")}`,
      hint: "ask whoever manages this machine",
    },
  ];
}

function failed(message: string): Issue {
  return { code: "attestation_failed", path: "preflight", message, hint: "no prompt was sent" };
}

function checkSettings(settings: JsonObject, ours: JsonObject, hasForeign: boolean): Issue[] {
  const issues: Issue[] = [];
  const { errors, effective, sources } = settings;
  if (Array.isArray(errors) && errors.length > 0)
    issues.push(failed(`claude rejects settings: ${JSON.stringify(errors).slice(0, 500)}`));
  const listed = Array.isArray(sources) ? sources.filter(isJsonObject) : [];
  const flag = listed.find(({ source }) => source === "flagSettings");
  const live = flag !== undefined && isJsonObject(flag.settings) ? (flag.settings.hooks ?? {}) : {};
  if (!isDeepStrictEqual(live, ours))
    issues.push(failed("the hooks claude took from our settings are not the ones rendered"));
  const effectiveHooks = isJsonObject(effective) ? (effective.hooks ?? {}) : {};
  if (!hasForeign && !isDeepStrictEqual(effectiveHooks, ours))
    issues.push(failed("claude's effective hooks are not exactly ours"));
  for (const { source } of listed) {
    if (source !== "flagSettings" && source !== "policySettings")
      issues.push(failed(`claude reads another settings source: ${JSON.stringify(source)}`));
  }
  return issues;
}

interface Row extends JsonObject {
  event: string;
  source: string;
}

function rowsOf(listing: JsonObject): Row[] {
  const rows = Array.isArray(listing.hooks) ? listing.hooks.filter(isJsonObject) : [];
  return rows as Row[];
}

/** Every hook of ours listed once, with our command and timeout, and enabled. */
function checkListing(listing: JsonObject, ours: JsonObject): Issue[] {
  const issues: Issue[] = [];
  if (isJsonObject(listing.bareMode) || listing.bareMode === true)
    issues.push(failed("claude runs in bare mode, which drops hooks"));
  if (isJsonObject(listing.safeMode) || listing.safeMode === true)
    issues.push(failed("claude runs in safe mode, which drops hooks"));
  const rows = rowsOf(listing);
  for (const [event, groups] of Object.entries(ours)) {
    const [
      {
        hooks: [handler],
      },
    ] = groups as unknown as [{ hooks: [JsonObject] }];
    const found = rows.filter((row) => row.event === event && row.source === "flagSettings");
    const isLive =
      found.length === 1 && found[0]?.commandText === handler.command && found[0]?.disabled !== true;
    if (!isLive) issues.push(failed(`claude does not list our ${event} hook as enabled`));
  }
  const expected = Object.keys(ours).length;
  const listed = rows.filter(({ source }) => source === "flagSettings").length;
  if (listed !== expected)
    issues.push(failed(`claude lists ${listed} hook(s) of ours, ${expected} were rendered`));
  return issues;
}

/** Hooks of others may run only when this machine's policy puts them there: those are reported, all others refuse (C-37). */
function checkForeign(foreign: PreflightReport["foreignHooks"]): Issue[] {
  return foreign
    .filter(({ source }) => source !== "policySettings")
    .map(({ event, source }) => failed(`a ${event} hook that is not ours would run (source ${source})`));
}

function foreignHooks(listing: JsonObject): { event: string; source: string; command?: string }[] {
  return rowsOf(listing)
    .filter(({ source }) => source !== "flagSettings")
    .map(({ event, source, commandText }) => ({
      event,
      source,
      ...(typeof commandText === "string" ? { command: commandText } : {}),
    }));
}

function report(
  issues: readonly Issue[],
  foreign: PreflightReport["foreignHooks"],
  initialized: JsonObject,
): PreflightReport {
  const {
    claude_code_version: version,
    hook_on_failure_supported,
    hooks_applied,
    current_permission_mode,
  } = initialized;
  const capabilities: JsonObject = {};
  for (const [name, value] of Object.entries({
    hook_on_failure_supported,
    hooks_applied,
    current_permission_mode,
  }))
    if (value !== undefined) capabilities[name] = value;
  return {
    issues,
    foreignHooks: foreign,
    capabilities,
    ...(typeof version === "string" ? { providerVersion: version } : {}),
  };
}
