import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";

/** Suites that kill programs at every step, make them misbehave, or start hundreds of them: `npm run test:faults`. */
export const FAULT_SUITES = [
  "test/broker/shim-deadline.test.ts",
  "test/broker/shim-faults.test.ts",
  "test/fanout/kill.test.ts",
  "test/field-reports/processes.test.ts",
  "test/journal/fault-points.test.ts",
  "test/soak/soak.test.ts",
  "test/soak/storm.test.ts",
  "test/spawn/escape.test.ts",
  "test/supervisor/shutdown.test.ts",
  "test/testkit/sins.callbacks.test.ts",
  "test/testkit/sins.claude.test.ts",
  "test/testkit/sins.codex.test.ts",
  "test/testkit/sins.more.test.ts",
  "test/watchdog/program.test.ts",
];

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  // The examples import the package by its name; here that is the source.
  resolve: {
    alias: [
      { find: /^agent-bridle$/, replacement: source("index.ts") },
      { find: /^agent-bridle\/fanout$/, replacement: source("fanout/index.ts") },
      { find: /^agent-bridle\/host$/, replacement: source("host/index.ts") },
      { find: /^agent-bridle\/host\/mcp$/, replacement: source("host/adapters/mcp.ts") },
      { find: /^agent-bridle\/hooks$/, replacement: source("hooks/index.ts") },
      { find: /^agent-bridle\/hooks\/secret-scan$/, replacement: source("hooks/secret-scan.ts") },
      { find: /^agent-bridle\/store$/, replacement: source("store/index.ts") },
      { find: /^agent-bridle\/trace$/, replacement: source("trace/index.ts") },
      { find: /^agent-bridle\/bullmq$/, replacement: source("bullmq/index.ts") },
      { find: /^agent-bridle\/testkit$/, replacement: source("testkit/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    // What needs a browser or a Redis has configurations of its own.
    exclude: [...configDefaults.exclude, ...FAULT_SUITES, "test/browser/**", "test/scale/**"],
    globalSetup: ["test/build-sources.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Most tests wait for processes.
    maxWorkers: 2,
    coverage: { include: ["src/profile/**"], thresholds: { branches: 100 } },
  },
});
