// The same chain in two worlds: in a host, and behind the shim and broker of a spawned agent. Each tells what came of the call, in the same words.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Broker, startBroker } from "../../src/broker/broker.ts";
import type { RunDirectory } from "../../src/broker/run-directory.ts";
import { planOf } from "../../src/compiler/token.ts";
import { buildHookEnv } from "../../src/exec/hook-env.ts";
import { compileHostHooks, createHookHost } from "../../src/host/index.ts";
import { compileAgentHooks, type HookDeclaration, type Provider } from "../../src/index.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../src/json.ts";
import { capabilityOf } from "../../src/profile/events.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { adapterFor } from "../../src/render/registry.ts";
import { createHookRuntime, type HookRuntime } from "../../src/spawn/hook-runtime.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { makeRunDirectory, start } from "../broker/support.ts";
import type { Behaviour, CorpusEvent, Pair } from "./corpus.ts";

/** What came of a call: it runs with this input, or does not; the model is told this. */
export interface Effect {
  /** `PreToolUse` alone: as it runs. */
  readonly input?: JsonObject;
  /** It is stopped, or on feedback events blocked, for this reason. */
  readonly denied?: string;
  readonly context?: string;
}

const DO =
  'printf "%s" "$1"; printf "%s" "$2" >&2; case $3 in KILL|TERM) kill -"$3" $$ ;; *) exit "$3" ;; esac';

export function declarationOf({ event, hooks }: Pick<Pair, "event" | "hooks">): HookDeclaration {
  return {
    [event]: hooks.map(({ stdout = "", stderr = "", end = 0, onFailure, grants, matcher }: Behaviour) => ({
      ...(matcher === undefined ? {} : { matcher }),
      hooks: [
        {
          type: "command" as const,
          // Braces are placeholders in argv, so the answer travels in the environment.
          command: ["/bin/sh", "-c", `set -- "$SAY" "$SAY_ERR" "$END"; ${DO}`],
          env: { SAY: stdout, SAY_ERR: stderr, END: String(end) },
          ...(onFailure === undefined ? {} : { on_failure: onFailure }),
          ...(grants === undefined ? {} : { grants }),
        },
      ],
    })),
  };
}

export async function playInHost(pair: Pair, cwd: string): Promise<Effect> {
  const { event, input } = pair;
  const host = createHookHost({ hooks: await compileHostHooks(declarationOf(pair), { cwd }) });
  host.tools.register({ name: "Bash", kind: "shell", run: () => ({ stdout: "" }) });
  try {
    if (event === "PreToolUse" || event === "PostToolUse") {
      const outcome = await host.tools.invoke("Bash", input);
      const context = outcome.context === undefined ? {} : { context: outcome.context };
      if (outcome.status === "denied") return { denied: outcome.reason, ...context };
      if (outcome.status === "failed") throw outcome.error;
      if (event === "PreToolUse") return { input: outcome.input, ...context };
      return { ...(outcome.feedback === undefined ? {} : { denied: outcome.feedback }), ...context };
    }
    const verdict =
      event === "UserPromptSubmit"
        ? await host.runUserPromptSubmit(host.ingress({ prompt: "hello" }))
        : event === "Stop"
          ? await host.runStop()
          : await host.runSessionStart({ source: "startup" });
    return {
      ...(verdict.decision === "deny" ? { denied: verdict.reason ?? "" } : {}),
      ...(verdict.context === undefined ? {} : { context: verdict.context }),
    };
  } finally {
    await host.close();
  }
}

/** A broker with its shim, and whatever chain is put behind it. */
export interface BrokerWorld {
  play(pair: Pair): Promise<Effect>;
  close(): Promise<void>;
}

const EVENTS: readonly CorpusEvent[] = [
  "PreToolUse",
  "PostToolUse",
  "UserPromptSubmit",
  "Stop",
  "SessionStart",
];

