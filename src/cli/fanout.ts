// bridle fanout: many tasks from a file, each an agent's run under the declared hooks; a live view, plain lines or JSONL.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type FanOut,
  type FanOutOptions,
  type FanOutProgress,
  fanOut,
  fanOutFile,
  type KeepWorktree,
  listFanOuts,
  outcomesPath,
  readEndings,
  readNote,
  type TaskEnding,
  writeEndings,
} from "../fanout/index.ts";
import { type JsonObject, type Provider, type SpawnOptions, stopAllRuns, toOneLine } from "../index.ts";
import {
  addCompileOptions,
  type CompileFlags,
  compileDeclared,
  ENDING_SIGNALS,
  parseProvider,
} from "./compile-file.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { checkOut } from "./fanout/check-out.ts";
import { type FailOn, isFailed, parseFailOn } from "./fanout/fail-on.ts";
import { summarize } from "./fanout/lines.ts";
import { createShown, showJson } from "./fanout/shown.ts";
import { formatTable } from "./format-table.ts";

interface FanOutFlags extends CompileFlags {
  readonly provider?: Provider;
  readonly hooks?: string;
  readonly cwd: string;
  readonly prompt?: string;
  readonly promptFile?: string;
  readonly worktree?: boolean;
  readonly base?: string;
  readonly keepWorktree?: KeepWorktree;
  readonly model?: string;
  readonly maxCostUsd?: number;
  readonly maxTurns?: number;
  readonly maxSeconds?: number;
  readonly totalCostUsd?: number;
  readonly totalSeconds?: number;
  readonly concurrency?: number;
  readonly startRate?: { starts: number; perMs: number };
  readonly retries?: number;
  readonly onLost?: "retry" | "fail";
  readonly onInterrupted?: "retry" | "fail";
  readonly session?: "resume" | "fresh";
  readonly permissionMode?: string;
  readonly sandbox?: string;
  readonly allowedTools?: string[];
  readonly configHome?: "user" | "run";
  readonly passEnv?: string[];
  readonly containment?: string;
  readonly resume?: string;
  readonly new?: boolean;
  readonly runSkipped?: boolean;
  readonly assumeDead?: boolean;
  readonly failOn: FailOn;
  readonly out?: string;
  readonly list?: boolean;
  readonly json?: boolean;
}

/** Of this call alone: a resume does not take them from the first one. */
const OF_THE_CALL = [
  "promptFile",
  "resume",
  "new",
  "runSkipped",
  "assumeDead",
  "failOn",
  "out",
  "list",
  "json",
];

export function addFanOutCommand(program: Command): void {
  const choice = (flags: string, text: string, choices: string[]) => new Option(flags, text).choices(choices);
  addCompileOptions(program.command("fanout"))
    .description("run an agent for each task of a file; killed and started again it goes on where it was")
    .argument("[tasks]", "JSONL, YAML or CSV; not needed with --resume")
    .option("--provider <name>", "claude or codex, for tasks that do not say it", parseProvider)
    .option(
      "--hooks <file>",
      "YAML or JSON file with hooks_external: (default: the settings of the user and of the project)",
    )
    .option("--cwd <dir>", "where tasks work that do not say it, and what their paths are relative to", ".")
    .option("--prompt <template>", "prompt of tasks without one, with {{field}} for their fields")
    .option("--prompt-file <file>", "the same, from a file")
    .option("--worktree", "a git worktree for each task")
    .option("--base <commit>", "commit, branch or tag that the worktrees show (default: HEAD)")
    .addOption(
      choice("--keep-worktree <which>", "which stay (default: changed)", ["always", "changed", "never"]),
    )
    .option("--model <name>", "the provider's model")
    .option("--max-cost-usd <usd>", "claude: what a task may cost", parseAmount)
    .option("--max-turns <count>", "claude: turns of a task", parseCount)
    .option("--max-seconds <seconds>", "how long a task may take", parseAmount)
    .option("--total-cost-usd <usd>", "starts nothing more once all tasks have cost this", parseAmount)
    .option("--total-seconds <seconds>", "starts nothing more after this long", parseAmount)
    .option("--concurrency <count>", "runs at a time (default: the number of processors)", parseCount)
    .option(
      "--start-rate <count/seconds>",
      "at most so many starts in so many seconds, such as 10/60",
      parseRate,
    )
    .option("--retries <count>", "further tries after a failure in passing (default: 3)", parseWhole)
    .addOption(
      choice("--on-lost <what>", "tasks that ran when a fan-out died (default: retry)", ["retry", "fail"]),
    )
    .addOption(
      choice("--on-interrupted <what>", "tasks that somebody else stopped (default: fail)", [
        "retry",
        "fail",
      ]),
    )
    .addOption(
      choice("--session <how>", "another try goes on in the same session, or anew (default: resume)", [
        "resume",
        "fresh",
      ]),
    )
    .option("--permission-mode <mode>", "claude: permission mode")
    .option("--sandbox <mode>", "codex: read-only, workspace-write or danger-full-access")
    .option("--allowed-tools <name...>", "claude: tools that run without asking")
    .option("--config-home <which>", "user lends the login; run gives an empty home")
    .option("--pass-env <name...>", "variables to pass on to the agents")
    .addOption(
      choice("--containment <how>", "what holds an agent's processes together (default: auto)", [
        "auto",
        "pid-namespace",
        "sweep",
      ]),
    )
    .option("--resume <id>", "go on with this fan-out, as it was begun")
    .option("--new", "begin anew, although one of the same tasks is not finished")
    .option("--run-skipped", "with --resume: run what was skipped")
    .option("--assume-dead", "take a fan-out of another machine or container for dead")
    .option(
      "--fail-on <policy>",
      "exit 1 when any task, a refused one, or more than N% are no success",
      parseFailOn,
      "any",
    )
    .option("--out <file>", "write the outcomes there too, as JSONL")
    .option("--list", "show the fan-outs there are, and run nothing")
    .option("--json", "progress and outcomes as JSONL on stdout")
    .addHelpText(
      "after",
      `
Examples:
  bridle fanout tasks.jsonl --provider codex --worktree
  bridle fanout files.csv --provider claude --prompt "Fix {{file}}" --concurrency 4 --total-cost-usd 20
  bridle fanout --resume 1b4e28ba-2fa1-4d9b-9c3c-0b2f5a1c7e11`,
    )
    .action(async (tasks: string | undefined, flags: FanOutFlags, command: Command) => {
      if (flags.list === true) return showList(flags.json === true);
      if (tasks === undefined && flags.resume === undefined)
        command.error("error: name a file of tasks, or a fan-out with --resume");
      if (flags.prompt !== undefined && flags.promptFile !== undefined)
        command.error("error: --prompt and --prompt-file say the same thing: use one");
      await runFanOut(tasks, tasks === undefined ? await recallFlags(flags, command) : flags);
    });
}

