// The fuzz of the import, ten times as long as npm test has it: node soak/import.mjs [runs]

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const runs = process.argv[2] ?? process.env.BRIDLE_FUZZ_RUNS ?? "50000";
const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(
  process.execPath,
  [`${root}node_modules/vitest/vitest.mjs`, "run", "test/import/fuzz.test.ts"],
  { cwd: root, stdio: "inherit", env: { ...process.env, BRIDLE_FUZZ_RUNS: runs } },
);
process.exitCode = status ?? 1;
