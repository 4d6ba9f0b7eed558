// The one interface a provider implements. A provider is added by a folder beside this file and a row in registry.ts.
// render/ is pure but for `probe` and `preflight`; it never imports spawn/ or broker/.

import type { Writable } from "node:stream";
import type { HookPlan } from "../compiler/plan.ts";
import type { Issue } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Envelope, EnvelopeContext } from "../profile/envelope-types.ts";
import type { EventName, Provider } from "../profile/events.ts";
import type { Verdict } from "../profile/verdict.ts";

/** What a hook's process must print so that the provider does what the verdict says. */
export interface EncodedVerdict {
  readonly code: 0 | 2;
  readonly stdout: string;
  readonly stderr: string;
}

/** What the caller admits into one run. Names and defaults: docs/SPAWN.md. */
export interface RunOptions {
  readonly cwd: string;
  readonly model?: string;
  /** claude's `--permission-mode`; default `default`. */
  readonly permissionMode?: string;
  /** codex's `-s`; default `workspace-write`. `danger-full-access` passes no sandbox and no approvals. */
  readonly sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  /** claude: exact tool set (`--tools`). */
  readonly tools?: readonly string[];
  /** claude: pre-approved tools (`--allowedTools`). */
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly addDirs?: readonly string[];
  /** MCP servers by name, in the shape of claude's `mcpServers` (`command`/`args`/`env` or `url`/`headers`). */
  readonly mcpServers?: Readonly<Record<string, JsonObject>>;
  /** Provider settings a caller admits on purpose: claude `settings.json` keys (no `hooks`), codex `-c` keys. */
  readonly providerConfig?: JsonObject;
  readonly maxTurns?: number;
  /** Provider session id to resume. */
  readonly resume?: string;
  /** The session outlives the run, so that it can be resumed. */
  readonly keepSession?: boolean;
  readonly configHome?: "user" | "run";
  /** Text of instruction files admitted by `admit.instructions`, already read. */
  readonly instructions?: string;
  /** Deny and ask rules copied from ambient claude settings. */
  readonly denyRules?: { readonly deny: readonly string[]; readonly ask: readonly string[] };
  /** codex execpolicy files that only narrow, by file name: copied into the run's home. */
  readonly narrowingRules?: Readonly<Record<string, string>>;
  /** False: no tool that starts another agent. @default true */
  readonly subagents?: boolean;
  readonly extraArgs?: readonly string[];
  /** codex: leaves terminals on although a guard watches the shell. @default false */
  readonly interactiveShell?: boolean;
}

/** Where and as whom one run happens. All paths absolute. */
export interface RunContext {
  readonly runId: string;
  /** UUID; becomes claude's `--session-id`. */
  readonly sessionId: string;
  readonly runDir: string;
  /** Absolute path of the shim file inside the run directory. */
  readonly shimPath: string;
  /** Per-run provider home (CLAUDE_CONFIG_DIR when configHome is `run`; always CODEX_HOME). */
  readonly providerHome: string;
  readonly tmpDir: string;
  readonly options: RunOptions;
  /** Value of the run marker, `outer:inner` when nested. Passed to MCP servers, whose environment codex curates. */
  readonly marker: string;
  /** Real path of the git root or cwd: codex marks it untrusted. */
  readonly projectRoot: string;
}

export interface RenderedFile {
  /** Relative to the run directory. */
  readonly path: string;
  readonly content: string;
  readonly mode: number;
  readonly why: string;
}

export interface RenderedEnv {
  readonly value: string;
  readonly why: string;
}

/** Everything needed to start the provider for one run. */
export interface RenderedRun {
  readonly argv: readonly string[];
  readonly files: readonly RenderedFile[];
  /** Added on top of the allowlisted environment; always wins. */
  readonly env: Readonly<Record<string, RenderedEnv>>;
  /** Every flag with the reason it is there, for `explain`. */
  readonly why: readonly { readonly arg: string; readonly why: string }[];
  /** codex: how to start `app-server` for the preflight, same home and same -c. */
  readonly preflightArgv?: readonly string[];
}

