// `npm run test:browser`: reports in headless Chromium. Without chromium on PATH it fails.

import { configDefaults, defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/browser/**/*.test.ts"],
    exclude: configDefaults.exclude,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
