// What keeps the ambient out and the agent away from what guards it, where it cannot be said as data: a plugin has to be installed by
// the CLI itself, and not every host lets codex build its sandbox. The rest is in `matrix/70-isolation.yaml`.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { resolveNativeBinary } from "./binaries.ts";
import { denyWhen, guardTools } from "./support/guards.ts";
import {
  CLAUDE,
  CODEX,
  CODEX_CODE_MODE,
  runGuarded,
  type Site,
  shell,
  TOOL_PATH,
  touch,
} from "./support/harness.ts";
import { runRawCli } from "./support/raw-cli.ts";

function plant(path: string, content: object): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(content));
}

const fired = (site: Site): string[] => readdirSync(site.notes).filter((name) => name.startsWith("fired-"));

function installPlugin(site: Site): void {
  const { home, project } = site;
  const marketplace = join(site.root, "marketplace");
  plant(join(marketplace, ".claude-plugin", "marketplace.json"), {
    name: "planted",
    owner: { name: "planted" },
    plugins: [{ name: "planted", source: "./plugin", description: "planted" }],
  });
  const manifest = { name: "planted", version: "1.0.0", description: "planted" };
  plant(join(marketplace, "plugin", ".claude-plugin", "plugin.json"), manifest);
  const hook = { hooks: [{ type: "command", command: `touch '${site.notes}/fired-plugin'` }] };
  plant(join(marketplace, "plugin", "hooks", "hooks.json"), { hooks: { PreToolUse: [hook] } });
  for (const words of [
    ["marketplace", "add", marketplace],
    ["install", "planted@planted"],
  ]) {
    execFileSync(resolveNativeBinary("claude"), ["plugin", ...words], {
      cwd: project,
      env: { PATH: TOOL_PATH, HOME: home, TMPDIR: site.tmp, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
    });
  }
}

it("claude: a plugin's hooks stay out", async () => {
  const script = (site: Site) => [{ tools: [touch(site, "happened.txt")] }];
  const declaration = guardTools("cat >/dev/null");
  const run = await runGuarded({ column: CLAUDE, script, prepare: installPlugin, declaration });
  expect(run.result).toMatchObject({ outcome: "success", foreignHooks: [] });
  expect(run.site.has("happened.txt")).toBe(true);
  expect(fired(run.site)).toEqual([]);

  await runRawCli(CLAUDE, run.site, script(run.site));
  expect(fired(run.site)).toEqual(["fired-plugin"]);
});

/** Tries everything a shell can on the run directory, and leaves a file when it is through. */
const tamper = (site: Site, shim: string) =>
  shell(
    [
      `for dir in '${site.state}'/run/*/; do`,
      `chmod -R u+w "$dir"; printf '%s\\n' '#!/bin/sh' '${shim}' > "$dir/s/shim"; echo x > "$dir/planted";`,
      `rm "$dir/q"; mv "$dir" "\${dir%/}-gone"; done 2>'${site.at("complaints.txt")}';`,
      `touch '${site.at("tried.txt")}'`,
    ].join(" "),
  );

const tamperScript = (shim: string) => (site: Site) => [
  { tools: [tamper(site, shim)] },
  { tools: [touch(site, "forbidden.txt")] },
  { tools: [touch(site, "later.txt")] },
];

describe.each([CODEX, CODEX_CODE_MODE])("$mode: an agent in its sandbox", (column) => {
  it.skipIf(!canSandbox())("cannot reach the shim or the run directory, and later denials hold", async () => {
    const run = await runGuarded({
      column,
      script: tamperScript("exit 90"),
      declaration: guardTools(denyWhen("forbidden.txt")),
      options: () => ({ sandbox: "workspace-write" }),
    });
    const complaints = readFileSync(run.site.at("complaints.txt"), "utf8");
    expect(complaints).toMatch(
      /s\/shim: (?:Read-only file system|Permission denied|Operation not permitted)/,
    );
    expect(run.site.has("tried.txt")).toBe(true);
    expect(run.site.has("forbidden.txt")).toBe(false);
    expect(run.site.has("later.txt")).toBe(true);
    expect(run.result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
  });
});

function canSandbox(): boolean {
  if (process.platform !== "linux") return process.platform === "darwin";
  try {
    execFileSync("unshare", ["--user", "--map-root-user", "--mount", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
