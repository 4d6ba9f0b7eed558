// The matrix against the pinned CLIs: one test a case and column. And against claude 2.1.197, which ignores `onFailure`: there
// every guarded run must be refused, and what its handler form gets wrong is listed.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseProof } from "../src/index.ts";
import { loadMatrix } from "../src/prove/matrix/load.ts";
import { providerOf } from "../src/prove/matrix/play.ts";
import { runCase } from "../src/prove/matrix/run-case.ts";
import { CALLBACK_COLUMN, type MatrixCase } from "../src/prove/matrix/schema.ts";
import { SHIPPED_PROOFS } from "../src/prove/proof-store.ts";
import { resolveNativeBinary, resolveOlderClaude } from "./binaries.ts";

/** Cases of the rendered forms that claude 2.1.197 fails: a fault of the guard path lets the call run there. */
export const KNOWN_DIFFERENCES_OF_2_1_197: readonly string[] = [
  "handler-killed",
  "handler-terminated",
  "handler-hangs",
  "handler-hangs-after-a-denial",
  "handler-prompt-hangs",
  "handler-prompt-killed",
  "callback-answered-with-an-error",
  "callback-answered-with-nothing",
  "callback-answered-with-nonsense",
  "callback-without-an-input",
  "callback-without-pipes",
];

const { cases, folder } = await loadMatrix();
/** What the package ships: `npm run proofs` writes it, nobody else. */
const shipped = readdirSync(SHIPPED_PROOFS)
  .filter((name) => name.includes(`-${process.platform}-${process.arch}`))
  .map((name) => parseProof(readFileSync(join(SHIPPED_PROOFS, name), "utf8")));
const shippedVerdict = (version: string, { id, column }: Pick<MatrixCase, "id" | "column">) =>
  shipped
    .filter((proof) => typeof proof !== "string")
    .find((proof) => proof.version === version)
    ?.cases.find((it) => it.id === id && it.column === column)?.verdict;
const VERSIONS = { claude: "2.1.332", codex: "0.171.0" } as const;

mkdirSync(join(homedir(), ".cache"), { recursive: true });
const scratch = mkdtempSync(join(homedir(), ".cache", "bridle-matrix-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const play = (item: MatrixCase, binary: string) => runCase(item, { binary, scratch, folder, networkEnv: {} });
const rows = (items: readonly MatrixCase[]) => items.map((item) => [item.id, item.column, item] as const);

it.concurrent.each(rows(cases))("%s on %s", async (_id, _column, item) => {
  const result = await play(item, resolveNativeBinary(providerOf(item.column)));
  if (item.required) expect(result.verdict, result.observed).toBe("holds");
  // A gap of the CLI itself is as steady as what holds; what merely may happen (StopFailure) has no verdict to compare.
  if (item.required || item.via !== "bridle")
    expect(shippedVerdict(VERSIONS[providerOf(item.column)], item), "run npm run proofs").toBe(
      result.verdict,
    );
});

describe("claude 2.1.197", () => {
  // How it asks makes no difference to what is refused: on callbacks only what claude itself makes of them is played.
  const ofClaude = cases.filter(
    ({ column, via }) => column === "claude" || (column === CALLBACK_COLUMN && via !== "bridle"),
  );

  it.concurrent.each(rows(ofClaude))("%s on %s", async (id, _column, item) => {
    const result = await play(item, resolveOlderClaude());
    expect(shippedVerdict("2.1.197", item), "run npm run proofs").toBe(result.verdict);
    if (item.via !== "bridle") {
      const expected = KNOWN_DIFFERENCES_OF_2_1_197.includes(id) ? "fails" : "holds";
      expect(result.verdict, result.observed).toBe(expected);
    } else {
      const expected = item.expect.refused === undefined ? "refused" : "holds";
      expect(result.verdict, result.observed).toBe(expected);
    }
  });

  it("lists only cases that exist", () => {
    const ids = ofClaude.map(({ id }) => id);
    expect(KNOWN_DIFFERENCES_OF_2_1_197.filter((id) => !ids.includes(id))).toEqual([]);
  });
});
