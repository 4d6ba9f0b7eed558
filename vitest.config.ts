import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  // The examples import the package by its name; here that is the source.
  resolve: {
    alias: [
      { find: /^agent-bridle$/, replacement: source("index.ts") },
      { find: /^agent-bridle\/host$/, replacement: source("host/index.ts") },
      { find: /^agent-bridle\/host\/mcp$/, replacement: source("host/adapters/mcp.ts") },
      { find: /^agent-bridle\/hooks$/, replacement: source("hooks/index.ts") },
      { find: /^agent-bridle\/hooks\/secret-scan$/, replacement: source("hooks/secret-scan.ts") },
      { find: /^agent-bridle\/store$/, replacement: source("store/index.ts") },
      { find: /^agent-bridle\/testkit$/, replacement: source("testkit/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/build-sources.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Most tests wait for processes.
    maxWorkers: 2,
    coverage: { include: ["src/profile/**"], thresholds: { branches: 100 } },
  },
});
