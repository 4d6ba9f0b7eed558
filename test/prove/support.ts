import { type Proof, type ProofKey, type ProvenCase, sealProof } from "../../src/prove/proof.ts";

export const KEY: ProofKey = {
  provider: "codex",
  sha256: "a".repeat(64),
  platform: "linux-x64",
  profile: "v1",
  bridle: "0.1.0",
  matrix: "b".repeat(64),
};

export function makeCase(id: string, part: Partial<ProvenCase> = {}): ProvenCase {
  return {
    id,
    column: "codex",
    title: "A denial stops a call",
    kind: "blocks",
    event: "PreToolUse",
    rule: ["Dv1-5"],
    core: true,
    required: true,
    verdict: "holds",
    observed: "no happened",
    durationMs: 1,
    ...part,
  };
}

export function makeProof(cases: ProvenCase[], part: Partial<Omit<Proof, "digest">> = {}): Proof {
  return sealProof({
    format: 1,
    provider: KEY.provider,
    version: "0.171.0",
    binary: { sha256: KEY.sha256, size: 1, companions: [] },
    platform: KEY.platform,
    profile: KEY.profile,
    bridle: KEY.bridle,
    matrix: KEY.matrix,
    set: "core",
    network: "netns",
    provedAt: "2026-01-01T00:00:00.000Z",
    durationMs: 1,
    cases,
    ...part,
  });
}
