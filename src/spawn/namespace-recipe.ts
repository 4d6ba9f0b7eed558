// How this host makes a PID namespace for a run: Linux with util-linux's `unshare`, tried once a process. Starts no agent.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { isCrowded } from "../exec/start-limit.ts";
import { findNamespace } from "./pid-namespace.ts";

/** How this host makes a namespace. */
export interface NamespaceRecipe {
  /** Words before the command that is to live in it. */
  readonly prefix: readonly string[];
  /** True when the namespace needs a user namespace: root-owned files look foreign in it, and sudo does not work. */
  readonly needsUserNamespace: boolean;
  /** True when the namespace ends with the supervisor, also where there is no watchdog. */
  readonly endsWithSupervisor: boolean;
}

/**
 * A shell is the namespace's first process: a CLI as pid 1 would not be ended by signals that it does not handle. It starts nothing before its
 * stdin says so, and ends when that ends. `read` takes no byte beyond its line, as POSIX wants it of pipes: the rest is the CLI's.
 */
const INIT = ["/bin/sh", "-c", 'read -r go && "$@"; exit $?', "bridle-init"] as const;

/** What the namespace's shell waits for. */
export const RELEASE = "go\n";

/** Never PATH: what the agent or a project puts there must not hold the agent. */
const TOOL_FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"] as const;

/** How long a namespace is looked for. */
const PROBE_MS = 3_000;
/** How long a shell that was not seen may take to end by itself. */
const END_MS = 1_000;

let probed: Promise<NamespaceRecipe | string> | undefined;

/** The recipe, or in words why there is none. The first call runs a process or two; later ones get the same answer. */
export function probePidNamespace(): Promise<NamespaceRecipe | string> {
  probed ??= probe();
  return probed;
}

export interface HostOfNamespaces {
  /** @default process.platform */
  readonly platform?: NodeJS.Platform;
  /** Where `unshare` and `setpriv` are looked for. @default the system's own folders */
  readonly folders?: readonly string[];
  /** @default true when this process is not root's */
  readonly needsUserNamespace?: boolean;
  /** How long a namespace is looked for. @default 3000 */
  readonly waitMs?: number;
}

/** As `probePidNamespace`, each time anew. */
export async function probe({
  platform = process.platform,
  folders = TOOL_FOLDERS,
  needsUserNamespace = process.getuid?.() !== 0,
  waitMs = PROBE_MS,
}: HostOfNamespaces = {}): Promise<NamespaceRecipe | string> {
  if (platform !== "linux") return `${platform} has no PID namespaces`;
  const find = (name: string) => folders.map((folder) => `${folder}/${name}`).find(existsSync);
  const unshare = find("unshare");
  if (unshare === undefined) return "there is no unshare (util-linux) on this host";
  const setpriv = find("setpriv");
  const rights = needsUserNamespace ? ["--user", "--map-current-user"] : [];
  const namespace = [unshare, ...rights, "--pid", "--fork", "--kill-child", "--mount-proc", ...INIT];
  let reason = "";
  for (const parentDeath of setpriv === undefined ? [[]] : [[setpriv, "--pdeathsig", "KILL"], []]) {
    const prefix = [...parentDeath, ...namespace];
    const problem = await tryOut(prefix, waitMs);
    if (problem === undefined)
      return { prefix, needsUserNamespace, endsWithSupervisor: parentDeath.length > 0 };
    reason = problem;
  }
  return reason;
}

/** Starts a shell in a namespace and looks whether it is seen in one from here, and gets its stdin whole. Undefined, or what is wrong. */
async function tryOut(prefix: readonly string[], waitMs: number): Promise<string | undefined> {
  const [program = "", ...words] = [
    ...prefix,
    "/bin/sh",
    "-c",
    'read -r line; read -r end; [ "$line" = on ] && exit 7',
  ];
  const child = spawn(program, words, { stdio: ["pipe", "ignore", "pipe"], env: {}, cwd: "/" });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  child.stdin.on("error", () => {}); // it ended before it read; its exit says so
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) =>
      resolve(code === 7 ? "" : stderr.trim() || `${signal ?? `exit ${code}`}`),
    );
  });
  // At once: what is the CLI's must be left to it by a shell that could have read it all.
  child.stdin.write(`${RELEASE}on\n`);
  const seen = await waitForNamespace(child.pid ?? 0, ended, waitMs);
  seen?.release();
  child.stdin.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
  const problem = await ended;
  clearTimeout(timer);
  if (problem !== "") return problem;
  return seen === undefined ? "a namespace was made, and /proc does not show it" : undefined;
}

/** How long a namespace is looked for in each turn of the event loop: one that was held is there in less than a timer's shortest wait. */
const EAGER_MS = 2;

/** Looks until the namespace of a started recipe is there. Undefined when the process ended first or `waitMs` have passed. */
export async function waitForNamespace(pid: number, ended: Promise<unknown>, waitMs: number) {
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  const startedAt = performance.now();
  for (;;) {
    const found = findNamespace(pid);
    const passedMs = performance.now() - startedAt;
    if (found !== undefined || isOver || passedMs > waitMs) return found;
    await new Promise<void>((resolve) => {
      if (passedMs < EAGER_MS && !isCrowded()) setImmediate(resolve);
      else setTimeout(resolve, 1);
    });
  }
}
