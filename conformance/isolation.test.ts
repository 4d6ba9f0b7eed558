// Nothing ambient gets in, and the agent does not get at what guards it, on the real CLIs. Each plant is first shown to work with
// the bare CLI, or without the protection.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { resolveNativeBinary } from "./binaries.ts";
import { denyWhen, guardTools } from "./support/guards.ts";
import {
  ALL,
  CLAUDE,
  CODEX,
  CODEX_CODE_MODE,
  type Column,
  type GuardedRun,
  runGuarded,
  runUnguarded,
  type Site,
  shell,
  TOOL_PATH,
  touch,
} from "./support/harness.ts";
import { runRawCli } from "./support/raw-cli.ts";

function plant(path: string, content: string | object): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
}

/** Hooks that leave a file named after the place they were planted in. */
function firing(site: Site, place: string): object {
  const hook = { hooks: [{ type: "command", command: `touch '${site.notes}/fired-${place}'` }] };
  return { SessionStart: [hook], PreToolUse: [hook] };
}

const fired = (site: Site): string[] => readdirSync(site.notes).filter((name) => name.startsWith("fired-"));

function plantClaude(site: Site): void {
  const { home, project } = site;
  const marketplace = join(site.root, "marketplace");
  plant(join(marketplace, ".claude-plugin", "marketplace.json"), {
    name: "planted",
    owner: { name: "planted" },
    plugins: [{ name: "planted", source: "./plugin", description: "planted" }],
  });
  const manifest = { name: "planted", version: "1.0.0", description: "planted" };
  plant(join(marketplace, "plugin", ".claude-plugin", "plugin.json"), manifest);
  plant(join(marketplace, "plugin", "hooks", "hooks.json"), { hooks: firing(site, "plugin") });
  plant(join(home, ".claude", "settings.json"), { hooks: firing(site, "user") });
  plant(join(home, ".claude.json"), { projects: { [project]: { hasTrustDialogAccepted: true } } });
  plant(join(project, ".claude", "settings.json"), { hooks: firing(site, "project") });
  plant(join(project, ".claude", "settings.local.json"), { hooks: firing(site, "local") });
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

function hooksToml(site: Site, place: string): string {
  const command = JSON.stringify(`touch '${site.notes}/fired-${place}'`);
  return ["SessionStart", "PreToolUse"]
    .map((event) => `[[hooks.${event}]]\n[[hooks.${event}.hooks]]\ntype = "command"\ncommand = ${command}\n`)
    .join("\n");
}

function plantCodex(site: Site): void {
  const { home, project } = site;
  const trust = `[projects.${JSON.stringify(project)}]\ntrust_level = "trusted"\n`;
  plant(join(home, ".codex", "config.toml"), `${trust}\n${hooksToml(site, "user-config")}`);
  plant(join(home, ".codex", "hooks.json"), { hooks: firing(site, "user-hooks") });
  plant(join(project, ".codex", "config.toml"), hooksToml(site, "project-config"));
  plant(join(project, ".codex", "hooks.json"), { hooks: firing(site, "project-hooks") });
}

const PLACES = [
  {
    column: CLAUDE,
    mode: "claude",
    plantAll: plantClaude,
    fires: ["fired-local", "fired-plugin", "fired-project", "fired-user"],
    warned: [".claude/settings.json", "project/.claude/settings.json", "project/.claude/settings.local.json"],
  },
  {
    column: CODEX,
    mode: "codex",
    plantAll: plantCodex,
    fires: ["fired-project-config", "fired-project-hooks", "fired-user-config", "fired-user-hooks"],
    warned: [
      "home/.codex/config.toml",
      "home/.codex/hooks.json",
      "project/.codex/config.toml",
      "project/.codex/hooks.json",
    ],
  },
];

describe.each(PLACES)("$mode: ambient hooks", ({ column, plantAll, fires, warned }) => {
  const script = (site: Site) => [{ tools: [touch(site, "happened.txt")] }];
  const prepare = (site: Site) => {
    execFileSync("git", ["init", "--quiet", site.project]);
    plantAll(site);
  };

  it("of every place stay out, and what is left out is said", async () => {
    const run = await runGuarded({ column, script, prepare, declaration: guardTools("cat >/dev/null") });
    expect(run.result.outcome).toBe("success");
    expect(run.site.has("happened.txt")).toBe(true);
    expect(fired(run.site)).toEqual([]);
    expect(run.result.foreignHooks).toEqual([]);
    const dropped = run.result.warnings.filter(({ code }) => code === "ambient_dropped");
    expect(run.events).toContainEqual(expect.objectContaining({ type: "warning", code: "ambient_dropped" }));
    for (const place of warned)
      expect(dropped.some(({ message }) => message.includes(place) && message.includes("hooks"))).toBe(true);

    await runRawCli(column, run.site, script(run.site));
    expect(fired(run.site).sort()).toEqual(fires);
  });
});

describe.each(ALL)("$mode: variables that disarm hooks", (column) => {
  it("do not get through, in whatever environment the supervisor lives", async () => {
    const run = await runGuarded({
      column,
      script: (site) => [{ tools: [touch(site, "forbidden.txt")] }],
      declaration: guardTools(denyWhen("forbidden")),
      prepare: (site) => plant(`${site.root}/disarm.sh`, `touch '${site.notes}/fired-bash-env'\nexit 0\n`),
      baseEnv: (site) => ({
        BASH_ENV: `${site.root}/disarm.sh`,
        ENV: `${site.root}/disarm.sh`,
        CLAUDE_CODE_SIMPLE: "1",
        CLAUDE_CODE_SAFE_MODE: "1",
        CODEX_NON_INTERACTIVE: "1",
      }),
    });
    expect(run.site.has("forbidden.txt")).toBe(false);
    expect(run.result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
    expect(fired(run.site)).toEqual([]);
  });
});

describe("claude: ambient rules that only narrow", () => {
  const spec = {
    column: CLAUDE,
    script: (site: Site) => [{ tools: [touch(site, "forbidden.txt")] }],
    prepare: (site: Site) =>
      plant(join(site.home, ".claude", "settings.json"), { permissions: { deny: ["Bash(touch:*)"] } }),
  };

  it("are kept", async () => {
    const run = await runUnguarded(spec);
    expect(run.site.has("forbidden.txt")).toBe(false);
  });

  it("are left out when the caller says so, and that is said", async () => {
    const run = await runUnguarded({ ...spec, options: () => ({ admit: { denyRules: false } }) });
    expect(run.site.has("forbidden.txt")).toBe(true);
    expect(run.result.warnings).toMatchObject([
      { code: "ambient_dropped", message: expect.stringContaining("1 deny rule(s) do not apply") },
    ]);
  });
});

describe("codex: ambient rules", () => {
  const run = (decision: string) =>
    runUnguarded({
      column: CODEX,
      script: (site: Site) => [{ tools: [touch(site, "forbidden.txt")] }],
      prepare: (site: Site) =>
        plant(
          join(site.home, ".codex", "rules", "ours.rules"),
          `prefix_rule(pattern = ["touch"]${decision}, justification = "no touching")\n`,
        ),
    });

  it("that only narrow are kept", async () => {
    const { site } = await run(', decision = "forbidden"');
    expect(site.has("forbidden.txt")).toBe(false);
  });

  it("that allow anything are left out, and that is said", async () => {
    const { site, result } = await run("");
    expect(site.has("forbidden.txt")).toBe(true);
    expect(result.warnings).toMatchObject([
      { code: "ambient_dropped", message: expect.stringContaining("its rules do not apply") },
    ]);
  });
});

it.each(ALL)("$mode: skills of the user and the project are not told to the model", async (column) => {
  const folders = [".agents", ".codex", ".claude"];
  const skill = "---\nname: planted\ndescription: WORDS-OF-A-SKILL\n---\nWORDS-OF-A-SKILL\n";
  const run = await runUnguarded({
    column,
    script: () => [{}],
    prepare: (site: Site) => {
      for (const root of [site.home, site.project])
        for (const folder of folders) plant(join(root, folder, "skills", "planted", "SKILL.md"), skill);
    },
  });
  expect(run.result.outcome).toBe("success");
  expect(JSON.stringify(run.server.requests)).not.toContain("WORDS-OF-A-SKILL");
});

describe.each(ALL)("$mode: the project's instructions", (column) => {
  const name = column === CLAUDE ? "CLAUDE.md" : "AGENTS.md";
  const spec = {
    column,
    script: () => [],
    prepare: (site: Site) => plant(site.at(name), "WORDS-OF-THE-PROJECT\n"),
  };
  const wasTold = (run: GuardedRun) => JSON.stringify(run.server.requests).includes("WORDS-OF-THE-PROJECT");

  it("reach the model as text", async () => {
    expect(wasTold(await runUnguarded(spec))).toBe(true);
  });

  it("stay out when the caller says so, and that is said", async () => {
    const run = await runUnguarded({ ...spec, options: () => ({ admit: { instructions: "none" } }) });
    expect(wasTold(run)).toBe(false);
    expect(run.result.warnings).toMatchObject([
      { code: "ambient_dropped", message: expect.stringContaining(name) },
    ]);
  });
});

describe.each([CODEX, CODEX_CODE_MODE])("$mode: a .env with BASH_ENV in the user's home", (column) => {
  it("has no effect", async () => {
    const script = (site: Site) => [{ tools: [touch(site, "forbidden.txt")] }];
    const prepare = (site: Site) => {
      plant(join(site.home, ".codex", ".env"), `BASH_ENV=${site.root}/disarm.sh\n`);
      plant(`${site.root}/disarm.sh`, `touch '${site.notes}/fired-bash-env'\nexit 0\n`);
    };
    const run = await runGuarded({ column, script, prepare, declaration: guardTools(denyWhen("forbidden")) });
    expect(run.site.has("forbidden.txt")).toBe(false);
    expect(run.result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
    expect(fired(run.site)).toEqual([]);

    await runRawCli(column, run.site, script(run.site));
    expect(fired(run.site)).toEqual(["fired-bash-env"]);
  });
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

describe.each(ALL)("$mode: an agent without a sandbox", (column: Column) => {
  const overwrite = (site: Site, shim: string) =>
    shell(
      `for shim in '${site.state}'/run/*/s/shim; do chmod u+w "$shim"; printf '%s\\n' '${shim}' > "$shim"; done`,
    );
  const script = (shim: string) => (site: Site) => [
    { tools: [overwrite(site, shim)] },
    { tools: [touch(site, "forbidden.txt")] },
  ];
  const declaration = guardTools(denyWhen("forbidden.txt"));
  const expectUnenforced = (run: GuardedRun) => {
    expect(run.result.outcome).toBe("unenforced");
    expect(run.result.reason).toMatch(/tampered|shim/);
  };

  it("that overwrites the shim ends the run as unenforced, and later calls do not run", async () => {
    const run = await runGuarded({ column, script: script("exit 0"), declaration });
    expectUnenforced(run);
    expect(run.site.has("forbidden.txt")).toBe(false);

    const harmless = (site: Site) => [{ tools: [shell("true")] }, { tools: [touch(site, "forbidden.txt")] }];
    const control = await runUnguarded({ column, script: harmless });
    expect(control.site.has("forbidden.txt")).toBe(true);
  });

  it("that knows what an admitting shim says is found out before it gets far", async () => {
    const long = (site: Site) => [
      ...script("exit 90")(site),
      { tools: [shell(`sleep 0.5; touch '${site.at("later.txt")}'`)] },
    ];
    const run = await runGuarded({ column, script: long, declaration });
    expectUnenforced(run);
    expect(run.site.has("later.txt")).toBe(false);
  });
});