export async function openBrokerWorld(
  provider: Provider,
  scratch: string,
  cwd: string,
): Promise<BrokerWorld> {
  mkdirSync(scratch, { recursive: true });
  const runDirectory = await makeRunDirectory(scratch);
  const fake = await createFakeProvider({
    provider,
    script: { steps: [{ text: "never asked" }] },
    directory: join(scratch, "fakes"),
  });
  let runtime: HookRuntime | undefined;
  const broker: Broker = await startBroker({
    runDirectory,
    events: EVENTS,
    answer: (event, raw, call) => (runtime as HookRuntime).answer(event, raw, call),
    deadlineMs: () => 60_000,
    isGate: (event) => capabilityOf(event).role === "gate",
    onFault: ({ kind, detail }) => {
      throw new Error(`${kind}: ${detail}`);
    },
  });
  return {
    async play(pair) {
      const options = { provider, cwd, binary: fake.binary, prove: "off" } as const;
      const plan = planOf(await compileAgentHooks(declarationOf(pair), options));
      runtime = createHookRuntime({
        plan,
        adapter: adapterFor(provider),
        context: { provider, sessionId: "session", runId: "run", cwd },
        hookEnv: buildHookEnv({
          hookPath: plan.hookPath,
          base: process.env,
          projectDir: cwd,
          runId: "run",
          entryEnv: {},
          marker: "differential",
        }),
        marker: "differential",
        env: process.env,
        runDirectory: () => runDirectory.path,
        receipts: { path: undefined, head: undefined, write: () => {}, close: async () => undefined },
        redactor: createRedactor({ env: process.env }),
        attestation: { identified: () => {} },
        onHook: () => {},
        isEnding: () => false,
        onUnenforced: (reason) => {
          throw new Error(reason);
        },
        onHookLoop: (reason) => {
          throw new Error(reason);
        },
      });
      return effectOf(pair, await askShim(runDirectory, pair, provider, cwd));
    },
    close: () => broker.close(),
  };
}

async function askShim({ shimPath }: RunDirectory, { event, input }: Pair, provider: Provider, cwd: string) {
  const role = capabilityOf(event).role === "gate" ? "GATE" : "OTHER";
  return start(["/bin/sh", shimPath, event, "60", role], rawEnvelope(event, input, provider, cwd)).result;
}

/** As the agent would send it, as far as the broker reads it. */
function rawEnvelope(event: CorpusEvent, input: JsonObject, provider: Provider, cwd: string): string {
  const isTool = event === "PreToolUse" || event === "PostToolUse";
  return JSON.stringify({
    session_id: `${provider}-session`,
    cwd,
    hook_event_name: event,
    permission_mode: "default",
    ...(isTool ? { tool_name: "Bash", tool_input: input, tool_use_id: "u1" } : {}),
    ...(event === "PostToolUse" ? { tool_response: { stdout: "" } } : {}),
    ...(event === "UserPromptSubmit" ? { prompt: "hello" } : {}),
    ...(event === "Stop" ? { stop_hook_active: false } : {}),
    ...(event === "SessionStart" ? { source: "startup" } : {}),
  });
}

/** What the agent makes of a shim's answer (docs/providers/claude.md and codex.md; held by the matrix). */
function effectOf(
  { event, input }: Pair,
  { code, stdout, stderr }: { code: number | null; stdout: string; stderr: string },
): Effect {
  const said = parseJsonObject(stdout) ?? {};
  const specific = isJsonObject(said.hookSpecificOutput) ? said.hookSpecificOutput : {};
  const context =
    typeof specific.additionalContext === "string" ? { context: specific.additionalContext } : {};
  if (code === 2) {
    const reason = specific.permissionDecisionReason ?? said.reason ?? stderr;
    return { denied: String(reason), ...context };
  }
  if (said.decision === "block") return { denied: String(said.reason), ...context };
  if (event !== "PreToolUse") return context;
  const ran = isJsonObject(specific.updatedInput) ? specific.updatedInput : input;
  return { input: ran, ...context };
}
