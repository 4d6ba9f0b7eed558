// What run, check and explain have in common: a declaration file and a provider become a token.

import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  AgentHooksRefused,
  type CompileOptions,
  compileAgentHooks,
  type HookDeclaration,
  type HookDescription,
  loadDeclaration,
  loadSettings,
  type Provider,
  type RenderedHooks,
} from "../index.ts";
import { createProgressBar } from "./progress-bar.ts";
import { RunInterrupted } from "./report-error.ts";

export const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Named when there is no declaration at all. */
const DEFAULT_FILE = join(".lionagi", "settings.yaml");

export function parseProvider(value: string): Provider {
  if (value === "claude" || value === "codex") return value;
  throw new InvalidArgumentError("known: claude, codex");
}

export interface CompileFlags {
  readonly binary?: string;
  readonly prove?: "auto" | "require" | "off";
  readonly transport?: "auto" | "callbacks" | "shim";
  readonly requireTrustedProject?: boolean;
}

/** The options that every command which compiles has. */
export function addCompileOptions(command: Command): Command {
  return command
    .option("--binary <path>", "the agent's binary (default: found on PATH)")
    .option("--require-trusted-project", "refuse the project's own hooks until `bridle trust project`")
    .addOption(
      new Option(
        "--prove <how>",
        "auto: prove an unknown binary first; require: refuse it; off: go on without",
      )
        .choices(["auto", "require", "off"])
        .default("auto"),
    )
    .addOption(
      new Option(
        "--transport <how>",
        "auto: claude asks over its own pipes where that is proven; callbacks: refuse otherwise; shim: never",
      )
        .choices(["auto", "callbacks", "shim"])
        .default("auto"),
    );
}

/** What to compile: a named file, or the settings of the user and of the project around `cwd`. */
export interface Declared {
  /** Alone: the settings are then not read. */
  readonly file: string | undefined;
  readonly cwd: string;
}

export async function compileDeclared(
  declared: Declared,
  provider: Provider,
  { binary, prove, transport, requireTrustedProject }: CompileFlags,
): Promise<RenderedHooks> {
  const { declaration, ...where } = await loadDeclared(declared, { requireTrustedProject });
  const chosen = binary === undefined ? {} : { binary: resolve(binary) };
  const bar = createProgressBar(process.stderr);
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => interrupted.abort(new RunInterrupted(signal));
  for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
  try {
    return await compileAgentHooks(declaration, {
      provider,
      ...where,
      ...chosen,
      ...(prove === undefined ? {} : { prove }),
      ...(transport === undefined ? {} : { transport }),
      signal: interrupted.signal,
      onProve: ({ done, total, case: { id } }) => bar.show(done, total, `proving ${provider} once: ${id}`),
    });
  } finally {
    bar.clear();
    for (const signal of ENDING_SIGNALS) process.off(signal, onSignal);
  }
}

/** A run without any declaration is an agent without a guard, so there must be one. */
async function loadDeclared(
  { file, cwd }: Declared,
  { requireTrustedProject = false }: Pick<CompileFlags, "requireTrustedProject">,
): Promise<{ declaration: HookDeclaration } & Pick<CompileOptions, "cwd" | "origins">> {
  if (file !== undefined) {
    const { declaration, projectRoot, origins } = await loadDeclaration(file);
    return { declaration, cwd: projectRoot, origins };
  }
  const { declaration, projectRoot, origins } = await loadSettings({ cwd, requireTrustedProject });
  if (origins.size > 0) return { declaration, cwd: projectRoot, origins };
  throw new AgentHooksRefused([
    {
      code: "declaration_invalid",
      path: join(projectRoot, DEFAULT_FILE),
      message: "there is no declaration: neither the user's settings nor the project's hold a hook",
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
