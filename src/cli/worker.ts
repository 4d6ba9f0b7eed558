// bridle worker: takes agents' jobs out of a BullMQ queue until it is told to end. What it needs of that is loaded when it runs.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { AgentWorkerOptions, AllowedDeclarations } from "../bullmq/index.ts";
import { AgentHooksRefused, loadDeclaration, stopAllRuns, toOneLine } from "../index.ts";
import { messageOf } from "../message-of.ts";
import { ENDING_SIGNALS } from "./compile-file.ts";

interface WorkerFlags {
  readonly redis?: string;
  readonly queue: string;
  readonly concurrency?: number;
  readonly allow?: string[];
  readonly allowHooks?: string[];
  readonly allowKeyFile?: string;
  readonly allowAny?: true;
  readonly root?: string[];
  readonly lease?: number;
  readonly grace?: number;
  readonly workspaces?: "shared" | "local";
  readonly guards?: string;
  readonly claude?: string;
  readonly codex?: string;
  readonly prove: "auto" | "require" | "off";
  readonly permissionMode?: string;
  readonly sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  readonly allowedTools?: string[];
  readonly json?: true;
}

/** What the command says of itself; jobs have outcomes of their own, in the queue. */
type Line =
  | { readonly type: "allow"; readonly digest: string; readonly file: string }
  | { readonly type: "ready"; readonly queue: string }
  | { readonly type: "problem"; readonly kind: string; readonly message: string; readonly jobId?: string }
  | { readonly type: "stopping"; readonly signal: string }
  | { readonly type: "stopped" };

export function addWorkerCommand(program: Command): void {
  program
    .command("worker")
    .description("run the agents of a job queue; needs the package bullmq and a Redis")
    .addOption(new Option("--redis <url>", "redis://, rediss:// or unix://").env("BRIDLE_REDIS_URL"))
    .requiredOption("--queue <name>", "the queue's name")
    .option("--concurrency <count>", "agents at a time (default: processors)", parseCount)
    .option("--allow <digest...>", "declarations that it runs, by their sha256")
    .option("--allow-hooks <file...>", "declarations that it runs, as files; their digests are printed")
    .option("--allow-key-file <file>", "runs declarations that were published with the key in this file")
    .option("--allow-any", "runs whatever declaration lies in that Redis")
    .option("--root <dir...>", "jobs may work in these directories and below (default: anywhere)")
    .option("--lease <seconds>", "how long a job is kept without a word (default: 30)", parseSeconds)
    .option("--grace <seconds>", "from SIGTERM to the stop of the agents (default: 0)", parseSeconds)
    .addOption(
      new Option(
        "--workspaces <scope>",
        "local: each machine has its own directories (default: shared)",
      ).choices(["shared", "local"]),
    )
    .option("--guards <file>", "hooks of this worker's own, beside those of each job")
    .option("--claude <path>", "the claude binary (default: found on PATH)")
    .option("--codex <path>", "the codex binary (default: found on PATH)")
    .option("--permission-mode <mode>", "claude: permission mode of its jobs")
    .option("--sandbox <mode>", "codex: sandbox of its jobs")
    .option("--allowed-tools <name...>", "claude: tools that run without asking")
    .addOption(
      new Option("--prove <how>", "as for bridle run").choices(["auto", "require", "off"]).default("auto"),
    )
    .option("--json", "what it says as JSONL on stdout")
    .addHelpText(
      "after",
      `
Examples:
  bridle worker --redis redis://127.0.0.1:6379 --queue agents --allow-hooks hooks.yaml --root /srv/projects
  BRIDLE_REDIS_URL=rediss://:secret@redis.internal:6380 bridle worker --queue agents --allow-key-file /etc/bridle/key`,
    )
    .action(async (flags: WorkerFlags) => {
      const { createAgentWorker, declarationDigest } = await import("../bullmq/index.ts");
      if (flags.redis === undefined)
        throw refuse("--redis", "is missing", "name a Redis, or set BRIDLE_REDIS_URL");
      const say = flags.json === true ? sayJson : sayWords;
      const worker = await createAgentWorker({
        connection: flags.redis,
        name: flags.queue,
        allow: await readAllowed(flags, async (file) => {
          const digest = declarationDigest((await loadDeclaration(resolve(file))).declaration);
          say({ type: "allow", digest, file });
          return digest;
        }),
        onProblem: (problem) => say({ type: "problem", ...problem }),
        ...(await toWorkerOptions(flags)),
      });
      say({ type: "ready", queue: flags.queue });
      await untilTold((signal, isAgain) => {
        say({ type: "stopping", signal });
        if (!isAgain) return;
        void worker.close({ graceMs: 0 });
        void stopAllRuns({ reason: signal, budgetMs: 0 });
      });
      await worker.close();
      say({ type: "stopped" });
    });
}

