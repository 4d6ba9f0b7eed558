// What run, check and explain have in common: a declaration file and a provider become a token.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import {
  AgentHooksRefused,
  compileAgentHooks,
  loadDeclaration,
  type Provider,
  type RenderedHooks,
} from "../index.ts";

/** Looked for in the working directory when no file is named. */
export const DEFAULT_FILE = join(".lionagi", "settings.yaml");

export function parseProvider(value: string): Provider {
  if (value === "claude" || value === "codex") return value;
  throw new InvalidArgumentError("known: claude, codex");
}

export interface CompileFlags {
  readonly binary?: string;
}

export async function compileFile(
  file: string,
  provider: Provider,
  { binary }: CompileFlags,
): Promise<RenderedHooks> {
  const { declaration, source, projectRoot } = await loadDeclaration(file);
  const chosen = binary === undefined ? {} : { binary: resolve(binary) };
  return compileAgentHooks(declaration, { provider, cwd: projectRoot, source, ...chosen });
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
