// bridle doctor: what is here to run guarded agents with, and what is missing. It shows no value of a variable and starts no agent.

import { resolve } from "node:path";
import { Argument, type Command } from "commander";
import {
  AgentHooksRefused,
  type AuthKind,
  createRedactor,
  type ExaminedMachine,
  type ExaminedProvider,
  escapeForTerminal,
  examineMachine,
  examineProvider,
  formatIssue,
  type Issue,
  listHooks,
  loadSettings,
  type Provider,
  refusesRun,
} from "../index.ts";
import { parseProvider } from "./compile-file.ts";
import { EXIT_CODES } from "./exit-codes.ts";

interface DoctorFlags {
  readonly cwd: string;
  readonly binary?: string;
  readonly json?: boolean;
}

interface ExaminedHooks {
  readonly files: readonly string[];
  readonly hooks: number;
  readonly pending: number;
  readonly refused: number;
  /** A run would be refused because of one of them. */
  readonly isRefused: boolean;
  readonly issues: readonly Issue[];
}

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("show what is here to run guarded agents with: binaries, proofs, logins, hooks, limits")
    .addArgument(new Argument("[provider]", "claude or codex (default: both)").argParser(parseProvider))
    .option("--cwd <dir>", "the folder a run would be in", ".")
    .option("--binary <path>", "the agent's binary (default: found on PATH); needs a provider")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 there is an agent that can be used, and no hook of the settings refuses a run; 1 otherwise.

Examples:
  bridle doctor
  bridle doctor codex
  bridle doctor claude --binary ./claude --json`,
    )
    .action(
      async (named: Provider | undefined, { cwd, binary, json = false }: DoctorFlags, command: Command) => {
        if (binary !== undefined && named === undefined)
          return command.error("error: --binary needs a provider: claude or codex");
        const chosen: readonly Provider[] = named === undefined ? ["claude", "codex"] : [named];
        const own = binary === undefined ? {} : { binary: resolve(binary) };
        const examined = {
          machine: await examineMachine(),
          hooks: await examineHooks(cwd),
          providers: await Promise.all(
            chosen.map((provider) => examineProvider({ provider, cwd: resolve(cwd), ...own })),
          ),
        };
        const ok = !examined.hooks.isRefused && examined.providers.some(isUsable);
        const shown = createRedactor({ env: process.env }).json(examined);
        if (json) process.stdout.write(`${JSON.stringify({ type: "doctor", ok, ...shown })}\n`);
        else
          process.stdout.write(
            `${escapeForTerminal(
              [
                ...describeMachine(shown.machine),
                ...describeHooks(shown.hooks),
                ...shown.providers.flatMap(describeProvider),
                ok ? "ok" : "something is missing: see above",
              ].join("\n"),
            )}\n`,
          );
        process.exitCode = ok ? EXIT_CODES.success : EXIT_CODES.failed;
      },
    );
}

function isUsable({ binary, proof }: ExaminedProvider): boolean {
  return binary !== undefined && proof?.state !== "disproven" && proof?.state !== "unclear";
}

async function examineHooks(cwd: string): Promise<ExaminedHooks> {
  try {
    const settings = await loadSettings({ cwd });
    const hooks = await listHooks(settings);
    const count = (state: string) => hooks.filter((hook) => hook.state === state).length;
    return {
      files: settings.files.map(({ path }) => path),
      hooks: hooks.length,
      pending: count("pending"),
      refused: count("refused"),
      isRefused: hooks.some(refusesRun),
      issues: [],
    };
  } catch (error) {
    if (!(error instanceof AgentHooksRefused)) throw error;
    return { files: [], hooks: 0, pending: 0, refused: 0, isRefused: true, issues: error.issues };
  }
}

function describeMachine(machine: ExaminedMachine): string[] {
  const { bridle, node, platform, descriptors, memoryAvailableBytes, containment, containmentWhy } = machine;
  const unknown = "not known here";
  const files =
    descriptors === undefined
      ? unknown
      : `${descriptors.limit - descriptors.open} of ${descriptors.limit} free`;
  const memory =
    memoryAvailableBytes === undefined
      ? unknown
      : `${Math.floor(memoryAvailableBytes / 2 ** 20)} MiB available`;
  return [
    `bridle ${bridle}, node ${node}, ${platform}`,
    "limits",
    `  file descriptors  ${files}`,
    `  memory            ${memory}`,
    `  containment       ${containment}${containmentWhy === undefined ? "" : ` (${containmentWhy.trim()})`}`,
  ];
}

function describeHooks({ files, hooks, pending, refused, isRefused, issues }: ExaminedHooks): string[] {
  return [
    "settings",
    ...(issues.length > 0
      ? issues.map((issue) => `  ${formatIssue(issue)}`)
      : [
          ...(files.length === 0
            ? ["  none: `bridle init` writes a first one"]
            : files.map((file) => `  ${file}`)),
          `  ${hooks} hook(s), ${pending} not trusted, ${refused} that cannot run`,
          ...(isRefused ? ["  a run would be refused because of them: see `bridle list`"] : []),
        ]),
  ];
}

function describeProvider({ provider, binary, proof, auth, ambient, issues }: ExaminedProvider): string[] {
  const forms = {
    native: "native",
    wrapper: `native, behind the wrapper ${binary?.foundAs ?? ""}`,
    fake: "a fake of the testkit",
  };
  return [
    provider,
    ...(binary === undefined
      ? issues.map((issue) => `  binary   NONE: ${formatIssue(issue)}`)
      : [`  binary   ${binary.path}`, `  version  ${binary.version}, ${forms[binary.form]}`]),
    ...(proof === undefined ? [] : [`  proof    ${describeProof(proof, provider)}`]),
    `  login    ${describeAuth(auth)}`,
    ...(ambient.length === 0
      ? ["  ambient  nothing was found"]
      : ambient.map(({ message }) => `  ambient  ${message}`)),
  ];
}

function describeProof(
  { state, source, provedAt, ignored }: NonNullable<ExaminedProvider["proof"]>,
  provider: Provider,
): string {
  const passed = ignored === undefined ? "" : `; a record does not count: ${ignored}`;
  if (state === "none")
    return `none: the first run with a guard proves it, or \`bridle prove ${provider}\`${passed}`;
  const says = {
    proven: "proven",
    disproven: "DISPROVEN: guards are refused",
    unclear: "UNCLEAR: guards are refused",
  };
  return `${says[state]}, ${source} record of ${provedAt}${passed}`;
}

function describeAuth(auth: AuthKind): string {
  if (auth.kind === "variable") return `${/KEY$/.test(auth.name) ? "api key" : "token"} in ${auth.name}`;
  return auth.kind === "login file" ? `login file ${auth.path}` : "none was found";
}
