import { defineConfig } from "vitest/config";

// Files that plant machine-wide policy run after all others, one at a time.
const machineWide = ["conformance/machine-policy.test.ts"];
const shared = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "cli",
          include: ["conformance/*.test.ts"],
          exclude: machineWide,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: "machine",
          include: machineWide,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
