// Proves an installed provider by name: finds its binary, runs the cases, keeps the record. What `bridle prove` calls.

import { findCompanions, findProviderBinary } from "../compiler/find-binary.ts";
import type { ProviderBinary } from "../compiler/plan.ts";
import { absolutePath } from "../compiler/resolve-command.ts";
import { refuseIfAny } from "../errors.ts";
import type { Provider } from "../profile/events.ts";
import { adapterFor } from "../render/registry.ts";
import { matrixDigest } from "./matrix/digest.ts";
import { columnsOf, loadMatrix } from "./matrix/load.ts";
import { isConclusive, type Proof } from "./proof.ts";
import { proofKeyOf } from "./proof-key.ts";
import { proofDirectory, saveProof, withProofLock } from "./proof-store.ts";
import { type ProofProgress, proveBinary } from "./prove-binary.ts";

export interface ProveOptions {
  readonly provider: Provider;
  /** The provider's binary. @default the provider's name on PATH; behind an npm wrapper the native one */
  readonly binary?: string;
  /** `core`: what a blocking hook relies on, in about a minute. `all`: the whole matrix, some minutes. @default "core" */
  readonly set?: "core" | "all";
  /** Only these case ids; such a proof is not kept. */
  readonly only?: readonly string[];
  /** Cases at a time. @default one more than there are processors, at most 6 */
  readonly jobs?: number;
  /** Where proofs are kept. @default `proofs` in the state directory */
  readonly proofDir?: string;
  /** Called once, when the binary was found. */
  readonly onFound?: (binary: { readonly path: string; readonly version: string }) => void;
  readonly onProgress?: (progress: ProofProgress) => void;
  readonly signal?: AbortSignal;
}

export interface Proven {
  readonly proof: Proof;
  /** File of the record; undefined when it was not kept: only a part was run, or a core case stayed unclear. */
  readonly path: string | undefined;
}

/**
 * Runs the proof anew, whatever is on record.
 *
 * @throws AgentHooksRefused `option_invalid`, `provider_not_found`, `provider_unsupported`; rejects with the signal's reason when it aborts.
 * @example
 * const { proof } = await proveProvider({ provider: "codex" });
 * const broken = proof.cases.filter(({ required, verdict }) => required && verdict !== "holds");
 */
export async function proveProvider(options: ProveOptions): Promise<Proven> {
  const { provider, binary, set, only = [], jobs, onFound, onProgress, signal } = options;
  await checkCases(provider, only);
  const path = absolutePath(process.env.PATH ?? "");
  const identity = await findProviderBinary(provider, { binary, cwd: process.cwd(), path });
  const { version } = await adapterFor(provider).probe(identity.path, { isNamed: binary !== undefined });
  const found: ProviderBinary = {
    provider,
    identity,
    version,
    companions: await findCompanions(provider, identity.path),
  };
  onFound?.({ path: identity.path, version });
  const run = () =>
    proveBinary({
      binary: found,
      only,
      ...(set === undefined ? {} : { set }),
      ...(jobs === undefined ? {} : { jobs }),
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(signal === undefined ? {} : { signal }),
    });
  if (only.length > 0) return { proof: await run(), path: undefined };
  const directory = options.proofDir ?? proofDirectory();
  const key = proofKeyOf(found, { digest: await matrixDigest() });
  return withProofLock(directory, key, async () => {
    const proof = await run();
    return { proof, path: isConclusive(proof) ? await saveProof(directory, key, proof) : undefined };
  });
}

async function checkCases(provider: Provider, only: readonly string[]): Promise<void> {
  if (only.length === 0) return;
  const { cases } = await loadMatrix();
  const columns = columnsOf(provider);
  const known = new Set(cases.filter(({ column }) => columns.includes(column)).map(({ id }) => id));
  refuseIfAny(
    only
      .filter((id) => !known.has(id))
      .map((id) => ({
        code: "option_invalid",
        path: "case",
        message: `${provider} has no case ${JSON.stringify(id)}`,
        hint: `see \`bridle prove ${provider} --all\`; near it: ${nearest(id, known).join(", ")}`,
      })),
  );
}

/** Up to five known ids that share a word with the given one, or simply the first ones. */
function nearest(id: string, known: ReadonlySet<string>): string[] {
  const words = id.split("-");
  const alike = [...known].filter((it) => it.split("-").some((word) => words.includes(word)));
  return (alike.length > 0 ? alike : [...known]).slice(0, 5);
}
