// Files as people have them, one oddity each, and what becomes of every entry.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { decodeSource } from "../../src/import/find-sources.ts";
import { importHooks } from "../../src/import/import-hooks.ts";
import type { FileReport, ReportEntry } from "../../src/import/report-types.ts";
import { kindOfFixture } from "./support.ts";

const FOLDER = fileURLToPath(new URL("fixtures/cases/", import.meta.url));

function load(name: string): FileReport {
  const text = decodeSource(readFileSync(FOLDER + name)) as string;
  const provider = /codex|git-root/.test(name) ? "codex" : "claude";
  return importHooks({ provider, path: name, text, kind: kindOfFixture(name) });
}

/** One line an entry: verdict, path, and argv or reason. */
function told({ verdict, path, entry, reason }: ReportEntry): string {
  return `${verdict} ${path}: ${entry === undefined ? reason : entry.command.join(" | ")}`;
}

const OR_HINT =
  "|| needs a shell; to say that this hook may fail, strip it and declare the hook non-gating: on_failure: open";
const NEVER_RAN = "handler outside a hooks list (never ran in Claude Code)";
const WIDENS = "if filter not supported; importing would widen the hook";

/** Every entry of every file, in order. */
const CASES: Readonly<Record<string, readonly string[]>> = {
  "01-tool-as-event.json": [
    `rejected hooks.Bash[0]: Bash is a tool, not an event; did you mean PreToolUse with matcher Bash?; ${NEVER_RAN}`,
  ],
  "02-no-hooks-key.json": [
    'rejected SessionEnd[0].hooks[0]: event SessionEnd found at top level; wrap it in "hooks"',
  ],
  "03-wrong-level.json": [
    `rejected hooks.UserPromptSubmit[0]: ${NEVER_RAN}`,
    `rejected hooks.PreToolUse[0]: ${NEVER_RAN}`,
    "imported hooks.PreToolUse[1].hooks[0]: python3 | gate.py",
  ],
  "04-hooks-as-list.json": [
    "rejected hooks[0]: hooks is a list; claude reads an object with an event as each key",
  ],
  "04b-event-as-object.json": [
    "rejected hooks.Stop: an event holds a list of groups, not an object (enabled: false)",
    'rejected hooks.PostEdit: "PostEdit" is not an event; an event holds a list of groups, not an object (enabled: true)',
    'rejected hooks.stop: "stop" is not an event; did you mean Stop?; an event holds a list of groups, not an object',
  ],
  "05-comments.jsonc": ["imported hooks.Stop[0].hooks[0]: play | /sounds/done.wav"],
  "06-invalid-json.json": [],
  "07-placeholder-in-single-quotes.json": [
    "imported hooks.PreToolUse[0].hooks[0]: python3 | {plugin_root}/check.py",
  ],
  "08-unquoted-placeholder.json": [
    "imported hooks.Stop[0].hooks[0]: node | {project_dir}/.claude/end.mjs",
    "imported hooks.Stop[1].hooks[0]: {project_dir}/.claude/end.sh",
  ],
  "09-variables-nobody-sets.json": [
    "rejected hooks.SessionStart[0].hooks[0]: $ inside double quotes: $extensionPath belongs to another host (Gemini CLI); claude does not set it",
    "rejected hooks.PreToolUse[0].hooks[0]: $ inside double quotes: unknown variable $CLAUDE_FLOW_COMMAND; hook input comes on stdin, not in variables",
  ],
  "10-git-root.json": [
    "imported hooks.PreToolUse[0].hooks[0]: python3 | {project_dir}/guards/g.py | --base | {project_dir}",
  ],
  "11-literal-dollar.json": [
    "imported hooks.SessionStart[0].hooks[0]: printf | %s\\n | Ask $planner, then [wait] here!",
    "rejected hooks.SessionStart[0].hooks[1]: $ inside double quotes: unknown variable $p; hook input comes on stdin, not in variables",
  ],
  "12-windows-path.json": [
    'rejected hooks.PreToolUse[0].hooks[0]: backslash (Windows path?) in "C:\\\\Data\\\\q\\\\.claude\\\\hooks\\\\t.py": a shell would eat it',
    "imported hooks.PreToolUse[1].hooks[0]: powershell | -File | .claude/hooks/t.ps1",
  ],
  "13-milliseconds.json": [
    "imported hooks.PreToolUse[0].hooks[0]: ./one.sh",
    "imported hooks.PreToolUse[0].hooks[1]: ./two.sh",
    "imported hooks.PreToolUse[0].hooks[2]: ./three.sh",
  ],
  "14-async.json": [
    "rejected hooks.PreToolUse[0].hooks[0]: async on PreToolUse: run in the foreground a notifier becomes a gate, and its crash denies",
    "rejected hooks.SessionStart[0].hooks[0]: asyncRewake: a handler that blocks to wake the agent later has no form here",
    "imported hooks.PreCompact[0].hooks[0]: ./save.sh",
    "imported hooks.Notification[0].hooks[0]: ./chime.sh",
  ],
  "15-if-filter.json": [
    `rejected hooks.PreToolUse[0].hooks[0]: ${WIDENS}`,
    `rejected hooks.PreToolUse[1].hooks[0]: ${WIDENS}`,
  ],
  "16-matchers.json": [
    'rejected hooks.PostToolUse[0].hooks[0]: matcher "*.py|*.pyi": error parsing regexp: missing argument to repetition operator: `*`',
    "imported hooks.PostToolUse[1].hooks[0]: ./q.sh",
    'rejected hooks.PostToolUse[2].hooks[0]: matcher "^(?!ExitPlanMode$).*": error parsing regexp: invalid or unsupported Perl syntax: `(?!`',
    "imported hooks.PostToolUse[3].hooks[0]: ./s.sh",
    "imported hooks.PostToolUse[4].hooks[0]: ./t.sh",
    "imported hooks.PostToolUse[5].hooks[0]: ./u.sh",
    "imported hooks.PostToolUse[6].hooks[0]: ./v.sh",
  ],
  "17-codex.toml": [
    "rejected notify: notify: different calling convention, its JSON is the last argument",
    "imported hooks.PermissionRequest[0].hooks[0]: /opt/ask.sh",
    "note hooks.state: hooks.state ignored: trust bookkeeping",
  ],
  "18-exec-form.json": [
    "imported hooks.Stop[0].hooks[0]: node | {plugin_root}/lib/c.js | --end",
    "imported hooks.Stop[0].hooks[1]: ./two words.sh",
    "imported hooks.Stop[0].hooks[2]: npx -y tool | --z",
  ],
  "19-shell-only-program.json": [
    "imported hooks.SessionStart[0].hooks[0]: {plugin_root}/hooks/launch.cmd | begin",
    "imported hooks.SessionStart[0].hooks[1]: ./bin/begin.sh",
  ],
  "20-harmless-shell.json": [
    `rejected hooks.Notification[0].hooks[0]: ${OR_HINT}`,
    `rejected hooks.Stop[0].hooks[0]: ${OR_HINT}`,
    "imported hooks.Stop[0].hooks[1]: bash | -lc | npx -y tool end",
  ],
  "21-bom.json": ["imported hooks.Stop[0].hooks[0]: ./end.sh"],
  "22-duplicate-event.json": [
    'rejected hooks.Stop[0].hooks[0]: the key "Stop" stands twice: claude reads only the last one, line 4',
    "imported hooks.Stop[0].hooks[0]: ./second.sh",
  ],
  "23-trailing-comma.json": ["imported hooks.Stop[0].hooks[0]: ./end.sh"],
  "24-strings-for-numbers.json": [
    'rejected hooks.Stop[0].hooks[0]: timeout is "30"; it must be a number of seconds above 0',
    "rejected hooks.Stop[0].hooks[1]: timeout is -2; it must be a number of seconds above 0",
    'rejected hooks.Stop[0].hooks[2]: async is "true", not true or false',
    "rejected hooks.Stop[0].hooks[3]: timeout is 0; it must be a number of seconds above 0",
    "rejected hooks.Stop[0].hooks[4]: timeout is null; it must be a number of seconds above 0",
  ],
  "25-wrong-types.json": [
    'rejected hooks.Stop: an event holds a list of groups, not "./k.sh"',
    'rejected hooks.PreToolUse[0]: a group is an object with hooks, not "./l.sh"',
    "rejected hooks.PreToolUse[1]: a group is an object with hooks, not null",
    "rejected hooks.PreToolUse[2].hooks[0]: matcher is 9, not a string; command is a list; claude takes a string, so this never ran",
    "rejected hooks.PreToolUse[2].hooks[1]: matcher is 9, not a string; the command is blank",
    "rejected hooks.PreToolUse[2].hooks[2]: matcher is 9, not a string; there is no command",
    'rejected hooks.PreToolUse[2].hooks[3]: a handler is an object with type and command, not "./n.sh"',
    "rejected hooks.PostToolUse: an event holds a list of groups, not null",
    "note hooks.SessionEnd: the list is empty: nothing to import",
  ],
  "26-inherited-names.json": [
    'rejected hooks.__proto__[0].hooks[0]: "__proto__" is not an event',
    'rejected hooks.constructor[0].hooks[0]: "constructor" is not an event',
    'rejected hooks.toString: "toString" is not an event',
  ],
  "27-copilot.json": [
    `rejected hooks.preToolUse[0]: "preToolUse" is not an event; did you mean PreToolUse?; ${NEVER_RAN}`,
  ],
  "28-other-handlers.json": [
    ...["http", "prompt", "mcp_tool", "agent"].map((type, index) =>
      expect.stringContaining(
        `rejected hooks.PreToolUse[0].hooks[${index}]: handler type ${type} is not run by Bridle`,
      ),
    ),
    "rejected hooks.PreToolUse[0].hooks[4]: the handler has no type, so it never ran",
    "rejected hooks.ConfigChange[0].hooks[0]: event ConfigChange: this build has no seam for it",
  ],
  "29-switched-off.json": [
    "rejected hooks.Stop[0].hooks[0]: the file switches its hooks off (disableAllHooks)",
  ],
  "30-skill.md": [
    expect.stringMatching(/^note hooks\.PreToolUse\[0\]\.hooks\[0\]: scope: /),
    "rejected hooks.PreToolUse[1].hooks[0]: && needs a shell",
  ],
};

