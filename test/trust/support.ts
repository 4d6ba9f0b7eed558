// A home and a project of their own, with settings files as people write them.

import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { planOf } from "../../src/compiler/token.ts";
import {
  AgentHooksRefused,
  approve,
  compileAgentHooks,
  type HookDeclaration,
  type LoadSettingsOptions,
  loadSettings,
  pendingCommands,
} from "../../src/index.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";

/** All that a compile asks of a provider. */
const STAND_IN = `#!${process.execPath}\n${FAKE_PROVIDER_MARK}\nconsole.log("2.1.332+fake (Claude Code) codex-cli");\n`;

export type Where = "home" | "project" | "plugin";

export type World = Awaited<ReturnType<typeof makeWorld>>;

export async function makeWorld() {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bridle-trust-")));
  const folders = { home: join(root, "home"), project: join(root, "project"), plugin: join(root, "plugin") };
  for (const folder of Object.values(folders)) await mkdir(folder);
  await mkdir(join(folders.project, ".git"));
  const binary = join(root, "claude");
  await writeFile(binary, STAND_IN, { mode: 0o755 });

  const put = async (where: Where, name: string, content: string, mode = 0o644): Promise<string> => {
    const file = join(folders[where], name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    await chmod(file, mode);
    return file;
  };
  const load = (options: Partial<LoadSettingsOptions> = {}) =>
    loadSettings({ cwd: folders.project, home: folders.home, ...options });
  const compile = async (options: Partial<LoadSettingsOptions> = {}) => {
    const { declaration, origins } = await load(options);
    return compileAgentHooks(declaration, {
      provider: "claude",
      cwd: folders.project,
      origins,
      trust: { home: folders.home },
      binary,
      prove: "off",
    });
  };
  return {
    ...folders,
    root,
    binary,
    put,
    load,
    compile,
    /** A guard that says nothing. */
    guard: (where: Where, name: string, body = "exit 0") => put(where, name, `#!/bin/sh\n${body}\n`, 0o755),
    declare: (where: Where, declaration: HookDeclaration, name = ".lionagi/settings.yaml") =>
      put(where, name, stringify({ hooks_external: declaration })),
    read: (where: Where, name = ".lionagi/settings.yaml") => readFile(join(folders[where], name), "utf8"),
    plan: async (options: Partial<LoadSettingsOptions> = {}) => planOf(await compile(options)),
    approveAll: async (options: Partial<LoadSettingsOptions> = {}) =>
      approve(await pendingCommands(await load(options)), { home: folders.home }),
    pending: async (options: Partial<LoadSettingsOptions> = {}) => pendingCommands(await load(options)),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

/** One group with one command. */
export function group(
  command: readonly string[],
  { matcher, ...entry }: { matcher?: string; source?: string; env?: Record<string, string> } = {},
) {
  const hooks = [{ type: "command" as const, command: [...command], ...entry }];
  return matcher === undefined ? { hooks } : { matcher, hooks };
}

export async function issuesOf(work: Promise<unknown>) {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AgentHooksRefused)) throw new Error(`expected a refusal, got ${String(error)}`);
  return error.issues;
}

export const codesOf = async (work: Promise<unknown>) => (await issuesOf(work)).map(({ code }) => code);
