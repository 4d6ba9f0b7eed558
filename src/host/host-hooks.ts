// compileHostHooks: the checks of compileAgentHooks that need no agent's binary, for a program that runs its own model and tool loop; and
// the token that it mints, without which no declared hook enters a host.

import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { checkSharedOptions } from "../compiler/check-options.ts";
import { compileEntries } from "../compiler/compile-entries.ts";
import type { CompiledEntry, EntryProvenance, SkippedEntry } from "../compiler/plan.ts";
import { absolutePath, pathOutside } from "../compiler/resolve-command.ts";
import type { Origin } from "../declaration/origin.ts";
import type { HookDeclaration, HookEntry } from "../declaration/types.ts";
import { validateDeclaration } from "../declaration/validate.ts";
import { AgentHooksRefused, type Issue, refuseIfAny } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { requireSelfTests } from "../selftest/require-self-tests.ts";
import { unsupportedByHost } from "./host-events.ts";

export interface HostCompileOptions {
  /** Absolute project root, or with `origins` any folder in it: relative argv words are resolved against it. */
  cwd: string;
  /** Where each entry comes from, as `loadSettings` returns it. @default the caller's own, trusted, but for entries with a `source` */
  origins?: ReadonlyMap<HookEntry, Origin>;
  /** Whose settings file holds the trust records. @default the home that `origins` was loaded for, else the user's */
  trust?: { home?: string };
  /** `{plugin_root}` of entries outside a plugin bundle, absolute. @default it has no value, and refuses */
  pluginRoot?: string;
  /** Shown at the head of every issue's path. @default "declaration" */
  source?: string;
  /** PATH for programs and for hooks, fixed here. @default the process's own; relative folders are left out */
  path?: string;
  /** `require`: run the self-tests that entries declare, and refuse when one fails (`selftest_failed`). @default "off" */
  selftest?: "require" | "off";
  /** Ends self-tests that run. */
  signal?: AbortSignal;
}

export interface HostPlan {
  readonly projectRoot: string;
  /** In declaration order. */
  readonly entries: readonly CompiledEntry[];
  /** Declared, not trusted, on events that nothing waits for: left out. */
  readonly skipped: readonly SkippedEntry[];
  readonly provenance: Readonly<Record<string, EntryProvenance>>;
  /** PATH given to hooks. */
  readonly hookPath: string;
}

const mintKey = Symbol("mint");
const minted = new WeakMap<object, HostPlan>();

/** Sealed result of `compileHostHooks`: as many hosts as you like. Cannot be built or copied. */
export class HostHooks {
  /** @internal */
  constructor(key: symbol, plan: HostPlan) {
    if (key !== mintKey) throw forged("HostHooks was constructed outside compileHostHooks");
    minted.set(this, plan);
    Object.freeze(this);
  }
}

/**
 * Checks a declaration for the in-process host. The declaration is the same that `compileAgentHooks` takes; what differs is which events
 * there are (docs/PROFILE.md, Events, column "host").
 *
 * @throws AgentHooksRefused with every issue found: `declaration_invalid`, `event_unknown`, `event_unsupported`, `matcher_invalid`,
 * `command_invalid`, `command_not_found`, `command_untrusted`, `command_changed`, `placeholder_unset`, `selftest_failed`,
 * `handler_type_unsupported`, `deadline_invalid`, `option_invalid`.
 */
export async function compileHostHooks(
  declaration: HookDeclaration,
  options: HostCompileOptions,
): Promise<HostHooks> {
  const { source = "declaration", origins = new Map(), pluginRoot, signal } = options ?? {};
  refuseIfAny(checkKeys(options));
  refuseIfAny(await checkSharedOptions(options));
  const path = absolutePath(options.path ?? process.env.PATH ?? "");
  const [loaded] = [...origins.values()];
  const projectRoot = await realpath(loaded?.projectRoot ?? options.cwd);
  const givenHome = options.trust?.home ?? loaded?.home ?? homedir();
  const home = await realpath(givenHome).catch(() => givenHome);
  const { declaration: valid, issues: shapeIssues } = validateDeclaration(declaration, source);
  const issues: Issue[] = [...shapeIssues];
  for (const event of Object.keys(valid)) {
    const issue = unsupportedByHost(event, `${source}: ${event}`);
    if (issue !== undefined) issues.push(issue);
  }
  refuseIfAny(issues);
  const place = { projectRoot, home, pluginRoot, path };
  const { entries, skipped, provenance } = await compileEntries(valid, { source, place, origins, issues });
  refuseIfAny(issues);
  const hookPath = pathOutside(path, [options.cwd, projectRoot]);
  if (options.selftest === "require") {
    const stop = signal === undefined ? {} : { signal };
    refuseIfAny(
      await requireSelfTests(valid, entries, {
        projectRoot,
        hookPath,
        provider: "claude",
        source,
        provenance,
        ...stop,
      }),
    );
  }
  return new HostHooks(mintKey, { projectRoot, entries, skipped, provenance, hookPath });
}

/** The plan behind a token. Throws `token_forged` for anything that compileHostHooks did not mint. @internal */
export function hostPlanOf(token: unknown): HostPlan {
  const plan = typeof token === "object" && token !== null ? minted.get(token) : undefined;
  if (plan === undefined || Object.getPrototypeOf(token) !== HostHooks.prototype)
    throw forged("hooks is not a token minted by compileHostHooks");
  return plan;
}

function forged(message: string): AgentHooksRefused {
  const hint =
    "pass the value that compileHostHooks returned; a token of compileAgentHooks is for spawnAgent";
  return new AgentHooksRefused([{ code: "token_forged", path: "hooks", message, hint }]);
}

const KEYS: readonly string[] = [
  "cwd",
  "origins",
  "trust",
  "pluginRoot",
  "source",
  "path",
  "selftest",
  "signal",
] satisfies (keyof HostCompileOptions)[];

/** A word that nobody reads would be a check that is silently absent. */
function checkKeys(options: HostCompileOptions): Issue[] {
  if (!isJsonObject(options)) {
    const message = `expected an object with cwd, got ${JSON.stringify(options) ?? typeof options}`;
    return [{ code: "option_invalid", path: "options", message, hint: "" }];
  }
  return Object.keys(options)
    .filter((key) => !KEYS.includes(key))
    .map((key) => ({
      code: "option_invalid",
      path: key,
      message: `unknown option ${JSON.stringify(key)}`,
      hint: `known: ${KEYS.join(", ")}`,
    }));
}
