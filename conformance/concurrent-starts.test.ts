// Ten starts of the real claude at once in one home: whoever loses a race for its configuration file would leave half of it there.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { guardTools } from "./support/guards.ts";
import { CLAUDE, makeSite, runGuarded, touch } from "./support/harness.ts";

const STARTS = 10;

it("field report 56: ten concurrent starts with the user's home all succeed, and leave every file of it whole", async () => {
  const site = makeSite();
  const runs = await Promise.all(
    Array.from({ length: STARTS }, (_, nth) =>
      runGuarded({
        column: CLAUDE,
        site,
        script: () => [{ tools: [touch(site, `ran-${nth}.txt`)] }],
        declaration: guardTools("cat >/dev/null"),
        options: () => ({ configHome: "user", deadlines: { attestMs: 50_000 } }),
      }),
    ),
  );
  expect(runs.map(({ result }) => result.outcome)).toEqual(Array(STARTS).fill("success"));
  expect(runs.filter((_, nth) => site.has(`ran-${nth}.txt`))).toHaveLength(STARTS);
  const files = readdirSync(site.home, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json") || name.includes(".json."))
    .filter((name) => !name.startsWith(join(".local", "state")));
  expect(files).toContain(".claude.json");
  const broken = files.filter((name) => !isJson(readFileSync(join(site.home, name), "utf8")));
  expect(broken).toEqual([]);
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
