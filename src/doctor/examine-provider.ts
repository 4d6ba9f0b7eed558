// What is known about one agent on this machine before anything is run with it: its binary, its proof, how it is logged in, and what of its
// own configuration a run would leave out. Starts nothing but `--version`. It never returns the value of a variable or a line of a login file.

import { lstat, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { findCompanions, findProviderBinary } from "../compiler/find-binary.ts";
import type { ProviderBinary } from "../compiler/plan.ts";
import { absolutePath, findProgram } from "../compiler/resolve-command.ts";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { EVENT_NAMES, type Provider } from "../profile/events.ts";
import { matrixDigest } from "../prove/matrix/digest.ts";
import { judgeProof, type Proof } from "../prove/proof.ts";
import { proofKeyOf } from "../prove/proof-key.ts";
import { type FoundProof, loadProof, loadShippedProof, proofDirectory } from "../prove/proof-store.ts";
import { adapterFor } from "../render/registry.ts";
import { type AmbientFinding, scanAmbient } from "../spawn/ambient.ts";
import { userCodexHome } from "../spawn/home.ts";

/** How the agent would log in; names of variables, never values. */
export type AuthKind =
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "login file"; readonly path: string }
  | { readonly kind: "none" };

export interface ExaminedBinary {
  readonly path: string;
  readonly version: string;
  /** `wrapper`: another program of that name was found first, and this is the native one behind it. */
  readonly form: "native" | "wrapper" | "fake";
  /** What was found on PATH, or was named. */
  readonly foundAs: string;
}

export interface ExaminedProof {
  /** `none`: the first run with a gate makes one. `disproven`: gates are refused. */
  readonly state: "proven" | "disproven" | "unclear" | "none";
  readonly source?: "stored" | "shipped";
  readonly provedAt?: string;
  /** Why a record that is there does not count. */
  readonly ignored?: string;
}

export interface ExaminedProvider {
  readonly provider: Provider;
  /** Undefined when there is none that can be used: `issues` says why. */
  readonly binary?: ExaminedBinary;
  readonly proof?: ExaminedProof;
  readonly auth: AuthKind;
  /** What a run in this folder would leave out: the user's and the project's own hooks, settings and rules. */
  readonly ambient: readonly AmbientFinding[];
  readonly issues: readonly Issue[];
}

export interface ExamineOptions {
  readonly provider: Provider;
  /** The folder a run would be in. */
  readonly cwd: string;
  /** @default the provider's name on PATH */
  readonly binary?: string;
  /** @default the process's own */
  readonly env?: NodeJS.ProcessEnv;
  /** @default `proofs` in the state directory */
  readonly proofDir?: string;
}

export async function examineProvider({
  provider,
  cwd,
  binary,
  env = process.env,
  proofDir = proofDirectory(env),
}: ExamineOptions): Promise<ExaminedProvider> {
  const folder = await realpath(resolve(cwd));
  const auth = await findAuth(provider, env);
  const { findings: ambient } = await scanAmbient({
    provider,
    cwd: folder,
    env,
    wantsRules: true,
    wantsInstructions: true,
  });
  const common = { provider, auth, ambient };
  try {
    const where = { binary, cwd: folder, path: absolutePath(env.PATH ?? "") };
    const found = await findBinary(provider, where);
    return {
      ...common,
      binary: found.examined,
      // There is nothing to prove of a fake.
      ...(found.examined.form === "fake" ? {} : { proof: await examineProof(found.binary, proofDir) }),
      issues: [],
    };
  } catch (error) {
    if (!(error instanceof AgentHooksRefused)) throw error;
    return { ...common, issues: error.issues };
  }
}

async function findBinary(
  provider: Provider,
  where: { binary: string | undefined; cwd: string; path: string },
): Promise<{ binary: ProviderBinary; examined: ExaminedBinary }> {
  const identity = await findProviderBinary(provider, where);
  const isNamed = where.binary !== undefined;
  const { version } = await adapterFor(provider).probe(identity.path, { isNamed });
  const name = where.binary === undefined ? provider : resolve(where.cwd, where.binary);
  const foundAs = (await findProgram(name, { root: where.cwd, path: where.path })) ?? identity.path;
  const isDirect = (await realpath(foundAs)) === identity.path;
  const form = version.endsWith("+fake") ? "fake" : isDirect ? "native" : "wrapper";
  return {
    binary: { provider, identity, version, companions: await findCompanions(provider, identity.path) },
    examined: { path: identity.path, version, form, foundAs },
  };
}

/** As compile looks for one, without making it. */
export async function examineProof(binary: ProviderBinary, directory: string): Promise<ExaminedProof> {
  const key = proofKeyOf(binary, { digest: await matrixDigest() });
  const stored = await loadProof(directory, key);
  const shipped: FoundProof =
    stored.proof === undefined ? await loadShippedProof(key) : { proof: undefined, reason: undefined };
  const ignored = stored.proof === undefined && stored.reason !== undefined ? { ignored: stored.reason } : {};
  const proof = stored.proof ?? shipped.proof;
  if (proof === undefined) return { state: "none", ...ignored };
  const source = stored.proof === undefined ? "shipped" : "stored";
  return { state: stateOf(proof), source, provedAt: proof.provedAt, ...ignored };
}

function stateOf(proof: Proof): ExaminedProof["state"] {
  const events = EVENT_NAMES.filter((event) => event === "PreToolUse");
  const { disproven, unclear } = judgeProof(proof, events);
  if (disproven.length > 0) return "disproven";
  return unclear.length > 0 ? "unclear" : "proven";
}

/** A variable counts before a login file, as it does for both agents. */
async function findAuth(provider: Provider, env: NodeJS.ProcessEnv): Promise<AuthKind> {
  const names = adapterFor(provider).credentialEnv.filter((name) => !name.endsWith("_URL"));
  const name = names.find((one) => env[one] !== undefined && env[one] !== "");
  if (name !== undefined) return { kind: "variable", name };
  const home = env.HOME ?? homedir();
  const path =
    provider === "codex"
      ? join(userCodexHome(env), "auth.json")
      : join(env.CLAUDE_CONFIG_DIR ?? join(home, ".claude"), ".credentials.json");
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  return isThere ? { kind: "login file", path } : { kind: "none" };
}
