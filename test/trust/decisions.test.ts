// The decisions that settings, import and trust rest on (ADR-0048 D6 and D7), each in its own words.

import { copyFile, cp, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { compileAgentHooks, importFiles, loadSettings, revoke } from "../../src/index.ts";
import { codesOf, group, issuesOf, makeWorld, type World } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.remove());

const IMPORTED = { source: "imported:claude" };

/** A project whose one entry was imported. */
async function importOne(event = "PreToolUse", command = ["./g.sh"]) {
  await world.guard("project", "g.sh");
  await world.declare("project", { [event]: [group(command, IMPORTED)] });
}

describe("D6, config surface and import:", () => {
  test("a `hooks_external:` block in the harness shape is read from global and project settings", async () => {
    await world.guard("home", "u.sh");
    await world.guard("project", "p.sh");
    await world.declare("home", { PreToolUse: [group(["./u.sh"], { matcher: "bash|shell" })] });
    await world.declare("project", { UserPromptSubmit: [group(["./p.sh"])] });
    const { declaration } = await world.load();
    expect(JSON.parse(JSON.stringify(declaration))).toEqual({
      PreToolUse: [group(["./u.sh"], { matcher: "bash|shell" })],
      UserPromptSubmit: [group(["./p.sh"])],
    });
  });

  test("the block name is `hooks_external`, not `hooks`; the legacy shape keeps working and both may coexist in one file", async () => {
    const legacy = 'hooks: { pre: { bash: "x" }, post: {}, on_error: {} }\n';
    await world.put(
      "project",
      ".lionagi/settings.yaml",
      `${legacy}hooks_external: { Stop: [{ hooks: [{ type: command, command: [node, --version] }] }] }\n`,
    );
    expect(Object.keys((await world.load()).declaration)).toEqual(["Stop"]);
  });

  test("`type` is required; an unknown `type` is a load-time error naming the value", async () => {
    await world.put(
      "project",
      ".lionagi/settings.yaml",
      "hooks_external: { Stop: [{ hooks: [{ type: telepathy }, { command: [a] }] }] }\n",
    );
    const issues = await issuesOf(world.load());
    expect(issues.map(({ code }) => code)).toEqual(["handler_type_unsupported", "handler_type_unsupported"]);
    expect(issues[0]?.message).toContain('"telepathy"');
  });

  test.each(["Setup", "Nope"])(
    "an unmappable event name (%s) refuses to load, naming event and file",
    async (event) => {
      const file = await world.declare("project", { [event]: [group(["node"])] });
      const [issue] = await issuesOf(world.load());
      expect(issue?.path).toBe(`${file}: ${event}`);
      expect(issue?.message).toContain("no seam");
    },
  );

  test("import, not live-read: a foreign config has no effect until import runs, and none again until it runs again", async () => {
    const claude = (program: string) =>
      JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command: program }] }] } });
    await world.put("project", ".claude/settings.json", claude("node --version"));
    expect((await world.load()).origins.size).toBe(0);
    await importFiles({
      provider: "claude",
      paths: [join(world.project, ".claude/settings.json")],
      cwd: world.project,
      home: world.home,
      write: true,
    });
    const imported = JSON.stringify((await world.load()).declaration);
    expect(imported).toContain("--version");
    await world.put("project", ".claude/settings.json", claude("node --help"));
    expect(JSON.stringify((await world.load()).declaration)).toBe(imported);
  });

  test("entries concatenate: project entries run after global entries for the same event", async () => {
    for (const where of ["home", "project"] as const) {
      await world.guard(where, "g.sh");
      await world.declare(where, { Stop: [group(["./g.sh", where])] });
    }
    const { entries } = await world.plan();
    expect(entries.map((entry) => entry.type === "command" && entry.argv)).toEqual([
      [join(world.home, "g.sh"), "home"],
      [join(world.project, "g.sh"), "project"],
    ]);
  });

  test.each(["hooks_external: {}\n", "hooks_external: { Stop: [] }\n", "hooks_external: { Stop: null }\n"])(
    "project may not silently delete a global entry (%j)",
    async (text) => {
      await world.declare("home", { Stop: [group(["node", "--version"])] });
      await world.put("project", ".lionagi/settings.yaml", text);
      const loaded = await world.load().then(
        ({ declaration }) => declaration.Stop,
        (refusal: unknown) => refusal,
      );
      // Either the entry is there, or the file is refused aloud.
      expect(loaded).toEqual(
        text.includes("{}")
          ? [group(["node", "--version"])]
          : expect.objectContaining({ name: "AgentHooksRefused" }),
      );
    },
  );
});

