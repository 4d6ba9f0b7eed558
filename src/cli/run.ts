// bridle run: one agent under the declared hooks, with readable progress or JSONL events.

import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type AgentEvent,
  type Provider,
  type SpawnOptions,
  spawnAgent,
  stopAllRuns,
  toOneLine,
} from "../index.ts";
import {
  addCompileOptions,
  type CompileFlags,
  compileDeclared,
  ENDING_SIGNALS,
  parseProvider,
} from "./compile-file.ts";
import { exitCodeOf } from "./exit-codes.ts";
import { RunInterrupted } from "./report-error.ts";
import { addLockOptions, type LockFlags, runLocked } from "./run-lock.ts";

interface RunFlags extends CompileFlags, LockFlags {
  readonly hooks?: string;
  readonly cwd: string;
  readonly json?: boolean;
  readonly model?: string;
  readonly permissionMode?: string;
  readonly sandbox?: string;
  readonly allowedTools?: string[];
  readonly configHome?: "user" | "run";
  readonly passEnv?: string[];
  readonly containment?: string;
  readonly workspace?: string;
  readonly timeout?: number;
  readonly trace?: boolean;
}

export function addRunCommand(program: Command): void {
  addLockOptions(addCompileOptions(program.command("run")))
    .description("run an agent under the declared hooks; the prompt is the argument, or stdin")
    .argument("<provider>", "claude or codex", parseProvider)
    .argument("[words...]", "the prompt; after -- further arguments for the CLI")
    .option(
      "--hooks <file>",
      "YAML or JSON file with hooks_external: (default: the settings of the user and of the project)",
    )
    .option("--cwd <dir>", "the agent's working directory", ".")
    .option("--model <name>", "the provider's model")
    .option("--permission-mode <mode>", "claude: permission mode")
    .option("--sandbox <mode>", "codex: read-only, workspace-write or danger-full-access")
    .option("--allowed-tools <name...>", "claude: tools that run without asking")
    .option("--config-home <which>", "user lends the login; run gives an empty home", "user")
    .option("--pass-env <name...>", "variables to pass on to the agent")
    .addOption(
      new Option("--containment <how>", "what holds its processes together (default: auto)").choices([
        "auto",
        "pid-namespace",
        "sweep",
      ]),
    )
    .addOption(
      new Option("--workspace <use>", "exclusive: no other run in --cwd (default: shared)").choices([
        "exclusive",
        "shared",
      ]),
    )
    .option("--timeout <seconds>", "end the run after this long", parseSeconds)
    .option("--trace", "follow the run as OpenTelemetry spans; needs an SDK, loaded with node --import")
    .option("--json", "events as JSONL on stdout")
    .addHelpText(
      "after",
      `
Examples:
  bridle run codex "Fix the failing test"
  bridle run codex --hooks hooks.yaml "Fix the failing test"
  bridle run claude --hooks hooks.yaml --json < prompt.txt
  bridle run codex --lock nightly --if-running skip "Tidy up"
  bridle run codex --hooks hooks.yaml "Review this" -- --color never`,
    )
    .action((provider: Provider, words: string[], flags: RunFlags, command: Command) =>
      runLocked(command, flags, () => runAgent(provider, words, flags)),
    );
}

async function runAgent(
  provider: Provider,
  words: string[],
  flags: RunFlags,
): Promise<{ hasSurvivors: boolean }> {
  const { prompt: given, extraArgs } = splitWords(words, process.argv);
  const cwd = resolve(flags.cwd);
  const hooks = await compileDeclared({ file: flags.hooks, cwd }, provider, flags);
  const prompt = given === "" ? await readStdin() : given;
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    // The second one does not wait any more.
    const grace = interrupted.signal.aborted ? { budgetMs: 0 } : {};
    void stopAllRuns({ reason: signal, ...grace });
    interrupted.abort(new RunInterrupted(signal));
  };
  for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
  // A reader that went away (`| head`) ends the run instead of the process: the agent must not be left behind.
  process.stdout.on("error", () => interrupted.abort(new RunInterrupted("stdout was closed")));
  await using run = await spawnAgent({
    hooks,
    prompt,
    cwd,
    extraArgs,
    signal: interrupted.signal,
    shutdown: "off",
    ...(flags.trace === true ? { trace: await loadTracer() } : {}),
    ...toSpawnOptions(flags),
  }).catch((error: unknown) => {
    throw interrupted.signal.aborted ? interrupted.signal.reason : error;
  });
  for await (const event of run) showEvent(event, flags.json === true);
  const { outcome, extinction } = await run.result;
  process.exitCode = exitCodeOf(outcome);
  return { hasSurvivors: extinction.survivors.length > 0 };
}

