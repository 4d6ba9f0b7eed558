// A proof: what one set of bytes was seen to enforce, case by case. About exactly these bytes, this platform, profile and matrix.

import { createHash } from "node:crypto";
import type { z } from "zod";
import { parseJsonObject } from "../json.ts";
import { lateSchema } from "../packages.ts";
import { type EventName, isEventName, PROVIDERS, type Provider } from "../profile/events.ts";
import { CALLBACK_EVENTS } from "../render/claude/callback-events.ts";
import { CALLBACK_COLUMN, COLUMN_NAMES } from "./matrix/columns.ts";

export const PROOF_FORMAT = 1;
export const proofSchema = lateSchema((z) => {
  const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

  const provenCase = z.strictObject({
    id: z.string(),
    column: z.enum(COLUMN_NAMES),
    title: z.string(),
    kind: z.string(),
    event: z.string(),
    rule: z.array(z.string()),
    core: z.boolean(),
    /** False: written down, decides nothing. */
    required: z.boolean(),
    /** See `CaseVerdict`. */
    verdict: z.enum(["holds", "refused", "fails", "unclear"]),
    observed: z.string(),
    durationMs: z.number(),
    because: z.string().optional(),
    /** What may be rendered in its place where it does not hold. */
    downgrade: z
      .strictObject({ to: z.enum(["rewrite-to-deny", "subagents-off"]), proven_by: z.array(z.string()) })
      .optional(),
  });

  return z.strictObject({
    format: z.literal(PROOF_FORMAT),
    provider: z.enum(PROVIDERS as [Provider, ...Provider[]]),
    /** As the binary itself says. */
    version: z.string(),
    binary: z.strictObject({
      sha256,
      size: z.number(),
      /** Programs beside it that run tools. */
      companions: z.array(z.strictObject({ name: z.string(), sha256 })),
    }),
    /** `linux-x64` and the like. */
    platform: z.string(),
    profile: z.string(),
    /** Version of Bridle that ran it: its own shim and broker are part of what was proven. */
    bridle: z.string(),
    /** Digest of the matrix's files. */
    matrix: sha256,
    /** `core`: what a blocking hook relies on. `all`: the whole matrix. `part`: cases that somebody named; proves nothing. */
    set: z.enum(["core", "all", "part"]),
    /** `netns`: in a network namespace with nothing but loopback. `env`: loopback addresses and dead proxies. */
    network: z.enum(["netns", "env"]),
    provedAt: z.iso.datetime(),
    durationMs: z.number(),
    cases: z.array(provenCase),
    /** sha256 over everything above: a record that was edited is no proof. */
    digest: sha256,
  });
});
export type Proof = z.infer<ReturnType<typeof proofSchema>>;
export type ProvenCase = Proof["cases"][number];

/** What a proof is about. */
export interface ProofKey {
  readonly provider: Provider;
  /** Over the bytes of the binary and of its companions. */
  readonly sha256: string;
  readonly platform: string;
  readonly profile: string;
  readonly bridle: string;
  readonly matrix: string;
}

/** One digest for all bytes that a proof is about. */
export function bytesDigest({ sha256, companions }: Pick<Proof["binary"], "sha256" | "companions">): string {
  if (companions.length === 0) return sha256;
  const text = companions.map((it) => `${it.name} ${it.sha256}`).join("\n");
  return createHash("sha256").update(`${sha256}\n${text}`).digest("hex");
}

export function sealProof(proof: Omit<Proof, "digest">): Proof {
  return { ...proof, digest: digestOf(proof) };
}

/** A proof from text: a record, or what `bridle prove --json` prints. A string says what is wrong with it. */
export function parseProof(text: string): Proof | string {
  const json = parseJsonObject(text);
  if (json === undefined) return "is not one JSON object";
  const { data: proof, error } = proofSchema().safeParse(json.type === "proof" ? json.proof : json);
  if (proof === undefined)
    return `is not a proof: ${error.issues.map(({ path, message }) => `${path.join(".")} ${message}`).join("; ")}`;
  return isIntact(proof) ? proof : "was changed after it was written";
}

export function isIntact({ digest, ...proof }: Proof): boolean {
  return digestOf(proof) === digest;
}

/** Keys in a fixed order at every depth, so that the same content has the same digest however it was written. */
function digestOf(proof: Omit<Proof, "digest">): string {
  const text = JSON.stringify(proof, (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash("sha256").update(text).digest("hex");
}

export interface Downgrade {
  readonly name: "rewrite-to-deny" | "subagents-off";
  /** Cases that do not hold. */
  readonly because: readonly string[];
}

export interface ProofJudgement {
  /** Required cases that do not hold and for which there is no stricter form. */
  readonly disproven: readonly ProvenCase[];
  /** Required cases that could not be judged: they speak neither for nor against the binary. With none of both it is proven. */
  readonly unclear: readonly ProvenCase[];
  readonly downgrades: readonly Downgrade[];
  /** Events that hold as callbacks over the CLI's own pipes; in the order of the cases. */
  readonly callbacks: readonly EventName[];
}

/** Worth keeping: no required core case was left unclear. Without one a record would speak against a binary for what the machine did. */
export function isConclusive({ cases }: Proof): boolean {
  return !cases.some(({ core, required, verdict }) => core && required && verdict === "unclear");
}

/**
 * Holds a proof against the events somebody relies on. A stricter form counts only when its own cases hold. Callbacks are never missed: what
 * does not hold as one goes through the shim.
 */
export function judgeProof({ cases }: Proof, events: readonly string[]): ProofJudgement {
  const disproven: ProvenCase[] = [];
  const unclear: ProvenCase[] = [];
  const because = new Map<Downgrade["name"], Set<string>>();
  for (const item of cases) {
    const matters = item.event === "any" || events.includes(item.event);
    if (item.column === CALLBACK_COLUMN) continue;
    if (!item.core || !item.required || item.verdict === "holds" || !matters) continue;
    if (item.verdict === "unclear") {
      unclear.push(item);
      continue;
    }
    const { downgrade } = item;
    const isProven = downgrade?.proven_by.every((id) =>
      cases.some((it) => it.id === id && it.column === item.column && it.verdict === "holds"),
    );
    if (downgrade === undefined || isProven !== true) disproven.push(item);
    else because.set(downgrade.to, (because.get(downgrade.to) ?? new Set()).add(item.id));
  }
  const downgrades = [...because].map(([name, ids]) => ({ name, because: [...ids] }));
  return { disproven, unclear, downgrades, callbacks: provenCallbacks({ cases }) };
}

/**
 * Events that hold as callbacks over the CLI's own pipes: a core case shows the event as one, and every required core case of it and of
 * any event holds.
 */
export function provenCallbacks({ cases }: Pick<Proof, "cases">): EventName[] {
  const ours = cases.filter(({ column, core, required }) => column === CALLBACK_COLUMN && core && required);
  const broken = ours.filter(({ verdict }) => verdict !== "holds").map(({ event }) => event);
  if (broken.includes("any")) return [];
  const shown = [...new Set(ours.map(({ event }) => event))].filter((event) => isEventName(event));
  // Every event is played in that column; those that are none go through the shim there too.
  return shown.filter((event) => CALLBACK_EVENTS.includes(event) && !broken.includes(event));
}