test("every file of the folder is a case", () => {
  expect(Object.keys(CASES)).toEqual(readdirSync(FOLDER).sort());
});

test.each(Object.entries(CASES))("%s: each entry has its verdict", (name, expected) => {
  expect(load(name).entries.map(told)).toEqual(expected);
});

describe("beside the verdicts", () => {
  const entryOf = (name: string, index: number) => load(name).entries[index] as ReportEntry;

  test("invalid JSON is an error with its place, and no entry is guessed", () => {
    expect(load("06-invalid-json.json")).toMatchObject({
      entries: [],
      error: { message: expect.stringContaining("comma expected"), line: 2, column: 41 },
    });
  });

  test.each([
    ["05-comments.jsonc", "comments were tolerated"],
    ["21-bom.json", "a byte order mark was tolerated"],
    ["23-trailing-comma.json", "trailing commas were tolerated"],
    ["27-copilot.json", "the file seems to be for GitHub Copilot: it has the key bash"],
  ])("%s has the note %j", (name, note) => {
    expect(load(name).notes).toEqual([note]);
  });

  test("a file without hooks says that there are none", () => {
    const report = importHooks({ provider: "claude", path: "x", kind: "json", text: '{"permissions":{}}' });
    expect(report).toMatchObject({ entries: [], notes: ["0 entries found"] });
    expect(report.error).toBeUndefined();
  });

  test("a timeout stays as it is written, and one that looks like milliseconds is asked about", () => {
    const { entry, warnings } = entryOf("13-milliseconds.json", 0);
    expect(entry?.timeout).toBe(5000);
    expect(warnings.join()).toContain("timeout 5000 s; did you mean 5?");
    expect(warnings.join()).toContain("a run refuses this entry until it is changed");
  });

  test("a gate without a timeout is told what no answer means", () => {
    expect(entryOf("13-milliseconds.json", 2).warnings).toEqual([
      "a gate: no answer in time denies (60 s, the default here: none is given), where claude lets it through",
    ]);
    expect(entryOf("13-milliseconds.json", 1).warnings.join()).toContain("2 s is short");
  });

  test.each([
    ["14-async.json", 2, "once: true is not kept"],
    ["14-async.json", 3, "async: true is not kept"],
    ["16-matchers.json", 1, "looks like a permission rule; as a matcher it matches no tool"],
    ["16-matchers.json", 5, "tool name Write is claude's own: under codex edits are apply_patch"],
    ["16-matchers.json", 5, "tool name apply_patch is codex's: under claude it may match nothing"],
    ["16-matchers.json", 5, "tool name write_file is of no tool that is known"],
    ["17-codex.toml", 1, "PermissionRequest does not fire under codex"],
    ["18-exec-form.json", 1, '"./two words.sh" is the name of one program'],
    ["18-exec-form.json", 2, '"npx -y tool" is the name of one program'],
    ["20-harmless-shell.json", 2, "the payload is code"],
    ["20-harmless-shell.json", 2, "bash is a login shell here"],
  ])("%s, entry %i, warns: %s", (name, index, warning) => {
    expect(entryOf(name, index).warnings.join("\n")).toContain(warning);
  });

  test.each([
    ["07-placeholder-in-single-quotes.json", 0, "host placeholder ${CLAUDE_PLUGIN_ROOT} → {plugin_root}"],
    ["08-unquoted-placeholder.json", 0, "host placeholder $CLAUDE_PROJECT_DIR → {project_dir}"],
    ["10-git-root.json", 0, "$(git rev-parse --show-toplevel) → {project_dir}"],
    ["11-literal-dollar.json", 0, "quoted words → argv"],
    ["16-matchers.json", 3, 'matcher "*" → none: everything'],
    ["18-exec-form.json", 0, "program with args → argv"],
    ["19-shell-only-program.json", 1, "plain words → argv"],
  ])("%s, entry %i, names the step: %s", (name, index, step) => {
    expect(entryOf(name, index).translations).toContain(step);
  });

  test("everything imported carries where it came from, and the lines are those of the file", () => {
    expect(entryOf("10-git-root.json", 0).entry).toEqual({
      type: "command",
      command: ["python3", "{project_dir}/guards/g.py", "--base", "{project_dir}"],
      timeout: 20,
      source: "imported:codex",
    });
    expect(load("22-duplicate-event.json").entries.map(({ line }) => line)).toEqual([3, 4]);
    expect(load("17-codex.toml").entries.map(({ line }) => line)).toEqual([1, 4, 8]);
    expect(load("30-skill.md").entries.map(({ line }) => line)).toEqual([8, 12]);
  });

  test("the text of an entry is the text of the file", () => {
    const text = readFileSync(`${FOLDER}25-wrong-types.json`, "utf8");
    for (const { original } of load("25-wrong-types.json").entries) expect(text).toContain(original);
  });

  test("a name of Object.prototype pollutes nothing", () => {
    load("26-inherited-names.json");
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test("only a shell string that nothing else stands against can be wrapped", () => {
    const wrappable = Object.keys(CASES).flatMap((name) =>
      load(name).entries.flatMap(({ wrap }) => (wrap === undefined ? [] : [wrap.text])),
    );
    expect(wrappable).toEqual([
      'node "${extensionPath}${CLAUDE_PLUGIN_ROOT}/start.mjs"',
      'npx helper check --line "${CLAUDE_FLOW_COMMAND}"',
      'powershell -Command "$p=(Get-Location).Path; & $p"',
      "cmd /c python C:\\Data\\q\\.claude\\hooks\\t.py",
      "tell-me all done 2>/dev/null || true",
      '[ ! -f "/srv/e.mjs" ] || node "/srv/e.mjs"',
    ]);
  });
});
