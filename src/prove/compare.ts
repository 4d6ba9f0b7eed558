// What changed between two proofs, case by case: what an upgrade of a CLI brought.

import type { Proof, ProvenCase } from "./proof.ts";

export interface CaseChange {
  readonly id: string;
  readonly column: ProvenCase["column"];
  readonly title: string;
  /** Undefined: the case is in one proof only. */
  readonly before: Pick<ProvenCase, "verdict" | "observed" | "required"> | undefined;
  readonly after: Pick<ProvenCase, "verdict" | "observed" | "required"> | undefined;
  /** `worse`: it held and no longer does. `better`: the other way round. */
  readonly change: "worse" | "better" | "other" | "added" | "removed";
}

export interface ProofComparison {
  readonly before: Pick<Proof, "provider" | "version" | "platform" | "matrix" | "set">;
  readonly after: Pick<Proof, "provider" | "version" | "platform" | "matrix" | "set">;
  readonly changes: readonly CaseChange[];
  /** Cases that only one of the two tried because their sets differ: no change of the CLI. */
  readonly onlyInOne: number;
  /** Cases that are the same in both. */
  readonly unchanged: number;
}

/** Throws a TypeError when the proofs are of two providers: they have no case in common. */
export function compareProofs(before: Proof, after: Proof): ProofComparison {
  if (before.provider !== after.provider)
    throw new TypeError(`cannot compare a proof of ${before.provider} with one of ${after.provider}`);
  const keyOf = ({ id, column }: ProvenCase) => `${id} ${column}`;
  const older = new Map(before.cases.map((item) => [keyOf(item), item]));
  const newer = new Map(after.cases.map((item) => [keyOf(item), item]));
  const keys = [...new Set([...older.keys(), ...newer.keys()])];
  const sameSet = before.set === after.set;
  const compared = keys.filter((key) => sameSet || (older.has(key) && newer.has(key)));
  const changes = compared.flatMap((key) => changeOf(older.get(key), newer.get(key)));
  return {
    before: head(before),
    after: head(after),
    changes,
    onlyInOne: keys.length - compared.length,
    unchanged: compared.length - changes.length,
  };
}

function changeOf(before: ProvenCase | undefined, after: ProvenCase | undefined): CaseChange[] {
  const either = after ?? before;
  if (either === undefined || before?.verdict === after?.verdict) return [];
  const { id, column, title } = either;
  return [{ id, column, title, before: part(before), after: part(after), change: kindOf(before, after) }];
}

function kindOf(before: ProvenCase | undefined, after: ProvenCase | undefined): CaseChange["change"] {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  if (before.verdict === "holds") return "worse";
  return after.verdict === "holds" ? "better" : "other";
}

function part(item: ProvenCase | undefined) {
  if (item === undefined) return undefined;
  const { verdict, observed, required } = item;
  return { verdict, observed, required };
}

function head({ provider, version, platform, matrix, set }: Proof) {
  return { provider, version, platform, matrix, set };
}
