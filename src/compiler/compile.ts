// compileAgentHooks: every check that needs no running agent, in a visible order, all problems together, then the token.

import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import type { Origin } from "../declaration/origin.ts";
import type { HookDeclaration, HookEntry } from "../declaration/types.ts";
import { validateDeclaration } from "../declaration/validate.ts";
import { AgentHooksRefused, type Issue, refuseIfAny } from "../errors.ts";
import { CANARY_EVENT, capabilityOf, type EventName, PROVIDERS, type Provider } from "../profile/events.ts";
import type { ProofProgress } from "../prove/prove-binary.ts";
import { adapterFor } from "../render/registry.ts";
import { requireSelfTests } from "../selftest/require-self-tests.ts";
import { checkSharedOptions } from "./check-options.ts";
import { compileEntries } from "./compile-entries.ts";
import { deadlineFor } from "./deadlines.ts";
import { explainPlan } from "./explain.ts";
import { findCompanions, findProviderBinary } from "./find-binary.ts";
import type { EventDeadline, FileIdentity, HookPlan, ProviderBinary } from "./plan.ts";
import { decideProof } from "./proof-gate.ts";
import { absolutePath, pathOutside } from "./resolve-command.ts";
import { mintToken, type RenderedHooks } from "./token.ts";
import { chooseTransports, TRANSPORTS } from "./transports.ts";

export interface CompileOptions {
  /** Which CLI the token is for. */
  provider: Provider;
  /** Absolute project root, or with `origins` any folder in it: relative argv words are resolved against it. */
  cwd: string;
  /** Where each entry comes from, as `loadSettings` returns it. Default: the caller's own, trusted, but for entries with a `source`. */
  origins?: ReadonlyMap<HookEntry, Origin>;
  /** Whose settings file holds the trust records. Default: the home that `origins` was loaded for, else the user's. */
  trust?: { home?: string };
  /** `{plugin_root}` of entries outside a plugin bundle, absolute. Default: it has no value, and refuses. */
  pluginRoot?: string;
  /** The provider's binary. Default: the provider's name on PATH; behind an npm wrapper the native one. */
  binary?: string;
  /** Shown at the head of every issue's path. Default `declaration`. */
  source?: string;
  /** PATH for the provider's lookup and for hooks, fixed here. Default: the process's own; relative folders are left out. */
  path?: string;
  /**
   * What to do when a declaration blocks and the binary has no proof. `auto`: prove it first, offline, in about a minute, once a
   * binary. `require`: refuse (`provider_unproven`). `off`: go on without one; receipt and result say so. Default `auto`.
   */
  prove?: "auto" | "require" | "off";
  /**
   * `require`: run the self-tests that entries declare, and refuse when one fails (`selftest_failed`). Entries without any are not run.
   * Default `off`.
   */
  selftest?: "require" | "off";
  /**
   * How the agent is to ask about tool calls. `auto`: claude over its own pipes where the proof shows that it stops a call whose answer
   * never comes, else through the shim. `callbacks`: refuse where that is not proven; with `prove: "off"` unproven. `shim`: never over its pipes.
   * codex has the shim alone. Default `auto`.
   */
  transport?: "auto" | "callbacks" | "shim";
  /** Told of each case while a proof runs. */
  onProve?: (progress: ProofProgress) => void;
  /** Where proofs are kept. Default: `proofs` in the state directory. */
  proofDir?: string;
  /** Ends a proof that runs; compile then rejects with its reason. */
  signal?: AbortSignal;
}

/**
 * Checks a declaration and mints the only token `spawnAgent` takes.
 *
 * @throws AgentHooksRefused with every issue found: `declaration_invalid`, `event_unknown`, `event_unsupported`,
 * `matcher_invalid`, `command_invalid`, `command_not_found`, `command_untrusted`, `command_changed`, `placeholder_unset`,
 * `selftest_failed`, `handler_type_unsupported`, `deadline_invalid`, `provider_not_found`, `provider_unsupported`, `provider_unproven`, `provider_disproven`, `option_invalid`.
 * @example
 * const hooks = await compileAgentHooks(
 *   { PreToolUse: [{ matcher: "kind:shell", hooks: [{ type: "command", command: ["node", "guard.js"] }] }] },
 *   { provider: "codex", cwd: "/srv/project" },
 * );
 */