describe("D7, trust:", () => {
  test("project-committed: trusted as code", async () => {
    await world.guard("project", "g.sh");
    await world.declare("project", { PreToolUse: [group(["./g.sh"])] });
    expect((await world.compile()).describe().hooks).toMatchObject([{ tier: "project", trust: "own" }]);
  });

  test("user-global: trusted, the user wrote it on their own machine", async () => {
    await world.guard("home", "g.sh");
    await world.declare("home", { PreToolUse: [group(["./g.sh"])] });
    expect((await world.compile()).describe().hooks).toMatchObject([{ tier: "user", trust: "own" }]);
  });

  test("imported: requires an explicit trust record before first execution", async () => {
    await importOne();
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
    await world.approveAll();
    expect((await world.compile()).describe().hooks).toMatchObject([
      { tier: "imported", source: "imported:claude", trust: "trusted" },
    ]);
  });

  test("plugin-bundled: requires an explicit trust record before first execution", async () => {
    await world.guard("plugin", "g.sh");
    await world.declare("plugin", { PreToolUse: [group(["{plugin_root}/g.sh"])] });
    const plugins = [world.plugin];
    expect(await codesOf(world.compile({ plugins }))).toEqual(["command_untrusted"]);
    await world.approveAll({ plugins });
    expect((await world.compile({ plugins })).describe().hooks).toMatchObject([
      { tier: "plugin", trust: "trusted" },
    ]);
  });

  test("the record pins `sha256(json.dumps(argv))` per hook command, in `trusted_hook_commands: [<hash>, …]`", async () => {
    await importOne("PreToolUse", ["./g.sh", "gérard"]);
    const [hash] = await world.approveAll();
    expect(await world.read("home")).toContain(`trusted_hook_commands:\n  - ${hash}\n`);
  });

  test("blocking events fail closed with a diagnostic naming the untrusted command", async () => {
    await importOne("UserPromptSubmit");
    const [issue] = await issuesOf(world.compile());
    expect(issue).toMatchObject({
      code: "command_untrusted",
      message: expect.stringContaining('["./g.sh"]'),
    });
  });

  test.each(["PostToolUse", "SessionStart", "Stop", "agent_exit"])(
    "advisory events (%s) skip with a warning",
    async (event) => {
      await importOne(event);
      const hooks = (await world.compile()).describe();
      expect(hooks.hooks).toEqual([]);
      expect(hooks.skipped).toMatchObject([{ event, tier: "imported", trust: "untrusted" }]);
      expect(hooks.warnings).toMatchObject([
        { code: "command_untrusted", message: expect.stringContaining('["./g.sh"]') },
      ]);
    },
  );

  test("advisory events skip with a warning, a changed script's too", async () => {
    await importOne("PostToolUse");
    await world.approveAll();
    await world.guard("project", "g.sh", "exit 1");
    const hooks = (await world.compile()).describe();
    expect(hooks.skipped).toMatchObject([{ trust: "changed" }]);
    expect(hooks.warnings).toMatchObject([{ code: "command_changed" }]);
  });

  test("a changed argv changes the hash and re-enters pending state", async () => {
    await importOne();
    await world.approveAll();
    await world.declare("project", { PreToolUse: [group(["./g.sh", "--off"], IMPORTED)] });
    expect(await world.pending()).toMatchObject([{ command: ["./g.sh", "--off"], state: "untrusted" }]);
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
  });

  test("an update to a plugin's hook is a new approval", async () => {
    await world.guard("plugin", "g.sh");
    await world.declare("plugin", { PreToolUse: [group(["{plugin_root}/g.sh"])] });
    const plugins = [world.plugin];
    await world.approveAll({ plugins });
    await world.guard("plugin", "g.sh", "exit 0 # version 2");
    expect(await codesOf(world.compile({ plugins }))).toEqual(["command_changed"]);
  });

  test("no bypass flag: nothing but a record makes an untrusted command run", async () => {
    await importOne();
    const { declaration, origins } = await world.load();
    const attempts = [
      { trusted: true },
      { bypassTrust: true },
      { trust: { home: world.home, bypass: true } },
    ];
    for (const attempt of attempts) {
      const options = { provider: "claude", cwd: world.project, origins, binary: world.binary, prove: "off" };
      const work = compileAgentHooks(declaration, {
        trust: { home: world.home },
        ...options,
        ...attempt,
      } as never);
      expect(await codesOf(work)).toEqual(["command_untrusted"]);
    }
  });
});