/** The options under which a fan-out was begun; what is said now wins. */
async function recallFlags(flags: FanOutFlags, command: Command): Promise<FanOutFlags> {
  const note = await readNote(flags.resume ?? "");
  const kept = typeof note.flags === "object" && note.flags !== null ? (note.flags as JsonObject) : {};
  const said = Object.fromEntries(
    Object.entries(flags).filter(([name]) => !(name in kept) || command.getOptionValueSource(name) === "cli"),
  );
  return { ...kept, ...said } as unknown as FanOutFlags;
}

async function runFanOut(tasks: string | undefined, flags: FanOutFlags): Promise<void> {
  const isJson = flags.json === true;
  if (flags.out !== undefined)
    checkOut(flags.out, [
      tasks ?? (await sourceOf(flags.resume)),
      flags.promptFile,
      flags.hooks,
      flags.binary,
    ]);
  const shown = createShown(isJson);
  let opened: Extract<FanOutProgress, { type: "opened" }> | undefined;
  const options = await toOptions(flags, (progress) => {
    if (progress.type === "opened") opened = progress;
    shown.note(progress);
  });
  const fan: FanOut = tasks === undefined ? fanOut(undefined, options) : fanOutFile(tasks, options);
  const wait = stopOnSignals(fan);
  try {
    for await (const _ of fan); // told by the progress
  } finally {
    wait.end();
    shown.end();
  }
  if (opened === undefined) return;
  const endings = await readEndings(opened.directory);
  if (flags.out !== undefined) await writeEndings(resolve(flags.out), endings);
  const isFinished = endings.length === opened.tasks;
  const isBad = isFailed(
    endings.map(({ outcome }) => outcome),
    flags.failOn,
  );
  if (isJson)
    showJson({
      type: "summary",
      id: opened.id,
      tasks: opened.tasks,
      finished: endings.length,
      outcomes: countOutcomes(endings),
      isFailed: isBad,
    });
  else showSummary(endings, opened);
  process.exitCode = isFinished ? (isBad ? EXIT_CODES.failed : EXIT_CODES.success) : EXIT_CODES.interrupted;
}

/** The file that the tasks of a fan-out came from. */
async function sourceOf(id: string | undefined): Promise<string | undefined> {
  return (await listFanOuts()).find((it) => it.id === id)?.source;
}

