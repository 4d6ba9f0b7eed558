// The import of a project: what is found, what is written, that a second import changes nothing, and that a fault loses nothing.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { exitCodeOfImport, formatImport } from "../../src/cli/import.ts";
import { type ImportOptions, importFiles } from "../../src/import/import-files.ts";
import type { ReportEntry } from "../../src/import/report-types.ts";
import { AgentHooksRefused, loadDeclaration } from "../../src/index.ts";

let base: string;
let project: string;
let home: string;
let settings: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "bridle-import-"));
  project = join(base, "project");
  home = join(base, "home");
  settings = join(project, ".lionagi", "settings.yaml");
  await mkdir(join(project, ".git"), { recursive: true });
  await mkdir(home);
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function put(path: string, content: unknown): Promise<string> {
  const file = path.startsWith("/") ? path : join(project, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  return file;
}
const run = (options: Partial<ImportOptions> = {}) =>
  importFiles({ provider: "claude", cwd: project, home, env: { PATH: "/usr/bin:/bin" }, ...options });
const hook = (command: string, more: object = {}) => ({ type: "command", command, ...more });
const stop = (...hooks: object[]) => ({ hooks: { Stop: [{ hooks }] } });
const all = ({ files }: Awaited<ReturnType<typeof run>>): ReportEntry[] =>
  files.flatMap(({ entries }) => [...entries]);
const text = () => readFileSync(settings, "utf8");

describe("without --write", () => {
  test("nothing is made", async () => {
    await put(".claude/settings.json", stop(hook("ls -a")));
    expect(await run()).toMatchObject({
      counts: { entries: 1, imported: 1, rejected: 0, note: 0 },
      written: [],
    });
    expect(readdirSync(project).sort()).toEqual([".claude", ".git"]);
  });

  test("a settings file that is malformed is told", async () => {
    await put(".claude/settings.json", stop(hook("ls")));
    await put(settings, "a: [\n");
    await expect(run()).rejects.toThrow(AgentHooksRefused);
  });
});

describe("with --write", () => {
  test("the entries are appended with where they came from, and load", async () => {
    await put(".claude/settings.json", {
      hooks: {
        PreToolUse: [{ matcher: "Bash", hooks: [hook("node 'my guard.mjs'", { timeout: 7 })] }],
        Stop: [{ hooks: [hook("ls")] }],
      },
    });
    await put(
      settings,
      "# mine\nother:   kept\nhooks_external:\n  Stop:\n    - hooks:\n        - {type: command, command: [pwd]} # first\n",
    );
    const report = await run({ write: true });
    expect(report.written).toEqual([settings]);
    expect(text()).toBe(`# mine
other:   kept
hooks_external:
  Stop:
    - hooks:
        - {type: command, command: [pwd]} # first
    # .claude/settings.json:18 hooks.Stop[0].hooks[0]
    - hooks:
        - type: command
          command: [ls]
          source: imported:claude
  PreToolUse:
    # .claude/settings.json:7 hooks.PreToolUse[0].hooks[0]
    - matcher: Bash
      hooks:
        - type: command
          command: [node, my guard.mjs]
          timeout: 7
          source: imported:claude
`);
    const { declaration } = await loadDeclaration(settings);
    expect(declaration.PreToolUse?.[0]?.hooks[0]).toMatchObject({ source: "imported:claude" });
  });

  test("a second import changes nothing and says so", async () => {
    await put(".claude/settings.json", stop(hook("ls"), hook("ls"), hook("a | b")));
    const first = await run({ write: true, wrap: true });
    expect(all(first).map(({ verdict }) => verdict)).toEqual(["imported", "note", "imported"]);
    const before = text();
    const { ino } = statSync(settings);
    const second = await run({ write: true, wrap: true });
    expect(all(second).map(({ reason }) => reason)).toEqual(Array(3).fill("already imported"));
    expect(second.written).toEqual([]);
    expect([text(), statSync(settings).ino]).toEqual([before, ino]);
  });

  test("an entry that was promoted, or given another timeout, is not added again", async () => {
    await put(".claude/settings.json", stop(hook("ls", { timeout: 9 })));
    await run({ write: true });
    await writeFile(
      settings,
      text()
        .replace("timeout: 9", "timeout: 4")
        .replace(/ *source: .*\n/, ""),
    );
    expect(all(await run({ write: true }))).toMatchObject([
      { verdict: "note", reason: "already imported; its timeout there differs and was kept" },
    ]);
  });

  test("what is rejected is not written, and the exit code says so", async () => {
    await put(".claude/settings.json", stop(hook("a | b"), hook("ls")));
    const report = await run({ write: true });
    expect(exitCodeOfImport(report)).toBe(1);
    expect(parse(text()).hooks_external.Stop).toHaveLength(1);
  });

  test("one file that cannot be read keeps everything from being written", async () => {
    await put(".claude/settings.json", stop(hook("ls")));
    await put(".claude/settings.local.json", '{"hooks": [}');
    const report = await run({ write: true });
    expect(report.files[1]?.error).toMatchObject({ line: 1 });
    expect(exitCodeOfImport(report)).toBe(2);
    expect(existsSync(settings)).toBe(false);
    expect(formatImport(report, { isWriting: true })).toContain("nothing was written");
  });

  test.each([
    ["a: [\n", "settings.yaml:2"],
    ["hooks_external: 7\n", "is no map of events"],
    ["hooks_external:\n  Stop: 7\n", "is no list of groups"],
  ])(
    "a target with %j is refused, left as it is, and no wrapped text stays behind",
    async (content, told) => {
      await put(".claude/settings.json", stop(hook("a | b")));
      await put(settings, content);
      await expect(run({ write: true, wrap: true })).rejects.toThrow(told);
      expect(text()).toBe(content);
      const left = readdirSync(join(project, ".lionagi"), { recursive: true, encoding: "utf8" });
      expect(left.filter((name) => name.endsWith(".sh") || name.includes("lock"))).toEqual([]);
    },
  );

  test.each(["hooks_external:\n", "hooks_external: {}\n", "hooks_external:\n  Stop: []\n"])(
    "a target with an empty %j is filled",
    async (content) => {
      await put(".claude/settings.json", stop(hook("ls")));
      await put(settings, content);
      await run({ write: true });
      expect(parse(text()).hooks_external.Stop).toHaveLength(1);
    },
  );
});

describe("--wrap", () => {
  test("puts the exact text into a file that is run by sh and never overwritten", async () => {
    const command = "printf '%s' \"$CLAUDE_PLUGIN_DATA\" | cat > /dev/null || true";
    await put(".claude/settings.json", stop(hook(command, { timeout: 3 })));
    const [entry] = all(await run({ write: true, wrap: true }));
    const [, word = ""] = entry?.entry?.command ?? [];
    expect(entry?.entry).toEqual({
      type: "command",
      command: ["sh", word],
      timeout: 3,
      source: "imported:claude",
    });
    expect(word).toMatch(/^\.lionagi\/hooks\/imported\/Stop-[0-9a-f]{12}\.sh$/);
    const lines = readFileSync(join(project, word), "utf8").split("\n");
    expect(lines[1]).toContain("Imported from .claude/settings.json:6 hooks.Stop[0].hooks[0]");
    expect(lines.slice(3).join("\n")).toBe(`${command}\n`);
    expect(entry?.warnings.join()).toContain("$CLAUDE_PLUGIN_DATA, which Bridle does not set");

    await rm(settings);
    await writeFile(join(project, word), "#!/bin/sh\nexit 2\n");
    const [again] = all(await run({ write: true, wrap: true }));
    expect(again).toMatchObject({
      verdict: "rejected",
      reason: expect.stringContaining("holds another text"),
    });
    expect(readFileSync(join(project, word), "utf8")).toBe("#!/bin/sh\nexit 2\n");
    expect(existsSync(settings)).toBe(false);
  });

  test("does not touch what was rejected for another reason", async () => {
    await put(
      ".claude/settings.json",
      stop(hook("a | b", { if: "Bash(x)" }), hook("a | b", { async: "yes" }), { type: "http" }),
    );
    expect(await run({ wrap: true })).toMatchObject({ counts: { rejected: 3 } });
  });

  test("names its origin in one comment line, whatever the path holds", async () => {
    const folder = "x\ntouch PWNED;:\r";
    await put(`${folder}/hooks/hooks.json`, stop(hook("true | true")));
    const [entry] = all(await run({ paths: [join(project, folder)], write: true, wrap: true }));
    const lines = readFileSync(join(project, entry?.entry?.command[1] ?? ""), "utf8").split(/[\r\n]/);
    expect(lines.slice(0, 3).every((line) => line.startsWith("#"))).toBe(true);
    expect(lines.slice(3)).toEqual(["true | true", ""]);
  });

  test("tells of a file that was edited since, although the entry is there already", async () => {
    await put(".claude/settings.json", stop(hook("a | b")));
    const [entry] = all(await run({ write: true, wrap: true }));
    const file = join(project, entry?.entry?.command[1] ?? "");
    expect(all(await run({ write: true, wrap: true }))).toMatchObject([{ verdict: "note" }]);
    await writeFile(file, "#!/bin/sh\nexit 2\n");
    expect(all(await run({ write: true, wrap: true }))).toMatchObject([
      { verdict: "rejected", reason: expect.stringContaining("holds another text") },
    ]);
  });

  test("is only done when asked", async () => {
    await put(".claude/settings.json", stop(hook("a | b")));
    expect(await run({ write: true })).toMatchObject({ counts: { rejected: 1 }, written: [] });
    expect(existsSync(join(project, ".lionagi"))).toBe(false);
  });
});

describe("what is read", () => {
  test("of a project: its claude files, and frontmatter with hooks, for report only", async () => {
    await put(".claude/settings.json", stop(hook("one")));
    await put(".claude/settings.local.json", stop(hook("two")));
    await put(
      ".claude/agents/a.md",
      "---\nhooks:\n  Stop:\n    - hooks:\n        - {type: command, command: three}\n---\n",
    );
    await put(".claude/agents/none.md", "---\ndescription: a: b: c\n---\n");
    await put(
      ".claude/skills/s/SKILL.md",
      "---\nhooks:\n  Stop:\n    - hooks:\n        - {type: command, command: four}\n---\n",
    );
    await put(join(home, ".claude/settings.json"), stop(hook("theirs")));
    const report = await run({ cwd: join(project, ".claude"), write: true });
    expect(
      all(report).map(({ verdict, original }) => [verdict, /one|two|three|four|theirs/.exec(original)?.[0]]),
    ).toEqual([
      ["imported", "one"],
      ["imported", "two"],
      ["note", "three"],
      ["note", "four"],
    ]);
    expect(text()).not.toMatch(/three|four/);
  });

  test("behind a link too, and a loop of links has an end", async () => {
    await put("elsewhere.json", stop(hook("one")));
    await put(
      "agent.md",
      "---\nhooks:\n  Stop:\n    - hooks:\n        - {type: command, command: two}\n---\n",
    );
    await mkdir(join(project, ".claude/agents"), { recursive: true });
    await symlink("../elsewhere.json", join(project, ".claude/settings.json"));
    await symlink("../../agent.md", join(project, ".claude/agents/a.md"));
    await symlink("..", join(project, ".claude/agents/loop"));
    expect(all(await run()).map(({ original }) => /one|two/.exec(original)?.[0])).toEqual(["one", "two"]);
  });

  test("what is there under a usual name and is no file is an error", async () => {
    await mkdir(join(project, ".claude/settings.json"), { recursive: true });
    expect((await run()).files).toMatchObject([{ error: { message: "is no regular file" } }]);
  });

  test("of a user: the user's files, into the user's settings", async () => {
    await put(".claude/settings.json", stop(hook("ours")));
    await put(join(home, ".claude/settings.json"), stop(hook("theirs | x")));
    const report = await run({ user: true, write: true, wrap: true });
    expect(report.target).toBe(join(home, ".lionagi/settings.yaml"));
    expect(all(report)[0]?.entry?.command[1]).toMatch(/^\{home\}\/\.lionagi\/hooks\/imported\/Stop-/);
    expect(existsSync(settings)).toBe(false);
  });

  test("of codex: hooks.json and config.toml, in CODEX_HOME for the user", async () => {
    await put(".codex/hooks.json", stop(hook("one")));
    await put(
      ".codex/config.toml",
      '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "two"\n',
    );
    expect(all(await run({ provider: "codex" })).map(({ entry }) => entry?.command)).toEqual([
      ["one"],
      ["two"],
    ]);
    const folder = join(base, "codex-home");
    await put(join(folder, "hooks.json"), stop(hook("three")));
    const report = await run({ provider: "codex", user: true, env: { PATH: "", CODEX_HOME: folder } });
    expect(all(report).map(({ entry }) => entry?.command)).toEqual([["three"]]);
  });

  test("of a plugin's folder: its hooks/hooks.json, whose root is known", async () => {
    await put("plug/hooks/hooks.json", stop(hook("${CLAUDE_PLUGIN_ROOT}/x.sh")));
    await put("plug/x.sh", "echo\r\n");
    const [entry] = all(await run({ paths: ["plug"] }));
    expect(entry?.entry?.command).toEqual(["{plugin_root}/x.sh"]);
    expect(entry?.warnings.join("\n")).toContain("plug/x.sh has no exec bit");
    expect(entry?.warnings.join("\n")).toContain(`{plugin_root} is ${join(project, "plug")} now`);
  });

  test.each([
    ["gone.json", "cannot be read: ENOENT"],
    ["bytes.json", "is not UTF-8"],
    ["list.json", "the file holds a list, not an object"],
  ])("%s is an error of the report", async (name, told) => {
    await put("list.json", "[]");
    await writeFile(join(project, "bytes.json"), Buffer.from([0x7b, 0xff, 0x7d]));
    const report = await run({ paths: [name] });
    expect(report.files).toMatchObject([{ error: { message: expect.stringContaining(told) } }]);
    expect(exitCodeOfImport(report)).toBe(2);
  });

  test("nothing there is no error", async () => {
    const report = await run({ write: true });
    expect([exitCodeOfImport(report), report.files]).toEqual([0, []]);
    expect(formatImport(report, { isWriting: true })).toContain("no file with hooks was found");
  });
});

describe("what the machine lacks is warned of", () => {
  const warningsOf = async (command: string, script: string, mode = 0o755) => {
    await put("s.sh", script);
    await chmod(join(project, "s.sh"), mode);
    await put(".claude/settings.json", stop(hook(command)));
    return all(await run({ env: { PATH: join(base, "nothing") } }))[0]?.warnings.join("\n") ?? "";
  };

  test.each([
    ["./s.sh", "#!/bin/sh\n", 0o644, "s.sh has no exec bit"],
    ["./s.sh", "echo\n", 0o755, "s.sh has no #! line"],
    ["./s.sh", "#!/bin/sh\r\n", 0o755, "s.sh has a CR in line 1"],
    ["./gone.sh", "", 0o755, "gone.sh is not there"],
    ["uv run s.sh", "", 0o755, "uv is not on PATH"],
    ["sh s.sh", "x=$(jq -r .a)\n", 0o644, "the script uses jq, which is not on PATH"],
    ["sh s.sh", "cat $transcript_path\n", 0o644, "reads transcript_path"],
    ["sh s.sh", "d['session_id']\n", 0o644, "reads session_id"],
    [
      "node s.sh",
      "const c = input.command\n",
      0o644,
      "reads input.command, the envelope has tool_input.command",
    ],
    ["'$x/s.sh'", "", 0o644, "is not there"],
    ["$CLAUDE_PROJECT_DIR/s.sh", "echo\n", 0o755, "s.sh has no #! line"],
    ["${CLAUDE_PLUGIN_ROOT}/s.sh", "", 0o755, "{plugin_root} has no value outside a plugin bundle"],
  ])("%s with %j: %s", async (command, script, mode, told) => {
    expect(await warningsOf(command, script, mode as number)).toContain(told);
  });

  test("and not of what is well", async () => {
    const script = "#!/bin/sh\n# tool_input.command, input.command; jquery\n";
    expect(await warningsOf("./s.sh", script)).toBe("");
  });
});

describe("the report", () => {
  test("has a block for each entry, the divergences, and counts that add up", async () => {
    await put(".claude/settings.json", {
      hooks: {
        PreToolUse: [{ matcher: "Bash", hooks: [hook("cat x\u001b[2J"), hook("cat 'a b'")] }],
        SessionEnd: [],
      },
    });
    const report = await run();
    const shown = formatImport(report, { isWriting: false });
    expect(shown).toContain("rejected  line 7  hooks.PreToolUse[0].hooks[0]");
    expect(shown).toContain('argv      ["cat","a b"]');
    expect(shown).toContain("step      quoted words → argv");
    expect(shown).toContain("imported; verify against profile v1");
    expect(shown).toContain("Dv1-4   timeout on a gate: claude: ");
    expect(shown).toContain("3 entries: 1 imported, 1 rejected, 1 noted");
    expect(shown).toContain(`dry run: --write adds 1 to ${settings}`);
    expect(shown).not.toContain("unmodified");
    expect(shown).not.toContain("\u001b");
    const { entries, imported, rejected, note } = report.counts;
    expect(imported + rejected + note).toBe(entries);
  });
});