describe("tiers follow provenance, never location:", () => {
  test.each(["home", "project"] as const)(
    "an imported entry inside the %s file is still imported",
    async (where) => {
      await world.guard(where, "g.sh");
      await world.declare(where, { PreToolUse: [group(["./g.sh"], IMPORTED)] });
      const { origins } = await world.load();
      expect([...origins.values()]).toMatchObject([{ tier: "imported", source: "imported:claude" }]);
      expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
    },
  );

  test("an imported entry in a declaration without origins is still imported", async () => {
    await importOne();
    const work = compileAgentHooks(
      { PreToolUse: [group(["./g.sh"], IMPORTED)] },
      {
        provider: "claude",
        cwd: world.project,
        trust: { home: world.home },
        binary: world.binary,
        prove: "off",
      },
    );
    expect(await codesOf(work)).toEqual(["command_untrusted"]);
  });

  test("a plugin's entry in a declaration that is passed on without its origins is still a plugin's", async () => {
    await world.guard("plugin", "g.sh");
    await world.declare("plugin", { PreToolUse: [group(["./g.sh"])] });
    const { declaration } = await world.load({ plugins: [world.plugin] });
    const work = compileAgentHooks(declaration, {
      provider: "claude",
      cwd: world.project,
      trust: { home: world.home },
      binary: world.binary,
      prove: "off",
    });
    expect(await codesOf(work)).toEqual(["command_untrusted"]);
  });

  test("moving an entry into a fragment, or into the user's file, changes no tier", async () => {
    await importOne();
    const settings = join(world.project, ".lionagi/settings.yaml");
    await mkdir(join(world.project, ".lionagi/hooks"));
    await rename(settings, join(world.project, ".lionagi/hooks/mine.yaml"));
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
    await mkdir(join(world.home, ".lionagi"));
    await world.guard("home", "g.sh");
    await rename(join(world.project, ".lionagi/hooks/mine.yaml"), join(world.home, ".lionagi/settings.yaml"));
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
  });

  test("merging imported entries with the project's own changes no tier", async () => {
    await world.guard("project", "g.sh");
    await world.guard("project", "own.sh");
    await world.declare("project", { PreToolUse: [group(["./own.sh"]), group(["./g.sh"], IMPORTED)] });
    const { origins } = await world.load();
    expect([...origins.values()].map(({ tier }) => tier)).toEqual(["project", "imported"]);
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
  });

  test("committing changes no tier: a copy of the checkout has the same", async () => {
    await importOne();
    const clone = join(world.root, "clone");
    await cp(world.project, clone, { recursive: true });
    const { origins } = await loadSettings({ cwd: clone, home: world.home });
    expect([...origins.values()].map(({ tier }) => tier)).toEqual(["imported"]);
  });

  test("moving a plugin's entry into a project by hand makes it the project's, for then it is the project's word", async () => {
    await world.guard("plugin", "g.sh");
    const file = await world.declare("plugin", { PreToolUse: [group(["./g.sh"])] });
    await world.guard("project", "g.sh");
    await mkdir(join(world.project, ".lionagi"));
    await copyFile(file, join(world.project, ".lionagi/settings.yaml"));
    const { origins } = await world.load({ plugins: [world.plugin] });
    expect([...origins.values()].map(({ tier }) => tier)).toEqual(["project", "plugin"]);
  });

  test("removing the `source` field is the only promotion", async () => {
    await importOne();
    const file = join(world.project, ".lionagi/settings.yaml");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/^.*source:.*\n/m, ""));
    expect((await world.compile()).describe().hooks).toMatchObject([{ tier: "project", trust: "own" }]);
  });
});

