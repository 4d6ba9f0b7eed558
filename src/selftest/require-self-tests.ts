// For compile: the declared self-tests of what would run, and a refusal of each that fails. Guards without any are let be.

import type { CompiledEntry, EntryProvenance } from "../compiler/plan.ts";
import type { HookDeclaration, SelfTest } from "../declaration/types.ts";
import type { Issue } from "../errors.ts";
import { missingReferences, placeOfReferences } from "../exec/bind-command.ts";
import type { Provider } from "../profile/events.ts";
import { runOwn } from "./run-self-tests.ts";
import type { TryPlace } from "./try-chain.ts";

export async function requireSelfTests(
  declaration: HookDeclaration,
  entries: readonly CompiledEntry[],
  {
    source,
    provenance,
    ...place
  }: TryPlace & {
    /** Shown at the head of the path of entries without an origin. */
    readonly source: string;
    readonly provenance: Readonly<Record<string, EntryProvenance>>;
    readonly provider: Provider;
  },
): Promise<Issue[]> {
  const tests = testsById(declaration);
  const issues: Issue[] = [];
  for (const entry of entries) {
    const own = tests.get(entry.id);
    if (own === undefined) continue;
    const at = `${provenance[entry.id]?.origin ?? source}: ${entry.id}.selftest`;
    const missing = missingReferences(entry, place.env ?? process.env);
    if (missing.length > 0) {
      const message = `cannot be asked: its ${placeOfReferences(entry)} name ${missing.join(", ")}, which is not set`;
      issues.push({ code: "selftest_failed", path: at, message, hint: "set it" });
      continue;
    }
    for (const [index, row] of (await runOwn(entry, own, place)).entries()) {
      if (row.passed) continue;
      const said = row.reason === "" ? "" : `: ${row.reason}`;
      issues.push({
        code: "selftest_failed",
        path: `${at}[${index}]`,
        message: `expected ${row.expected}, got ${row.got} (${row.exit})${said}`,
        hint: "see `bridle test`",
      });
    }
  }
  return issues;
}

function testsById(declaration: HookDeclaration): Map<string, readonly SelfTest[]> {
  const found = new Map<string, readonly SelfTest[]>();
  for (const [event, groups] of Object.entries(declaration))
    for (const [groupIndex, { hooks }] of groups.entries())
      for (const [entryIndex, { selftest }] of hooks.entries())
        if (selftest !== undefined) found.set(`${event}[${groupIndex}].hooks[${entryIndex}]`, selftest);
  return found;
}
