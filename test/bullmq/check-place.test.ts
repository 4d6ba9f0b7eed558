// A worker of a program: the same checks as the command's, and a binary that a job's directory would choose.

import { expect, test } from "vitest";
import { createAgentWorker } from "../../src/bullmq/index.ts";

const options = { connection: "redis://127.0.0.1:1", name: "place", allow: "any" } as const;

test("refuses a relative binary", async () => {
  await expect(createAgentWorker({ ...options, binaries: { claude: "./claude" } })).rejects.toMatchObject({
    issues: [
      { code: "option_invalid", path: "binaries.claude", message: '"./claude" is not an absolute path' },
    ],
  });
});

test("names everything that cannot be used", async () => {
  const binaries = { codex: "/nope/codex" };
  const run = { sandbox: "none", permissionMode: "all" } as never;
  await expect(createAgentWorker({ ...options, binaries, roots: ["/nope"], run })).rejects.toMatchObject({
    issues: ["binaries.codex", "roots[0]", "run.permissionMode", "run.sandbox"].map((path) => ({ path })),
  });
});