/** The pieces of a running child that a preflight may use (claude: control channel on the child's own pipes). */
export interface PreflightChannel {
  /** claude: stdin of the started CLI. Absent for codex, whose preflight is a process of its own. */
  readonly stdin?: Writable;
  /** Feeds every stdout line of the started CLI to the preflight while it runs. */
  readonly onLine?: (listener: (line: string) => void) => () => void;
  /** Starts the binary with the given argv in the run's env and cwd, feeds stdin lines, and collects stdout until `done` says so. */
  readonly runAppServer?: (
    argv: readonly string[],
    session: (io: {
      write: (line: string) => void;
      onLine: (listener: (line: string) => void) => () => void;
      signal: AbortSignal;
    }) => Promise<JsonObject>,
  ) => Promise<JsonObject>;
  /** Resolves (never rejects) when the child has exited, with the stderr tail. */
  readonly exited?: Promise<{ code: number | null; signal: string | null; stderr: string }>;
  readonly signal: AbortSignal;
}

export interface PreflightReport {
  /** Empty: attested. */
  readonly issues: readonly Issue[];
  readonly providerVersion?: string;
  /** Hooks of others (managed policy) that will run beside ours. */
  readonly foreignHooks: readonly {
    readonly event: string;
    readonly source: string;
    readonly command?: string;
  }[];
  readonly capabilities: JsonObject;
}

/** Provider-neutral events decoded from a provider's stdout line. Sequence numbers and run ids are added by spawn. */
export type StreamEvent =
  | { readonly type: "session"; readonly providerSessionId: string; readonly model?: string }
  | {
      readonly type: "message";
      readonly role: "assistant";
      readonly text: string;
      readonly subagent?: boolean;
    }
  | { readonly type: "thinking"; readonly text: string }
  | {
      readonly type: "tool_call";
      readonly id?: string;
      readonly name: string;
      readonly input: Json;
      readonly started?: boolean;
    }
  | {
      readonly type: "tool_result";
      readonly id?: string;
      readonly name?: string;
      readonly denied: boolean;
      /** The provider says that the tool itself ran; omitted where it does not say. */
      readonly ran?: boolean;
      readonly isError: boolean;
      readonly output: Json;
    }
  | {
      readonly type: "usage";
      readonly inputTokens?: number;
      readonly outputTokens?: number;
      readonly cachedInputTokens?: number;
      readonly costUsd?: number;
    }
  | { readonly type: "warning"; readonly code: string; readonly message: string }
  /** A hook's end as the provider reports it (claude `--include-hook-events`). */
  | {
      readonly type: "provider_hook";
      readonly event: string;
      readonly exitCode?: number;
      readonly outcome?: string;
      readonly noVerdict?: boolean;
      /** Of the call the hook was asked about, when the provider says it. */
      readonly toolUseId?: string;
      /** The provider's own words for a missing verdict. */
      readonly evidence?: string;
    }
  | {
      readonly type: "result";
      /** `ok` is not yet `success`. `no_message`: the turn is called complete, but the model said nothing in it. */
      readonly status: "ok" | "error" | "prompt_blocked" | "interrupted" | "no_message";
      readonly reason: string;
      readonly text?: string;
      readonly turns?: number;
    }
  /** Another turn begins: a `result` before it was not the last word. Never shown to callers. */
  | { readonly type: "turn_started" }
  /** Answers on claude's control channel; never shown to callers. */
  | { readonly type: "control"; readonly payload: JsonObject }
  | { readonly type: "raw"; readonly payload: Json }
  /** A line that is no JSON object, or nests deeper than 1,000 levels. */
  | {
      readonly type: "unparsed";
      /** Its first 4 KiB. */
      readonly text: string;
      /** Of the whole line, as UTF-8. */
      readonly bytes: number;
    };

