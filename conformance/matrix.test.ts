// The matrix against the pinned CLIs: one test a case and column.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { loadMatrix } from "../src/prove/matrix/load.ts";
import { providerOf } from "../src/prove/matrix/play.ts";
import { runCase } from "../src/prove/matrix/run-case.ts";
import { resolveNativeBinary } from "./binaries.ts";

const { cases, folder } = await loadMatrix();
mkdirSync(join(homedir(), ".cache"), { recursive: true });
const scratch = mkdtempSync(join(homedir(), ".cache", "bridle-matrix-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

it.concurrent.each(cases.map((item) => [item.id, item.column, item] as const))(
  "%s on %s",
  async (_id, _column, item) => {
    const binary = resolveNativeBinary(providerOf(item.column));
    const result = await runCase(item, { binary, scratch, folder, networkEnv: {} });
    if (item.required) expect(result).toMatchObject({ verdict: "holds" });
  },
);
