// Whether a binary is known to enforce what blocks: from a record, or by proving it now. Decides what compile may mint.

import type { Issue } from "../errors.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import { matrixDigest } from "../prove/matrix/digest.ts";
import { type Downgrade, isConclusive, judgeProof, type Proof, type ProvenCase } from "../prove/proof.ts";
import { proofKeyOf } from "../prove/proof-key.ts";
import {
  loadProof,
  loadShippedProof,
  proofDirectory,
  saveProof,
  withProofLock,
} from "../prove/proof-store.ts";
import { type ProofProgress, proveBinary } from "../prove/prove-binary.ts";
import type { ProofSummary, ProviderBinary } from "./plan.ts";

export interface ProofGateOptions {
  readonly binary: ProviderBinary;
  /** Events the provider is to fire. */
  readonly events: readonly EventName[];
  readonly prove: "auto" | "require" | "off";
  readonly proofDir?: string | undefined;
  readonly onProve?: ((progress: ProofProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ProofDecision {
  readonly prove: "proven" | "not_needed" | "off";
  readonly proof: ProofSummary | undefined;
  readonly downgrades: readonly Downgrade[];
  /** Events that the proof shows to hold as callbacks over the CLI's own pipes. */
  readonly callbacks: readonly EventName[];
  readonly issues: readonly Issue[];
}

/** Only what blocks needs a proof: nobody relies on an event whose verdict nobody reads. */
export async function decideProof(options: ProofGateOptions): Promise<ProofDecision> {
  const { events, prove } = options;
  const nothing = { proof: undefined, downgrades: [], callbacks: [], issues: [] };
  if (prove === "off") return { prove: "off", ...nothing };
  if (!events.some((event) => capabilityOf(event).role === "gate"))
    return { prove: "not_needed", ...nothing };
  if (isFake(options.binary)) return { prove: "off", ...nothing, issues: [fakeIssue(options.binary)] };
  const found = await findProof(options);
  if ("issue" in found) return { prove: "proven", ...nothing, issues: [found.issue] };
  const { proof, source, ignored } = found;
  const { disproven, unclear, downgrades, callbacks } = judgeProof(proof, events);
  const { digest, network, provedAt, set } = proof;
  const summary = { digest, source, network, provedAt, set, ...(ignored === undefined ? {} : { ignored }) };
  const toIssue =
    (code: "provider_disproven" | "provider_unproven", says: string, hint: string) =>
    ({ id, column, title, observed }: ProvenCase): Issue => ({
      code,
      path: `binary: ${id}`,
      message: `${proof.provider} ${proof.version} ${says} "${title}" (${column}): ${observed}`,
      hint,
    });
  const issues = [
    ...disproven.map(
      toIssue(
        "provider_disproven",
        "does not hold",
        `see \`bridle prove ${proof.provider}\`; use a version that holds it`,
      ),
    ),
    ...unclear.map(
      toIssue("provider_unproven", "could not be tried for", "nothing was put on record: try again"),
    ),
  ];
  return { prove: "proven", proof: summary, downgrades, callbacks, issues };
}

/** What a fake provider of the testkit says of itself (src/testkit). */
function isFake({ version }: ProviderBinary): boolean {
  return version.endsWith("+fake");
}

function fakeIssue({ provider, identity }: ProviderBinary): Issue {
  const message = `${identity.path} is a fake ${provider}: there is nothing to prove`;
  return {
    code: "provider_unproven",
    path: "binary",
    message,
    hint: 'pass prove: "off" in a test that uses it',
  };
}

type Found =
  | {
      readonly proof: Proof;
      readonly source: ProofSummary["source"];
      /** Why a record on this machine was passed over. */
      readonly ignored: string | undefined;
    }
  | { readonly issue: Issue };

async function findProof({ binary, prove, proofDir, onProve, signal }: ProofGateOptions): Promise<Found> {
  const directory = proofDir ?? proofDirectory();
  const key = proofKeyOf(binary, { digest: await matrixDigest() });
  // What was seen on this machine outweighs what came with the package.
  const stored = await loadProof(directory, key);
  if (stored.proof !== undefined) return { proof: stored.proof, source: "stored", ignored: undefined };
  const shipped = await loadShippedProof(key);
  if (shipped.proof !== undefined) return { proof: shipped.proof, source: "shipped", ignored: stored.reason };
  const { provider, version, identity } = binary;
  if (prove === "require") {
    const reason = stored.reason === undefined ? "" : `: ${stored.reason}`;
    const message = `${provider} ${version} (${identity.path}) has no proof${reason}`;
    return {
      issue: { code: "provider_unproven", path: "binary", message, hint: `run \`bridle prove ${provider}\`` },
    };
  }
  return withProofLock(directory, key, async (): Promise<Found> => {
    const meanwhile = await loadProof(directory, key);
    if (meanwhile.proof !== undefined)
      return { proof: meanwhile.proof, source: "stored", ignored: undefined };
    const proof = await proveBinary({
      binary,
      ...(onProve === undefined ? {} : { onProgress: onProve }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (isConclusive(proof)) await saveProof(directory, key, proof);
    return { proof, source: "ran", ignored: stored.reason };
  });
}
