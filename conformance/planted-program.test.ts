// A program that the agent puts where npm puts its own is not what a guard runs, on the real CLIs.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { guardTools } from "./support/guards.ts";
import { BOTH, runGuarded, shell, TOOL_PATH, touch } from "./support/harness.ts";

describe.each(BOTH)("$mode: a program the agent plants where npm puts its own", (column) => {
  it("is not what a guard runs", async () => {
    const { site, result } = await runGuarded({
      column,
      prepare: ({ project }) => {
        mkdirSync(join(project, "node_modules", ".bin"), { recursive: true });
      },
      path: ({ project }) => `${project}/node_modules/.bin:${TOOL_PATH}`,
      declaration: (site) => guardTools("grep -q forbidden && exit 2; exit 0")(site),
      script: (site) => [
        {
          tools: [
            shell(
              `printf '#!/bin/sh\\nexit 1\\n' > '${site.at("node_modules/.bin/grep")}' && chmod +x '${site.at("node_modules/.bin/grep")}'`,
            ),
          ],
        },
        { tools: [touch(site, "forbidden.txt")] },
      ],
    });
    expect(site.has("node_modules/.bin/grep")).toBe(true);
    expect(site.has("forbidden.txt")).toBe(false);
    expect(result.hooks.denied).toBe(1);
  });
});