export async function compileAgentHooks(
  declaration: HookDeclaration,
  options: CompileOptions,
): Promise<RenderedHooks> {
  const { provider, source = "declaration", prove = "auto", signal } = options;
  const path = absolutePath(options.path ?? process.env.PATH ?? "");

  refuseIfAny(await checkOptions(options));
  const { origins = new Map() } = options;
  // One load has one project; `cwd` may be a folder in it.
  const loadedFor = [...origins.values()][0]?.projectRoot;
  const projectRoot = await realpath(loadedFor ?? options.cwd);
  const givenHome = options.trust?.home ?? [...origins.values()][0]?.home ?? homedir();
  const home = await realpath(givenHome).catch(() => givenHome);
  const { declaration: valid, issues: shapeIssues } = validateDeclaration(declaration, source);
  const issues: Issue[] = [...shapeIssues, ...checkEvents(valid, provider, source)];
  const place = { projectRoot, home, pluginRoot: options.pluginRoot, path };
  const { entries, skipped, provenance } =
    shapeIssues.length === 0
      ? await compileEntries(valid, { source, place, origins, issues })
      : { entries: [], skipped: [], provenance: {} };
  const binary = await probeBinary(provider, { binary: options.binary, cwd: projectRoot, path }, issues);
  if (binary === undefined || issues.length > 0) throw new AgentHooksRefused(issues);

  const declared = [...new Set(entries.map(({ event }) => event))].filter(
    (event) => capabilityOf(event).ours !== true,
  );
  const needsCanary = declared.length > 0 && !declared.includes(CANARY_EVENT);
  const events = needsCanary ? [CANARY_EVENT, ...declared] : declared;
  const deadlines: Partial<Record<EventName, EventDeadline>> = {};
  for (const event of events)
    deadlines[event] = deadlineFor(
      event,
      provider,
      entries.filter((entry) => entry.event === event),
    );
  const unproven = {
    provider,
    binary,
    projectRoot,
    entries,
    skipped,
    provenance,
    events,
    deadlines,
    hookPath: pathOutside(path, [options.cwd, projectRoot]),
  };
  const unchecked: HookPlan = {
    ...unproven,
    transports: {},
    prove: "off",
    proof: undefined,
    downgrades: [],
    digest: "",
  };
  refuseIfAny(adapterFor(provider).plan(unchecked));
  if (options.selftest === "require") {
    const stop = signal === undefined ? {} : { signal };
    const where = { projectRoot, hookPath: unproven.hookPath, provider, source, provenance, ...stop };
    refuseIfAny(await requireSelfTests(valid, entries, where));
  }
  const {
    issues: proofIssues,
    callbacks,
    ...proven
  } = await decideProof({
    binary,
    events,
    prove,
    proofDir: options.proofDir,
    onProve: options.onProve,
    signal,
  });
  refuseIfAny(proofIssues);
  const { transports, issues: transportIssues } = chooseTransports({
    provider,
    events,
    proven: callbacks,
    wanted: options.transport ?? "auto",
    prove: proven.prove,
  });
  refuseIfAny(transportIssues);
  const plan = { ...unproven, ...proven, transports };
  return mintToken({ ...plan, digest: digestOf(plan) }, explainPlan);
}

async function checkOptions({ provider, prove, transport, ...shared }: CompileOptions): Promise<Issue[]> {
  const issues: Issue[] = [];
  const invalid = (path: string, message: string, hint: string) =>
    issues.push({ code: "option_invalid", path, message, hint });
  if (!PROVIDERS.includes(provider))
    invalid("provider", `unknown provider ${JSON.stringify(provider)}`, `known: ${PROVIDERS.join(", ")}`);
  if (prove !== undefined && !["auto", "require", "off"].includes(prove))
    invalid("prove", `unknown value ${JSON.stringify(prove)}`, "known: auto, require, off");
  if (transport !== undefined && !TRANSPORTS.includes(transport))
    invalid("transport", `unknown value ${JSON.stringify(transport)}`, `known: ${TRANSPORTS.join(", ")}`);
  return [...issues, ...(await checkSharedOptions(shared))];
}

function checkEvents(declaration: HookDeclaration, provider: Provider, source: string): Issue[] {
  return (Object.keys(declaration) as EventName[])
    .filter((event) => !capabilityOf(event)[provider].fires)
    .map((event) => ({
      code: "event_unsupported",
      path: `${source}: ${event}`,
      message: `${provider} does not fire ${event}`,
      hint: PROVIDERS.some((one) => capabilityOf(event)[one].fires)
        ? "remove it or compile for a provider that does"
        : "remove it: only the in-process host fires it (docs/HOST.md)",
    }));
}

/** The same bytes at the same place say the same version. */
const versions = new Map<string, string>();

async function probeBinary(
  provider: Provider,
  where: { binary: string | undefined; cwd: string; path: string },
  issues: Issue[],
): Promise<ProviderBinary | undefined> {
  try {
    const identity = await findProviderBinary(provider, where);
    const isNamed = where.binary !== undefined;
    const key = `${provider} ${isNamed} ${identity.path} ${identity.sha256}`;
    const version =
      versions.get(key) ?? (await adapterFor(provider).probe(identity.path, { isNamed })).version;
    versions.set(key, version);
    return { provider, identity, version, companions: await findCompanions(provider, identity.path) };
  } catch (error) {
    if (!(error instanceof AgentHooksRefused)) throw error;
    issues.push(...error.issues);
    return undefined;
  }
}

/** Function handlers count by their source text; files by path and bytes, so that a mere touch changes nothing. */
function digestOf({
  proof: _proof,
  provenance: _provenance,
  skipped: _skipped,
  ...plan
}: Omit<HookPlan, "digest">): string {
  const text = JSON.stringify(plan, (_key, value: unknown) => {
    if (typeof value === "function") return value.toString();
    if (isFileIdentity(value)) return [value.path, value.sha256];
    return value;
  });
  return createHash("sha256").update(text).digest("hex");
}

function isFileIdentity(value: unknown): value is FileIdentity {
  return typeof value === "object" && value !== null && "sha256" in value && "ino" in value;
}
