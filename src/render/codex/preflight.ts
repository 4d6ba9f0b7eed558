// Asks `codex app-server`, in the run's own home and with the run's own overrides, which hooks are live. Exactly ours, trusted and
// enabled, or a refusal (docs/providers/codex.md X-6).

import type { HookPlan } from "../../compiler/plan.ts";
import type { Issue } from "../../errors.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../json.ts";
import type { PreflightChannel, PreflightReport, RenderedRun, RunContext } from "../provider.ts";
import { type RenderedHook, renderHooks } from "./hooks.ts";

export async function preflight(
  plan: HookPlan,
  context: RunContext,
  { preflightArgv = [] }: RenderedRun,
  { runAppServer, signal }: PreflightChannel,
): Promise<PreflightReport> {
  if (runAppServer === undefined) throw new Error("the codex preflight needs a process of its own");
  const answer = await runAppServer(preflightArgv, async ({ write, onLine }) => {
    const request = createRequester({ write, onLine, signal });
    await request("initialize", { clientInfo: { name: "bridle", version: "1" } });
    write(JSON.stringify({ jsonrpc: "2.0", method: "initialized" }));
    return request("hooks/list", { cwds: [context.options.cwd] });
  });
  const listed = entriesOf(answer);
  const expected = renderHooks(plan, context.shimPath);
  const foreign = listed.hooks.filter((hook) => !expected.some(({ key }) => hook.key === key));
  const issues = [
    ...expected.flatMap((hook) => checkHook(hook, listed)),
    ...checkForeign(foreign),
    ...listed.errors.map((error) => failed(`codex reports: ${JSON.stringify(error).slice(0, 300)}`)),
  ];
  return {
    issues,
    foreignHooks: foreign.filter(willRun).map(({ eventName, source, command }) => ({
      event: String(eventName),
      source: String(source),
      ...(typeof command === "string" ? { command } : {}),
    })),
    capabilities: {},
    providerVersion: plan.binary.version,
  };
}

function createRequester({
  write,
  onLine,
  signal,
}: {
  write: (line: string) => void;
  onLine: (listener: (line: string) => void) => () => void;
  signal: AbortSignal;
}) {
  let count = 0;
  return (method: string, params: JsonObject) =>
    new Promise<JsonObject>((resolve, reject) => {
      const id = ++count;
      const onAbort = () => settle(() => reject(signal.reason));
      const stop = onLine((line) => {
        const message = parseJsonObject(line);
        if (message?.id !== id) return;
        if (isJsonObject(message.result)) settle(() => resolve(message.result as JsonObject));
        else
          settle(() =>
            reject(new Error(`codex answered ${method} with ${JSON.stringify(message.error ?? message)}`)),
          );
      });
      const settle = (act: () => void) => {
        stop();
        signal.removeEventListener("abort", onAbort);
        act();
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort);
      write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
}

interface Listed {
  readonly hooks: JsonObject[];
  readonly errors: JsonObject["errors"][];
}

function entriesOf(answer: JsonObject): Listed {
  const rows = (Array.isArray(answer.data) ? answer.data : []).filter(isJsonObject);
  const list = (key: string) => rows.flatMap((row) => (Array.isArray(row[key]) ? row[key] : []));
  return { hooks: list("hooks").filter(isJsonObject), errors: list("errors") };
}

function failed(message: string): Issue {
  return { code: "attestation_failed", path: "preflight", message, hint: "no agent was started" };
}

function checkHook({ event, key, command, timeout, trustedHash }: RenderedHook, { hooks }: Listed): Issue[] {
  const found = hooks.filter((hook) => hook.key === key);
  const [hook] = found;
  if (hook === undefined) {
    // An empty list is what features.hooks=false in a managed layer looks like.
    const isOff = hooks.every(({ isManaged }) => isManaged === true);
    if (!isOff) return [failed(`codex does not list our ${event} hook`)];
    return [
      {
        code: "provider_policy",
        path: "preflight",
        message: `codex does not list our ${event} hook: a policy of this machine switches hooks off`,
        hint: "see /etc/codex",
      },
    ];
  }
  const problems = [
    found.length === 1 ? "" : `listed ${found.length} times`,
    hook.enabled === true ? "" : "not enabled",
    hook.trustStatus === "trusted" ? "" : `trust is ${JSON.stringify(hook.trustStatus)}`,
    hook.currentHash === trustedHash ? "" : `its hash is ${JSON.stringify(hook.currentHash)}`,
    hook.command === command ? "" : "its command is another",
    hook.timeoutSec === timeout ? "" : `its timeout is ${JSON.stringify(hook.timeoutSec)}`,
  ].filter((problem) => problem !== "");
  return problems.length === 0 ? [] : [failed(`our ${event} hook: ${problems.join(", ")}`)];
}

/** Managed hooks run without trust; all others only with it. */
function willRun({ isManaged, enabled, trustStatus }: JsonObject): boolean {
  return enabled === true && (isManaged === true || trustStatus === "trusted");
}

/** Hooks of others may run only when this machine's policy puts them there: they are reported, not refused. */
function checkForeign(foreign: readonly JsonObject[]): Issue[] {
  return foreign
    .filter((hook) => hook.isManaged !== true && willRun(hook))
    .map(({ eventName, source }) =>
      failed(`a ${String(eventName)} hook that is not ours would run (source ${String(source)})`),
    );
}
