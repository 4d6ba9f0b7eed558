// The shipped proofs are about this build, and docs/COMPAT.md is what they say.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parseProof, provenCallbacks, VERSION } from "../../src/index.ts";
import { renderCompat } from "../../src/prove/compat.ts";
import { columnsOf, loadMatrix } from "../../src/prove/matrix/load.ts";
import type { Proof } from "../../src/prove/proof.ts";
import { CALLBACK_EVENTS } from "../../src/render/claude/callback-events.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const names = readdirSync(join(root, "proofs"));
const proofs = names.map((name) => parseProof(readFileSync(join(root, "proofs", name), "utf8")) as Proof);
const { cases, digest } = await loadMatrix();

it.each(names.map((name, index) => [name, proofs[index] as Proof] as const))(
  "%s is sealed, whole, and about this matrix and version (else: npm run proofs)",
  (name, proof) => {
    expect(proof).toMatchObject({ set: "all", matrix: digest, bridle: VERSION });
    expect(name).toBe(`${proof.provider}-${proof.version}-${proof.platform}.json`);
    const expected = cases.filter(({ column }) => columnsOf(proof.provider).includes(column));
    expect(proof.cases.map(({ id, column }) => `${id} ${column}`)).toEqual(
      expected.map(({ id, column }) => `${id} ${column}`),
    );
  },
);

it("docs/COMPAT.md is generated from them", () => {
  expect(readFileSync(join(root, "docs", "COMPAT.md"), "utf8")).toBe(renderCompat(proofs));
});

it("the pinned versions hold what is required; the older claude is refused where it matters", () => {
  const broken = (version: string) =>
    proofs
      .find((proof) => proof.version === version)
      ?.cases.filter(({ required, verdict }) => required && verdict !== "holds");
  expect(broken("2.1.332")).toEqual([]);
  expect(broken("0.171.0")).toEqual([]);
  const older = broken("2.1.197") ?? [];
  const isRendered = (id: string) => id.startsWith("handler-") || id.startsWith("callback-");
  expect(older.filter(({ id, verdict }) => verdict !== "refused" && !isRendered(id))).toEqual([]);
  expect(older.map(({ id }) => id)).toContain("handler-killed");
  expect(proofs.map((proof) => [proof.version, provenCallbacks(proof)])).toEqual(
    expect.arrayContaining([
      ["0.171.0", []],
      ["2.1.197", []],
      [
        "2.1.332",
        expect.toSatisfy(
          (events: string[]) => events.toSorted().join() === [...CALLBACK_EVENTS].sort().join(),
        ),
      ],
    ]),
  );
});
