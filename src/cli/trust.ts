// bridle trust: shows which imported and plugin commands would not run, records the user's approval of them, and takes it back.

import type { Command } from "commander";
import {
  AgentHooksRefused,
  approve,
  approveProject,
  createRedactor,
  describeProjectTrust,
  escapeForTerminal,
  type LoadedSettings,
  type PendingCommand,
  type PendingFile,
  pendingCommands,
  readTrust,
  revoke,
  revokeProject,
  toOneLine,
} from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { loadHooks } from "./load-hooks.ts";

interface TrustFlags {
  readonly cwd: string;
  readonly hooks?: string;
  readonly json?: boolean;
}

/** Shown of a hash: enough to name it. */
const SHOWN_HASH = 16;
/** Least part of a hash that names a command. */
const LEAST_HASH = 8;

export function addTrustCommand(program: Command): void {
  const trust = withCommon(program.command("trust"))
    .enablePositionalOptions()
    .description("list imported and plugin hooks that are not trusted; approve or revoke them")
    .addHelpText(
      "after",
      `
Exit codes: 0 nothing is pending; 1 something is, or could not be approved; 78 refused.

Examples:
  bridle trust
  bridle trust approve f6e3b744922b5127
  bridle trust approve --all
  bridle trust revoke f6e3b744922b5127
  bridle trust project`,
    )
    .action(async (flags: TrustFlags) => {
      const settings = await load(flags);
      const pending = (await pendingCommands(settings)).map(maskEnv);
      const { commands } = await readTrust(settings.home);
      const project = await describeProjectTrust(settings);
      const told = { pending, trusted: [...commands], project: describeProject(settings, project) };
      const lines = [
        ...describePending(pending),
        ...(project === undefined
          ? []
          : [
              `project ${settings.projectRoot} is not trusted, for runs that require it: ${toOneLine(project)}`,
            ]),
      ];
      show(flags, { type: "trust", ...told }, lines);
      process.exitCode = pending.length === 0 ? EXIT_CODES.success : EXIT_CODES.failed;
    });

  withCommon(trust.command("approve"))
    .description("pin commands, with the files they name as they are now")
    .argument("[hash...]", "hashes that `bridle trust` shows, or their first 8 characters and more")
    .option("--all", "everything that is pending")
    .action(async (hashes: string[], flags: TrustFlags & { all?: boolean }) => {
      const settings = await load(flags);
      const pending = await pendingCommands(settings);
      const chosen = flags.all === true ? pending : hashes.flatMap((hash) => choose(hash, pending));
      if (chosen.length === 0 && flags.all !== true)
        throw optionInvalid("hash", "names nothing", "give a hash, or --all");
      // With --all what cannot run does not keep the rest from being approved; it is told.
      const able = flags.all === true ? chosen.filter(({ problem }) => problem === undefined) : chosen;
      const approved = able.length === 0 ? [] : await approve(able, settings);
      const left = chosen.filter((one) => !able.includes(one));
      show(flags, { type: "approved", approved, left }, [
        ...able.map(
          ({ hash, runs }) => `approved  ${hash.slice(0, SHOWN_HASH)}  ${toOneLine(runs.join(" "))}`,
        ),
        ...left.map(
          ({ hash, problem = "" }) => `left      ${hash.slice(0, SHOWN_HASH)}  ${toOneLine(problem)}`,
        ),
      ]);
      process.exitCode = left.length === 0 ? EXIT_CODES.success : EXIT_CODES.failed;
    });

  withCommon(trust.command("revoke"))
    .description("forget commands, with every file pinned under them")
    .argument("[hash...]", "hashes, or their first 8 characters and more")
    .option("--all", "every command")
    .option("--project", "the project, as `bridle trust project` recorded it")
    .action(async (hashes: string[], flags: TrustFlags & { all?: boolean; project?: boolean }) => {
      const settings = await load(flags);
      const known = [...(await readTrust(settings.home)).commands];
      const chosen = flags.all === true ? known : hashes.flatMap((hash) => chooseHash(hash, known));
      if (chosen.length === 0 && flags.all !== true && flags.project !== true)
        throw optionInvalid("hash", "names nothing", "give a hash, --all or --project");
      const revoked = chosen.length === 0 ? [] : await revoke(chosen, settings);
      const project = flags.project === true && (await revokeProject(settings)) ? settings.projectRoot : null;
      show(flags, { type: "revoked", revoked, project }, [
        ...revoked.map((hash) => `revoked  ${hash.slice(0, SHOWN_HASH)}`),
        ...(project === null ? [] : [`revoked  project ${project}`]),
      ]);
    });

  withCommon(trust.command("project"))
    .description("pin the project's own settings and the files they name, for runs that require it")
    .action(async (flags: TrustFlags) => {
      const settings = await load(flags);
      const files = await approveProject(settings);
      const { projectRoot } = settings;
      show(flags, { type: "project", project: projectRoot, files }, [
        files.length === 0 ? `${projectRoot} has no settings` : `trusted  ${projectRoot}`,
        ...files.map(({ file, sha256 }) => `  ${sha256.slice(0, SHOWN_HASH)}  ${file}`),
      ]);
    });
}

