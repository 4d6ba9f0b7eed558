// What a proof of a binary is about: its bytes, this platform, profile, build and matrix.

import { basename } from "node:path";
import type { ProviderBinary } from "../compiler/plan.ts";
import { PROFILE_VERSION } from "../profile/envelope-types.ts";
import { VERSION } from "../version.ts";
import type { Matrix } from "./matrix/load.ts";
import { bytesDigest, type Proof, type ProofKey } from "./proof.ts";

/** The bytes that a proof of this binary is about. */
export function bytesOf({ identity, companions }: ProviderBinary): Proof["binary"] {
  return {
    sha256: identity.sha256,
    size: identity.size,
    companions: companions.map(({ path, sha256 }) => ({ name: basename(path), sha256 })),
  };
}

export function proofKeyOf(binary: ProviderBinary, matrix: Pick<Matrix, "digest">): ProofKey {
  return {
    provider: binary.provider,
    sha256: bytesDigest(bytesOf(binary)),
    platform: `${process.platform}-${process.arch}`,
    profile: PROFILE_VERSION,
    bridle: VERSION,
    matrix: matrix.digest,
  };
}
