// Everything a caller can say about one run, and the checks that need no process.

import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { RenderedHooks } from "../compiler/token.ts";
import type { Issue } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Provider } from "../profile/events.ts";
import type { ReceiptSink } from "../receipts/receipt.ts";
import type { RunOptions } from "../render/provider.ts";
import type { StartGate } from "../supervisor/start-gate.ts";
import type { WorkspaceUse } from "../supervisor/workspace.ts";
import type { RunTracer } from "../trace/run-tracer.ts";
import type { Containment } from "./containment.ts";
import { checkDeadlines, type Deadlines } from "./deadlines.ts";
import type { EventType } from "./wanted-events.ts";

export interface AdmitOptions {
  /**
   * Keeps ambient rules that only narrow: claude's deny and ask rules, and codex `.rules` files without an `allow`. @default true
   */
  denyRules?: boolean;
  /** `project` passes the text of the project's CLAUDE.md / AGENTS.md, never the source. @default "project" */
  instructions?: "project" | "none";
  /** False: the agent is offered no tool that starts another agent. @default true, unless the proof showed that they escape the guards */
  subagents?: boolean;
  /**
   * codex: gives the shell a terminal (`tty`) although a guard watches the shell. What is typed into it asks no hook. @default false
   */
  interactiveShell?: boolean;
}

export interface SpawnOptions {
  /** The token from `compileAgentHooks`; nothing else is taken. */
  hooks: RenderedHooks;
  /** Refuses with `provider_mismatch` when the token is for another CLI. @default the token's own */
  provider?: Provider;
  /** Handed over on stdin, never on argv. */
  prompt: string;
  /** Absolute working directory of the agent; must exist. */
  cwd: string;
  model?: string;
  /** claude's permission mode. @default "default" */
  permissionMode?: string;
  /** codex's sandbox. @default "workspace-write" */
  sandbox?: RunOptions["sandbox"];
  /** claude: the exact tool set. */
  tools?: readonly string[];
  /** claude: tools that run without asking. */
  allowedTools?: readonly string[];
  /** claude: tools that never run. */
  disallowedTools?: readonly string[];
  /** Further directories the agent may use. */
  addDirs?: readonly string[];
  /** MCP servers by name; rendered into 0600 files, never onto argv. */
  mcpServers?: Readonly<Record<string, JsonObject>>;
  /** claude settings keys or codex `-c` keys the caller admits on purpose. */
  providerConfig?: JsonObject;
  /** claude: most agentic turns. */
  maxTurns?: number;
  /** Provider session id to go on with; needs a session kept by an earlier run (`keepSession`). */
  resume?: string;
  /** Keeps the session so that it can be resumed. @default false */
  keepSession?: boolean;
  /** Lets a resumed session run under other blocking hooks than it was recorded with. @default false */
  allowHookChange?: boolean;
  /** `user` lends the user's login to the run; `run` gives it an empty home. Neither lends hooks or settings. @default "user" */
  configHome?: "user" | "run";
  admit?: AdmitOptions;
  /** Further arguments for the CLI. One that would undo the isolation refuses (`argument_conflict`). */
  extraArgs?: readonly string[];
  /** Names of variables passed on from this process, beside the allowlist. */
  passEnv?: readonly string[];
  /** Further variables for the agent. */
  env?: Readonly<Record<string, string>>;
  /** Passes the proxy variables on. @default false */
  proxies?: boolean;
  /** Further values that must never be shown or written. */
  secrets?: readonly string[];
  /**
   * Types of events that the run delivers, beside `result`. The others are not told, not counted as dropped, and their lines are not parsed where
   * nothing else needs them: a guard always needs what tools did. @default all
   */
  events?: readonly EventType[];
  deadlines?: Deadlines;
  /**
   * Longest line of the agent's output that is read, in bytes without its newline: 65,536 to 535,822,336 (511 MiB, near the longest string
   * there is). A longer one is skipped and told as an `overflow` event. @default 16777216 (16 MiB)
   */
  maxLineBytes?: number;
  /**
   * What holds the agent's processes together. `auto`: a PID namespace where this host can make one, else a sweep at the end. `pid-namespace`
   * refuses with `platform_unsupported` where there is none. @default "auto"
   */
  containment?: Containment;
  /**
   * `exclusive` refuses with `workspace_busy` while any other run is in the same `cwd`, and keeps others out. `shared` refuses while an
   * exclusive one is there. @default "shared"
   */
  workspace?: WorkspaceUse;
  /** `auto`: starts that share the user's claude home or codex login take turns, on this machine. `off`: they do not. @default "auto" */
  startGate?: StartGate;
  /**
   * `stop`: SIGTERM, SIGINT, SIGHUP and an uncaught error stop the run before they end this process. `off`: this process has handlers of its
   * own, which call `stopAllRuns`. @default "stop"
   */
  shutdown?: "stop" | "off";
  /** Stops the run when aborted. */
  signal?: AbortSignal;
  /** Folder of the receipt files. @default the state directory's `receipts` */
  receiptsDir?: string;
  /** Takes the receipts instead of a file. */
  receiptSink?: ReceiptSink;
  /** Follows the run as spans: `await openTelemetry()` of `agent-bridle/trace`. @default none */
  trace?: RunTracer;
  /** Folder under which the private run directory is made. @default chosen outside every place the agent may write */
  runDirParent?: string;
  /** The environment everything is taken from. @default process.env */
  baseEnv?: NodeJS.ProcessEnv;
}

/** What `maxLineBytes` may be. A line becomes one string, and the longest string is 24 characters short of 512 MiB. */
export const LINE_BYTES_RANGE = { least: 64 * 1024, most: 511 * 1024 * 1024 } as const;

/** Problems of the options that no provider needs to be asked about. */
export function checkSpawnOptions(options: SpawnOptions): Issue[] {
  const issues: Issue[] = [];
  const invalid = (path: string, message: string, hint = "") =>
    issues.push({ code: "option_invalid", path, message, hint });
  const { prompt, cwd, deadlines = {}, addDirs = [] } = options;
  if (typeof prompt !== "string" || prompt.trim() === "")
    invalid("prompt", "must be a string that is not blank");
  if (typeof cwd !== "string" || !isAbsolute(cwd)) {
    invalid(
      "cwd",
      `expected an absolute path, got ${JSON.stringify(cwd) ?? "nothing"}`,
      "a daemon has no working directory worth guessing",
    );
  } else if (!isDirectory(cwd)) invalid("cwd", `${cwd} is not a directory`);
  for (const [index, folder] of addDirs.entries()) {
    if (!isAbsolute(folder) || !isDirectory(folder))
      invalid(`addDirs[${index}]`, `${JSON.stringify(folder)} is not an absolute directory`);
  }
  issues.push(...checkDeadlines(deadlines));
  const { maxLineBytes: lineBytes = LINE_BYTES_RANGE.least } = options;
  const { least, most } = LINE_BYTES_RANGE;
  if (!Number.isInteger(lineBytes) || lineBytes < least || lineBytes > most)
    invalid(
      "maxLineBytes",
      `expected a whole number of bytes, got ${JSON.stringify(lineBytes)}`,
      `from ${least} to ${most}`,
    );
  for (const [name, value] of Object.entries(options.env ?? {})) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) invalid(`env.${name}`, "is not a variable name");
    else if (typeof value !== "string" || value.includes("\0"))
      invalid(`env.${name}`, "must be a string without NUL");
  }
  return issues;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