describe("a pin", () => {
  test("does not carry over to another script of the same argv elsewhere", async () => {
    await importOne();
    await world.approveAll();
    const other = join(world.root, "other");
    await mkdir(join(other, ".lionagi"), { recursive: true });
    await copyFile(join(world.project, ".lionagi/settings.yaml"), join(other, ".lionagi/settings.yaml"));
    await writeFile(join(other, "g.sh"), "#!/bin/sh\nexit 0 # another's\n", { mode: 0o755 });
    const { declaration, origins } = await loadSettings({ cwd: other, home: world.home });
    const work = compileAgentHooks(declaration, {
      provider: "claude",
      cwd: other,
      origins,
      trust: { home: world.home },
      binary: world.binary,
      prove: "off",
    });
    expect(await codesOf(work)).toEqual(["command_untrusted"]);
  });

  test("holds the script behind an interpreter, a changed one is pending again", async () => {
    await world.put("project", "guards/g.mjs", "");
    await world.declare("project", { PreToolUse: [group(["node", "guards/g.mjs"], IMPORTED)] });
    await world.approveAll();
    expect((await world.compile()).describe().hooks).toHaveLength(1);
    await world.put("project", "guards/g.mjs", "process.exit(0)");
    expect(await codesOf(world.compile())).toEqual(["command_changed"]);
    expect(await world.pending()).toMatchObject([{ state: "changed" }]);
  });

  test("holds the entry's variables: NODE_OPTIONS would run another program under the same argv", async () => {
    await world.guard("project", "g.sh");
    await world.declare("project", { PreToolUse: [group(["./g.sh"], { ...IMPORTED, env: { A: "1" } })] });
    await world.approveAll();
    expect((await world.compile()).describe().hooks).toHaveLength(1);
    await world.declare("project", {
      PreToolUse: [group(["./g.sh"], { ...IMPORTED, env: { NODE_OPTIONS: "--import=./x.mjs" } })],
    });
    expect(await codesOf(world.compile())).toEqual(["command_changed"]);
  });

  test("that is revoked is gone with its files", async () => {
    await importOne();
    const hashes = await world.approveAll();
    expect(await revoke(hashes, { home: world.home })).toEqual(hashes);
    expect(await world.read("home")).not.toContain("trusted_hook");
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
  });

  test("in a record that holds no content trusts no script", async () => {
    await importOne();
    const hash = (await world.pending())[0]?.hash;
    await world.put("home", ".lionagi/settings.yaml", `trusted_hook_commands: [${hash}]\n`);
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
  });

  test("of a script counts for the command it was trusted with, and for no other", async () => {
    await importOne();
    await world.approveAll();
    await world.declare("project", { PreToolUse: [group(["./g.sh", "--off"], IMPORTED)] });
    const hash = (await world.pending())[0]?.hash;
    const text = await world.read("home");
    await world.put(
      "home",
      ".lionagi/settings.yaml",
      text.replace("commands:\n", `commands:\n  - ${hash}\n`),
    );
    expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
  });

  test("of a command that names no file is its argv alone", async () => {
    await world.declare("project", { PreToolUse: [group(["node", "--version"], IMPORTED)] });
    const [pending] = await world.pending();
    expect(pending?.files).toEqual([]);
    await world.put("home", ".lionagi/settings.yaml", `trusted_hook_commands: [${pending?.hash}]\n`);
    expect((await world.compile()).describe().hooks).toMatchObject([{ trust: "trusted" }]);
  });
});
