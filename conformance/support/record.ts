// Puts a sealed record of a binary on file, with the verdicts a test wants.

import { findCompanions } from "../../src/compiler/find-binary.ts";
import type { ProvenCase, Provider } from "../../src/index.ts";
import { matrixDigest } from "../../src/prove/matrix/digest.ts";
import type { ProofKey } from "../../src/prove/proof.ts";
import { bytesOf, proofKeyOf } from "../../src/prove/proof-key.ts";
import { saveProof } from "../../src/prove/proof-store.ts";
import { identifyFile } from "../../src/trust/identity.ts";
import { makeCase, makeProof } from "../../test/prove/support.ts";

export async function putRecord({
  provider,
  binary,
  proofDir,
  cases,
  provedAt = new Date().toISOString(),
}: {
  provider: Provider;
  binary: string;
  proofDir: string;
  /** By case id, what differs from one that holds. */
  cases: Readonly<Record<string, Partial<ProvenCase>>>;
  provedAt?: string;
}): Promise<{ path: string; key: ProofKey }> {
  const identity = await identifyFile(binary);
  const companions = await findCompanions(provider, identity.path);
  const found = { provider, identity, version: "0.0.0", companions };
  const key = proofKeyOf(found, { digest: await matrixDigest() });
  const { platform, profile, bridle, matrix } = key;
  const proven = Object.entries(cases).map(([id, part]) => makeCase(id, { column: provider, ...part }));
  const about = { provider, binary: bytesOf(found), platform, profile, bridle, matrix, provedAt };
  return { path: await saveProof(proofDir, key, makeProof(proven, { ...about, network: "env" })), key };
}