async function toOptions(
  flags: FanOutFlags,
  onProgress: (progress: FanOutProgress) => void,
): Promise<FanOutOptions> {
  const cwd = resolve(flags.cwd);
  const prompt = flags.promptFile === undefined ? flags.prompt : await readFile(flags.promptFile, "utf8");
  const { provider, permissionMode, sandbox, allowedTools, configHome, passEnv, containment } = flags;
  const spawn = withoutUndefined({
    permissionMode,
    sandbox,
    allowedTools,
    configHome,
    passEnv,
    containment,
  }) as Partial<SpawnOptions>;
  const compile: FanOutOptions["hooks"] = async (what) => {
    const { binary, ...others } = flags;
    // A binary is that of the provider that is named with it.
    const own = binary === undefined || what.provider !== provider ? {} : { binary };
    return compileDeclared({ file: what.file ?? flags.hooks, cwd }, what.provider, { ...others, ...own });
  };
  // Stands for the declaration where tasks are compared.
  Object.defineProperty(compile, "name", {
    value: flags.hooks === undefined ? `settings around ${cwd}` : resolve(flags.hooks),
  });
  const kept = Object.fromEntries(Object.entries(flags).filter(([name]) => !OF_THE_CALL.includes(name)));
  const given = {
    provider,
    prompt,
    worktree: flags.worktree,
    base: flags.base,
    keepWorktree: flags.keepWorktree,
    model: flags.model,
    maxCostUsd: flags.maxCostUsd,
    maxTurns: flags.maxTurns,
    maxSeconds: flags.maxSeconds,
    totalCostUsd: flags.totalCostUsd,
    totalSeconds: flags.totalSeconds,
    concurrency: flags.concurrency,
    startRate: flags.startRate,
    retries: flags.retries,
    onLost: flags.onLost,
    onInterrupted: flags.onInterrupted,
    session: flags.session,
    resume: flags.resume,
    fresh: flags.new,
    runSkipped: flags.runSkipped,
    assumeDead: flags.assumeDead,
  };
  const paths = {
    cwd,
    ...(flags.hooks === undefined ? {} : { hooks: resolve(flags.hooks) }),
    ...(flags.binary === undefined ? {} : { binary: resolve(flags.binary) }),
  };
  return {
    ...(withoutUndefined(given) as Partial<FanOutOptions>),
    cwd,
    hooks: compile,
    note: {
      flags: { ...kept, ...paths, ...(prompt === undefined ? {} : { prompt }) },
    } as JsonObject,
    spawn: { ...spawn, shutdown: "off" },
    onProgress,
  };
}

/** The first signal stops it so that it can be resumed; the second does not wait any more. */
function stopOnSignals(fan: FanOut): { end(): void } {
  let isStopping = false;
  const stop = (reason: string) => {
    const grace = isStopping ? { budgetMs: 0 } : {};
    isStopping = true;
    void fan.stop(reason);
    void stopAllRuns({ reason, ...grace });
  };
  for (const signal of ENDING_SIGNALS) process.on(signal, stop);
  // A reader that went away (`| head`) must not leave agents behind.
  const onGone = () => stop("stdout was closed");
  process.stdout.on("error", onGone);
  return {
    end() {
      for (const signal of ENDING_SIGNALS) process.off(signal, stop);
    },
  };
}

function showSummary(
  endings: readonly TaskEnding[],
  { id, directory, tasks }: { id: string; directory: string; tasks: number },
): void {
  const kept = endings.flatMap(({ id: task, worktrees = [] }) =>
    worktrees.map((path) => `worktree  ${toOneLine(task)}: ${path}`),
  );
  const lines = ["", ...summarize(endings, tasks), ...kept, `outcomes  ${outcomesPath(directory)}`];
  if (endings.length < tasks) lines.push(`resume    bridle fanout --resume ${id}`);
  process.stdout.write(`${lines.join("\n")}\n`);
}

async function showList(isJson: boolean): Promise<void> {
  const fanOuts = await listFanOuts();
  if (isJson) return showJson({ type: "fan_outs", fanOuts });
  if (fanOuts.length === 0) return void process.stdout.write("there is no fan-out\n");
  const rows = fanOuts.map(({ id, state, startedAt = "", finished = 0, tasks = 0, source = "", problem }) => [
    id,
    state,
    startedAt,
    `${finished}/${tasks}`,
    toOneLine(problem ?? source),
  ]);
  process.stdout.write(`${formatTable([["id", "state", "started", "tasks", "from"], ...rows]).join("\n")}\n`);
}

function countOutcomes(endings: readonly TaskEnding[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of endings) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, it]) => it !== undefined && it !== null));
}

function parseAmount(value: string): number {
  const amount = Number(value);
  if (value.trim() !== "" && Number.isFinite(amount) && amount > 0) return amount;
  throw new InvalidArgumentError("a number above 0");
}

function parseCount(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("a whole number, above 0");
}

function parseWhole(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("a whole number");
}

function parseRate(value: string): { starts: number; perMs: number } {
  const [, starts, seconds] = /^([1-9]\d{0,8})\/(\d+(?:\.\d+)?)$/.exec(value) ?? [];
  const perMs = Math.round(Number(seconds) * 1_000);
  if (starts !== undefined && perMs >= 1) return { starts: Number(starts), perMs };
  throw new InvalidArgumentError("starts/seconds, such as 10/60");
}