/** Only here: whoever traces nothing need not have the package. */
async function loadTracer(): Promise<NonNullable<SpawnOptions["trace"]>> {
  const { openTelemetry } = await import("../trace/index.ts");
  return openTelemetry();
}

/** Words before `--` are the prompt, words after it go to the CLI. */
export function splitWords(
  words: readonly string[],
  argv: readonly string[],
): { prompt: string; extraArgs: string[] } {
  const at = argv.indexOf("--");
  const extra = at === -1 ? 0 : argv.length - at - 1;
  return {
    prompt: words.slice(0, words.length - extra).join(" "),
    extraArgs: words.slice(words.length - extra),
  };
}

function toSpawnOptions(flags: RunFlags): Partial<SpawnOptions> {
  const {
    model,
    permissionMode,
    sandbox,
    allowedTools,
    configHome,
    passEnv,
    containment,
    workspace,
    timeout,
  } = flags;
  const given = {
    model,
    permissionMode,
    sandbox: sandbox as SpawnOptions["sandbox"],
    allowedTools,
    configHome,
    passEnv,
    containment: containment as SpawnOptions["containment"],
    workspace: workspace as SpawnOptions["workspace"],
    deadlines: timeout === undefined ? undefined : { wallMs: timeout * 1000 },
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function showEvent(event: AgentEvent, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(event)}\n`);
    return;
  }
  const line = describeEvent(event);
  if (line !== undefined) process.stdout.write(`${line}\n`);
}

const LINE_MAX = 400;

/** One line of live progress, safe for a terminal; undefined for what would only be noise. */
export function describeEvent(event: AgentEvent): string | undefined {
  const short = (text: string) => toOneLine(text.length > LINE_MAX ? `${text.slice(0, LINE_MAX)}…` : text);
  switch (event.type) {
    case "session":
      return `session   ${short(event.providerSessionId)}`;
    case "message":
      return `message   ${short(event.text)}`;
    case "tool_call":
      return `tool      ${short(event.name)} ${short(JSON.stringify(event.input))}`;
    case "tool_result":
      return event.denied ? `denied    ${short(JSON.stringify(event.output))}` : undefined;
    case "hook": {
      const subject = event.toolName === undefined ? "" : ` ${event.toolName}`;
      const why = event.reason === undefined ? "" : `: ${event.reason}`;
      return short(`hook      ${event.event}${subject} -> ${event.decision} in ${event.durationMs} ms${why}`);
    }
    case "warning":
      return short(`warning   ${event.code}: ${event.message}`);
    case "unparsed":
      return short(`unparsed  ${event.text}`);
    case "overflow":
      return `overflow  a line of ${event.bytes} bytes was skipped`;
    case "dropped":
      return `dropped   ${event.count} event(s)`;
    case "result": {
      const { outcome, reason, durationMs, hooks, extinction, receiptPath } = event.result;
      const counts = `${hooks.ran} hook run(s), ${hooks.denied} denied, ${hooks.failed} failed`;
      return short(
        `${outcome}   ${reason}; ${durationMs} ms; ${counts}; processes ${extinction.state}; receipts ${receiptPath ?? "sink"}`,
      );
    }
    default:
      return undefined;
  }
}

/** What a timer can wait, about 24 days. */
const LONGEST_SECONDS = 2_147_483;

function parseSeconds(value: string): number {
  const seconds = Number(value);
  if (value.trim() !== "" && Number.isFinite(seconds) && seconds > 0 && seconds <= LONGEST_SECONDS)
    return seconds;
  throw new InvalidArgumentError(`seconds, above 0 and at most ${LONGEST_SECONDS}`);
}
