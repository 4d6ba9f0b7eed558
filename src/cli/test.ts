// bridle test: asks each guard what it answers, and says which of them never block.

import type { Command } from "commander";
import {
  AgentHooksRefused,
  createRedactor,
  type GuardReport,
  type GuardState,
  isSound,
  type Provider,
  type SelfTestRow,
  testHooks,
  toOneLine,
} from "../index.ts";
import { parseProvider } from "./compile-file.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { addTrustOption, loadHooks } from "./load-hooks.ts";

interface TestFlags {
  readonly cwd: string;
  readonly provider?: Provider;
  readonly requireTrustedProject?: boolean;
  readonly json?: boolean;
}

export function addTestCommand(program: Command): void {
  addTrustOption(program.command("test"))
    .description("ask each guard what it answers to its self-tests, or to stock calls that should be stopped")
    .argument(
      "[file]",
      "YAML or JSON file with hooks_external: (default: the settings of the user and of the project)",
    )
    .option("--cwd <dir>", "whose settings are read when no file is named", ".")
    .option("--provider <name>", "whose tool names stock envelopes have (default: claude)", parseProvider)
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 every row passed and every gate denied something, or acts as its rows say; 1 otherwise; 78 refused.

Examples:
  bridle test
  bridle test hooks.yaml
  bridle test --json`,
    )
    .action(
      async (file: string | undefined, { cwd, provider, requireTrustedProject, json = false }: TestFlags) => {
        const redactor = createRedactor({ env: process.env });
        const guards: GuardReport[] = [];
        const loaded = await loadHooks({ file, cwd, requireTrustedProject });
        if (loaded.origins.size === 0) throw nothingToTest(file ?? loaded.projectRoot);
        await testHooks(loaded, {
          ...(provider === undefined ? {} : { provider }),
          onGuard: (report) => {
            const shown = redactor.json(report);
            guards.push(shown);
            if (!json) process.stdout.write(`${describeGuard(shown).map(toOneLine).join("\n")}\n\n`);
          },
        });
        const ok = guards.every(isSound);
        if (json) process.stdout.write(`${JSON.stringify({ type: "tests", ok, guards })}\n`);
        else process.stdout.write(`${summarise(guards)}\n`);
        process.exitCode = ok ? EXIT_CODES.success : EXIT_CODES.failed;
      },
    );
}

function nothingToTest(path: string): AgentHooksRefused {
  const message = "there is no hook to test";
  return new AgentHooksRefused([
    { code: "declaration_invalid", path, message, hint: "`bridle init` writes a first one" },
  ]);
}

const MEANING: Readonly<Record<GuardState, string>> = {
  denies: "denies",
  acts: "rewrites or adds text, as its self-tests say",
  no_gate: "blocks nothing: its event cannot, or it is async",
  never_blocked: "NEVER BLOCKED",
  not_shown: "NOT SHOWN ANYTHING",
  failed: "FAILED, and denied nothing",
  not_run: "NOT RUN",
};

const LONGEST = 160;

export function describeGuard({ id, matcher, command, origin, rows, blocks, why }: GuardReport): string[] {
  return [
    `${id}  ${matcher ?? "*"}  ${command.join(" ")}${origin === undefined ? "" : `  ${origin}`}`,
    ...rows.map(describeRow),
    `  = ${MEANING[blocks]}${why === undefined ? "" : `: ${blocks === "never_blocked" ? "this guard never blocked; " : ""}${why}`}`,
  ];
}

function describeRow({ name, input, expected, got, passed, reason, ms }: SelfTestRow): string {
  const mark = expected === undefined ? "-" : passed ? "ok" : "FAIL";
  const wanted = expected === undefined || passed ? "" : `, expected ${expected}`;
  const shown = expected === undefined ? name : JSON.stringify(input);
  const line = `  ${mark.padEnd(4)}  ${got}${wanted}  ${ms} ms  ${shown}${reason === "" ? "" : `: ${reason}`}`;
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

function summarise(guards: readonly GuardReport[]): string {
  const rows = guards.flatMap((guard) => guard.rows);
  const failed = rows.filter(({ passed }) => !passed).length;
  const unsound = guards.filter((guard) => !isSound(guard)).length;
  return `${guards.length} guard(s), ${rows.length} answer(s): ${failed} failed; ${unsound} guard(s) to look at`;
}
