// `npm run test:scale`: workers of a queue that are killed, stopped and stalled, on a real Redis, and the real CLIs as their agents. Needs redis-server
// on PATH, and the CLIs of `npm ci --prefix conformance`.

import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/scale/**/*.test.ts"],
    exclude: [],
    // Nearly all of it is waiting.
    maxWorkers: 3,
    testTimeout: 240_000,
    hookTimeout: 60_000,
  },
});
