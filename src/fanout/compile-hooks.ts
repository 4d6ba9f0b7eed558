// The hooks of a fan-out's tasks, compiled once for each different declaration and provider, all before anything is started.

import { resolve } from "node:path";
import { type CompileOptions, compileAgentHooks } from "../compiler/compile.ts";
import type { RenderedHooks } from "../compiler/token.ts";
import { loadDeclaration } from "../declaration/load.ts";
import { loadSettings } from "../declaration/load-settings.ts";
import type { HookDeclaration } from "../declaration/types.ts";
import { AgentHooksRefused, type Issue, refuseIfAny } from "../errors.ts";
import type { Provider } from "../profile/events.ts";
import type { CompileHooks, FanOutSettings } from "./options.ts";
import type { TaskSpec } from "./task.ts";

export type HooksOfTask = (spec: Pick<TaskSpec, "hooks" | "provider">) => RenderedHooks;

/** @throws AgentHooksRefused with every issue of every declaration. */
export async function compileForTasks(
  specs: readonly TaskSpec[],
  settings: FanOutSettings,
): Promise<HooksOfTask & { readonly all: readonly RenderedHooks[] }> {
  const compile = typeof settings.hooks === "function" ? settings.hooks : createCompiler(settings);
  const tokens = new Map<string, RenderedHooks>();
  const issues: Issue[] = [];
  const keyOf = ({ hooks, provider }: Pick<TaskSpec, "hooks" | "provider">) =>
    JSON.stringify([provider, hooks ?? null]);
  for (const { hooks: file, provider } of new Map(specs.map((spec) => [keyOf(spec), spec])).values()) {
    try {
      tokens.set(
        keyOf({ ...(file === undefined ? {} : { hooks: file }), provider }),
        await compile({ file, provider }),
      );
    } catch (error) {
      if (!(error instanceof AgentHooksRefused)) throw error;
      issues.push(...error.issues);
    }
  }
  refuseIfAny(issues);
  const find: HooksOfTask = (spec) => {
    const token = tokens.get(keyOf(spec));
    if (token === undefined) throw new Error(`no hooks were compiled for ${keyOf(spec)}`);
    return token;
  };
  return Object.assign(find, { all: [...tokens.values()] });
}

/** What stands for the fan-out's own hooks in the digest of its tasks. */
export function nameHooks({ hooks, cwd }: Pick<FanOutSettings, "hooks" | "cwd">): string {
  if (typeof hooks === "string") return resolve(cwd, hooks);
  if (typeof hooks === "function") return `function ${hooks.name}`;
  return typeof hooks === "object" ? "a declaration of the program's" : `settings around ${cwd}`;
}

function createCompiler({ hooks, cwd, binary, provider: own, prove, signal }: FanOutSettings): CompileHooks {
  return async ({ file, provider }) => {
    const options = {
      provider,
      ...(binary === undefined || provider !== own ? {} : { binary: resolve(cwd, binary) }),
      ...(prove === undefined ? {} : { prove }),
      ...(signal === undefined ? {} : { signal }),
    };
    const { declaration, ...where } = await load(file ?? (hooks as string | HookDeclaration | undefined), {
      cwd,
      provider,
    });
    return compileAgentHooks(declaration, { ...options, ...where });
  };
}

async function load(
  hooks: string | HookDeclaration | undefined,
  { cwd, provider }: { cwd: string; provider: Provider },
): Promise<{ declaration: HookDeclaration } & Pick<CompileOptions, "cwd" | "origins">> {
  if (typeof hooks === "object") return { declaration: hooks, cwd };
  const { declaration, projectRoot, origins } =
    hooks === undefined ? await loadSettings({ cwd }) : await loadDeclaration(resolve(cwd, hooks));
  if (origins.size > 0 || hooks !== undefined) return { declaration, cwd: projectRoot, origins };
  throw new AgentHooksRefused([
    {
      code: "declaration_invalid",
      path: "hooks",
      message: `there is no declaration for ${provider}: neither the user's settings nor those around ${cwd} hold a hook`,
      hint: "pass hooks, or write .lionagi/settings.yaml",
    },
  ]);
}
