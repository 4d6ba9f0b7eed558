// A machine's own policy wins over everybody: where it switches our hooks off, the run is refused and never goes on unguarded.
// Plants files below /etc for a moment, so it needs root and a machine without such files, and runs alone.

import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { DENY, guardTools } from "./support/guards.ts";
import {
  CLAUDE,
  CODEX,
  type Column,
  type GuardedRun,
  makeSite,
  runGuarded,
  type Site,
  touch,
} from "./support/harness.ts";

const MANAGED_SETTINGS = "/etc/claude-code/managed-settings.json";
const REQUIREMENTS = "/etc/codex/requirements.toml";
const FOLDERS = [MANAGED_SETTINGS, REQUIREMENTS].map(dirname);
const canPlant =
  process.platform === "linux" && process.getuid?.() === 0 && !FOLDERS.some((folder) => existsSync(folder));

const script = (site: Site) => [{ tools: [touch(site, "happened.txt")] }];

async function withPolicy<T>(file: string, content: string, run: () => Promise<T>): Promise<T> {
  const folder = dirname(file);
  mkdirSync(folder);
  try {
    writeFileSync(file, content, { flag: "wx" });
    return await run();
  } finally {
    rmSync(file, { force: true });
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  }
}

function expectRefused(run: GuardedRun, exits: readonly string[]): void {
  // One for each rendered event, the canary's included.
  expect(new Set(run.refusal?.issues.map(({ code }) => code))).toEqual(new Set(["provider_policy"]));
  expect(run.server.modelCalls).toBe(0);
  expect(run.site.has("happened.txt")).toBe(false);
  expect(exits).toEqual(["refused"]);
}

interface Policy extends Column {
  readonly file: string;
  readonly name: string;
  readonly content: string;
}

const managed = (settings: object) => JSON.stringify(settings);

const OFF: readonly Policy[] = [
  { ...CLAUDE, file: MANAGED_SETTINGS, name: "disableAllHooks", content: managed({ disableAllHooks: true }) },
  {
    ...CLAUDE,
    file: MANAGED_SETTINGS,
    name: "allowManagedHooksOnly",
    content: managed({ allowManagedHooksOnly: true }),
  },
  { ...CODEX, file: REQUIREMENTS, name: "features.hooks = false", content: "[features]\nhooks = false\n" },
  {
    ...CODEX,
    file: REQUIREMENTS,
    name: "allow_managed_hooks_only",
    content: "allow_managed_hooks_only = true\n",
  },
];

describe("a policy of the machine (root on Linux, nothing in /etc/claude-code and /etc/codex)", () => {
  it.runIf(canPlant).each(OFF)("$mode: $name refuses the run", async ({ file, content, ...column }) => {
    const exits: string[] = [];
    const run = await withPolicy(file, content, () =>
      runGuarded({
        column,
        script,
        declaration: (site) => ({
          ...guardTools(DENY)(site),
          agent_exit: [
            { hooks: [{ type: "function", handler: ({ outcome }) => void exits.push(String(outcome)) }] },
          ],
        }),
      }),
    );
    expectRefused(run, exits);
  });

  it.runIf(canPlant)("claude: hooks of its own run beside ours and are told", async () => {
    const site = makeSite();
    const hook = { hooks: [{ type: "command", command: `echo fired >> '${site.notes}/fired-managed'` }] };
    const content = managed({ hooks: { PreToolUse: [hook] } });
    const run = await withPolicy(MANAGED_SETTINGS, content, () =>
      runGuarded({ column: CLAUDE, site, script, declaration: guardTools(DENY) }),
    );
    expect(run.result.outcome).toBe("success");
    expect(run.result.foreignHooks).toEqual([{ event: "PreToolUse", source: "policySettings" }]);
    expect(run.result.warnings).toContainEqual(expect.objectContaining({ code: "ends_not_counted" }));
    expect(site.note("fired-managed")).toBe("fired\n");
    expect(site.has("happened.txt")).toBe(false);
  });
});