/** Whether somebody wants events of a type. What is not wanted need not be parsed. */
export type Wants = (type: StreamEvent["type"]) => boolean;

/** Stateful, one per run: lines in, events out. Never throws for what a provider prints. */
export interface StreamParser {
  /** True: nothing in this line is wanted, as far as its first bytes tell. It need not be pushed then. Undefined: every line is wanted. */
  readonly skips?: ((bytes: Buffer, start: number, end: number) => boolean) | undefined;
  push(line: string): readonly StreamEvent[];
  /** A line was too long to be read: what it said is not known, and what was said before may not hold any more. */
  skip(): void;
  /** Called at the end of the stream; may settle what only the end can tell. */
  end(): readonly StreamEvent[];
}

/** What the CLI wrote about a hook that it asks over its own pipes. */
export type CallbackMessage =
  | {
      readonly type: "asked";
      readonly requestId: string;
      readonly event: EventName;
      readonly envelope: JsonObject;
    }
  /** Asked only to see whether callbacks come at all. */
  | { readonly type: "canary"; readonly requestId: string }
  /** The CLI does not wait any more. */
  | { readonly type: "cancelled"; readonly requestId: string }
  /** A callback that was never registered, or without an envelope. */
  | { readonly type: "unknown"; readonly requestId: string; readonly detail: string };

/** Hooks as callbacks over the pipes of the CLI: no process a call, out of the agent's reach. */
export interface CallbackProtocol {
  /** Events that the CLI asks this way and whose calls it stops by itself when no answer comes, or its input ends. */
  readonly events: readonly EventName[];
  /** Undefined: the line is not about a callback. */
  read(payload: JsonObject): CallbackMessage | undefined;
  /** From the start of a line that was too long to be read. */
  readStart(text: string): CallbackMessage | undefined;
  /** The line that answers. What is no verdict stops a gated call. */
  encode(requestId: string, answer: EncodedVerdict | { readonly failed: string }): string;
}

export interface ProbeOptions {
  /** The caller named this very file; false when it was found on PATH. Only then is a fake of the testkit accepted. */
  readonly isNamed: boolean;
}

export interface ProviderAdapter {
  readonly provider: Provider;
  /** Environment variable names of the provider's own credentials. */
  readonly credentialEnv: readonly string[];
  /** Asks the binary for its version (a short process, isolated env) and says whether it is native. Throws AgentHooksRefused. */
  probe(binaryPath: string, how: ProbeOptions): Promise<{ version: string }>;
  /** Checks at compile what needs no run: events, timeouts, version. Pure. */
  plan(plan: HookPlan): readonly Issue[];
  /** Checks a run's own options, extra arguments and extra environment: `argument_conflict`, `option_invalid`. Pure. */
  checkOptions(options: RunOptions, extraEnv: Readonly<Record<string, string>>): readonly Issue[];
  materialise(plan: HookPlan, context: RunContext): RenderedRun;
  preflight(
    plan: HookPlan,
    context: RunContext,
    rendered: RenderedRun,
    channel: PreflightChannel,
  ): Promise<PreflightReport>;
  /** The bytes that hand the prompt over on stdin; `end` closes stdin after them. */
  encodePrompt(prompt: string, context: RunContext): { readonly bytes: string; readonly end: boolean };
  /** How to ask for a clean stop: a line on stdin, then a signal. */
  readonly cleanStop: { readonly stdinLine?: string; readonly signal: "SIGINT" | "SIGTERM" };
  /** Undefined: hooks reach Bridle through the shim alone. */
  readonly callbacks?: CallbackProtocol;
  /** Provider envelope, as JSON text or already parsed → profile envelope. Throws on something that is not this provider's envelope. */
  decodeEnvelope(event: EventName, raw: string | JsonObject, context: EnvelopeContext): Envelope;
  encodeVerdict(event: EventName, verdict: Verdict): EncodedVerdict;
  /** @param wants @default everything */
  createStreamParser(wants?: Wants): StreamParser;
}