function withCommon(command: Command): Command {
  return command
    .option("--cwd <dir>", "whose settings are read", ".")
    .option("--hooks <file>", "a file as it is given to bridle run, in the place of the settings")
    .option("--json", "one JSON object on stdout");
}

function load({ cwd, hooks }: TrustFlags): Promise<LoadedSettings> {
  return loadHooks({ file: hooks, cwd });
}

/** What a person must read stays as it is; only the values of variables with a secret's name are hidden. */
function maskEnv({ env, ...pending }: PendingCommand): PendingCommand {
  return { ...pending, env: createRedactor().json(env) };
}

function show({ json }: TrustFlags, data: object, lines: readonly string[]): void {
  if (json === true) process.stdout.write(`${JSON.stringify(data)}\n`);
  else if (lines.length > 0) process.stdout.write(`${escapeForTerminal(lines.join("\n"))}\n`);
}

function describeProject({ projectRoot }: LoadedSettings, untrusted: string | undefined): object {
  return {
    path: projectRoot,
    trusted: untrusted === undefined,
    ...(untrusted === undefined ? {} : { untrusted }),
  };
}

function optionInvalid(path: string, message: string, hint: string): AgentHooksRefused {
  return new AgentHooksRefused([{ code: "option_invalid", path, message, hint }]);
}

function choose(hash: string, pending: readonly PendingCommand[]): PendingCommand[] {
  const [full] = chooseHash(hash, [...new Set(pending.map((one) => one.hash))]);
  return pending.filter((one) => one.hash === full);
}

function chooseHash(hash: string, known: readonly string[]): [string] {
  const found = hash.length < LEAST_HASH ? [] : known.filter((one) => one.startsWith(hash.toLowerCase()));
  const [only] = found;
  if (only !== undefined && found.length === 1) return [only];
  const message =
    found.length === 0
      ? `${JSON.stringify(hash)} names no command`
      : `${JSON.stringify(hash)} names ${found.length}`;
  throw optionInvalid(
    "hash",
    message,
    `at least ${LEAST_HASH} characters of a hash that \`bridle trust\` shows`,
  );
}

export function describePending(pending: readonly PendingCommand[]): string[] {
  if (pending.length === 0) return ["nothing is pending"];
  return pending.flatMap((one) => {
    const { hash, state, detail, runs, env, entries, files, problem } = one;
    return [
      `${hash.slice(0, SHOWN_HASH)}  ${state}: ${toOneLine(detail)}`,
      ...entries.map(({ event, matcher, origin: { file, line, tier, source } }) => {
        const from = source === undefined ? tier : `${tier} (${source})`;
        return `  ${event} ${toOneLine(matcher ?? "*")}  ${from}  ${file}:${line}`;
      }),
      `  would run  ${toOneLine(JSON.stringify(runs))}`,
      ...Object.entries(env).map(([name, value]) => `  with       ${name}=${toOneLine(value)}`),
      ...files.flatMap(describeFile),
      problem === undefined
        ? `  approve    bridle trust approve ${hash.slice(0, SHOWN_HASH)}`
        : `  cannot be approved: ${toOneLine(problem)}`,
      "",
    ];
  });
}

function describeFile({ file, sha256, state, hidden, head, diff }: PendingFile): string[] {
  if (head === undefined && hidden === undefined) return [];
  const text = state === "changed" ? (diff ?? head) : head;
  const note = state === "changed" && diff === undefined ? "; what was trusted is not kept" : "";
  return [
    `  file       ${toOneLine(file)}  ${sha256.slice(0, SHOWN_HASH)}  ${state === "trusted" ? "as trusted" : state}${note}`,
    ...(hidden === undefined ? [] : [`    | (${hidden})`]),
    ...(state === "trusted" || text === undefined
      ? []
      : text
          .replace(/\n$/, "")
          .split("\n")
          .map((line) => `    | ${line}`)),
  ];
}
