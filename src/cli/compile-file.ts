// What run, check and explain have in common: a declaration file and a provider become a token.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  AgentHooksRefused,
  compileAgentHooks,
  type HookDescription,
  loadDeclaration,
  type Provider,
  type RenderedHooks,
} from "../index.ts";
import { createProgressBar } from "./progress-bar.ts";
import { RunInterrupted } from "./report-error.ts";

export const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Looked for in the working directory when no file is named. */
export const DEFAULT_FILE = join(".lionagi", "settings.yaml");

export function parseProvider(value: string): Provider {
  if (value === "claude" || value === "codex") return value;
  throw new InvalidArgumentError("known: claude, codex");
}

export interface CompileFlags {
  readonly binary?: string;
  readonly prove?: "auto" | "require" | "off";
}

/** The options that every command which compiles has. */
export function addCompileOptions(command: Command): Command {
  return command
    .option("--binary <path>", "the agent's binary (default: found on PATH)")
    .addOption(
      new Option(
        "--prove <how>",
        "auto: prove an unknown binary first; require: refuse it; off: go on without",
      )
        .choices(["auto", "require", "off"])
        .default("auto"),
    );
}

export async function compileFile(
  file: string,
  provider: Provider,
  { binary, prove }: CompileFlags,
): Promise<RenderedHooks> {
  const { declaration, source, projectRoot } = await loadDeclaration(file);
  const chosen = binary === undefined ? {} : { binary: resolve(binary) };
  const bar = createProgressBar(process.stderr);
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => interrupted.abort(new RunInterrupted(signal));
  for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
  try {
    return await compileAgentHooks(declaration, {
      provider,
      cwd: projectRoot,
      source,
      ...chosen,
      ...(prove === undefined ? {} : { prove }),
      signal: interrupted.signal,
      onProve: ({ done, total, case: { id } }) => bar.show(done, total, `proving ${provider} once: ${id}`),
    });
  } finally {
    bar.clear();
    for (const signal of ENDING_SIGNALS) process.off(signal, onSignal);
  }
}

/** The named file, or the default one. A run without any declaration is an agent without a guard, so there must be one. */
export function chooseFile(named: string | undefined, cwd: string): string {
  if (named !== undefined) return resolve(named);
  const file = join(cwd, DEFAULT_FILE);
  if (existsSync(file)) return file;
  throw new AgentHooksRefused([
    {
      code: "declaration_invalid",
      path: file,
      message: "there is no declaration",
      hint: "pass --hooks FILE or write this file",
    },
  ]);
}

/** Which proof a token rests on, in one line. */
export function describeProofOf({ prove, proof }: HookDescription): string {
  if (proof === undefined)
    return prove === "off" ? "off: this binary is taken on trust" : "not needed: nothing declared blocks";
  return `${proof.source} record ${proof.digest.slice(0, 16)}, ${proof.provedAt}, network ${proof.network}`;
}