function sayJson(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function sayWords(line: Line): void {
  if (line.type === "problem") {
    const job = line.jobId === undefined ? "" : ` job ${line.jobId}`;
    process.stderr.write(`bridle: ${line.kind}${job}: ${toOneLine(line.message)}\n`);
    return;
  }
  const { type, ...rest } = line;
  const words = Object.values(rest).join(" ");
  process.stdout.write(words === "" ? `${type}\n` : `${type.padEnd(9)} ${words}\n`);
}

/** Exactly one way, and never none: whose guards run must be said. */
async function readAllowed(
  { allow, allowHooks, allowKeyFile, allowAny }: WorkerFlags,
  digestOf: (file: string) => Promise<string>,
): Promise<AllowedDeclarations> {
  const isByDigest = allow !== undefined || allowHooks !== undefined;
  const ways = [isByDigest, allowKeyFile !== undefined, allowAny === true].filter(Boolean).length;
  if (ways !== 1)
    throw refuse(
      "--allow",
      ways === 0 ? "nothing says which declarations it runs" : "more than one of the ways is given",
      "--allow DIGEST…, --allow-hooks FILE…, --allow-key-file FILE, or --allow-any",
    );
  if (allowAny === true) return "any";
  if (allowKeyFile !== undefined) return { key: await readKey(allowKeyFile) };
  const digests = [...(allow ?? [])];
  for (const file of allowHooks ?? []) digests.push(await digestOf(file));
  return { digests };
}

async function readKey(file: string): Promise<string> {
  try {
    return (await readFile(resolve(file), "utf8")).trim();
  } catch (error) {
    throw refuse("--allow-key-file", `${JSON.stringify(file)} cannot be read: ${messageOf(error)}`, "");
  }
}

async function toWorkerOptions(flags: WorkerFlags): Promise<Partial<AgentWorkerOptions>> {
  const { concurrency, root, lease, grace, workspaces, guards, claude, codex, prove } = flags;
  const { permissionMode, sandbox, allowedTools } = flags;
  const defined = <T extends object>(given: T) =>
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return defined({
    concurrency,
    roots: root?.map((folder) => resolve(folder)),
    leaseMs: lease === undefined ? undefined : lease * 1_000,
    graceMs: grace === undefined ? undefined : grace * 1_000,
    workspaces,
    guards: guards === undefined ? undefined : (await loadDeclaration(resolve(guards))).declaration,
    // Of this command's own directory, never of a job's.
    binaries: defined({
      claude: claude === undefined ? undefined : resolve(claude),
      codex: codex === undefined ? undefined : resolve(codex),
    }),
    compile: { prove },
    run: defined({ permissionMode, sandbox, allowedTools }),
  });
}

/** Resolves at the first signal; each further one is told too. */
function untilTold(tell: (signal: NodeJS.Signals, isAgain: boolean) => void): Promise<void> {
  let isAgain = false;
  return new Promise((end) => {
    for (const signal of ENDING_SIGNALS)
      process.on(signal, () => {
        tell(signal, isAgain);
        isAgain = true;
        end();
      });
  });
}

function refuse(path: string, message: string, hint: string): AgentHooksRefused {
  return new AgentHooksRefused([{ code: "option_invalid", path, message, hint }]);
}

function parseCount(value: string): number {
  const count = Number(value);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new InvalidArgumentError("a whole number, 1 or more");
}

function parseSeconds(value: string): number {
  const seconds = Number(value);
  if (value.trim() !== "" && Number.isFinite(seconds) && seconds >= 0 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError("seconds, at most 3600");
}
