// init, list, validate, test, invoke and doctor through the built command, with real guards and no agent.

import { spawn } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { firstFiles } from "../../src/cli/first-guard.ts";
import { DIST } from "../journal/support.ts";
import { group, makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.remove());

interface Told {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function bridle(
  args: readonly string[],
  { stdin = "", env = {} }: { stdin?: string; env?: Record<string, string> } = {},
): Promise<Told> {
  const child = spawn(process.execPath, [join(DIST, "cli/main.js"), ...args], {
    cwd: world.project,
    env: { PATH: process.env.PATH, HOME: world.home, XDG_STATE_HOME: world.root, NO_COLOR: "1", ...env },
  });
  child.stdin.on("error", () => {}); // a command that does not read it
  child.stdin.end(stdin);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
const json = async (args: readonly string[], how?: Parameters<typeof bridle>[1]) => {
  const told = await bridle([...args, "--json"], how);
  return { code: told.code, ...JSON.parse(told.stdout) };
};
const call = (command: string) => JSON.stringify({ tool_input: { command } });

test.each(["node", "sh"] as const)(
  "what init writes in %s is valid, passes its tests, and denies",
  async (lang) => {
    const written = await bridle(["init", "--lang", lang]);
    expect(written).toMatchObject({ code: 0, stdout: expect.stringContaining("bridle test") });
    const [, guard] = firstFiles(lang);
    expect((await stat(join(world.project, guard?.path ?? ""))).mode & 0o111).toBe(0o111);
    expect(await bridle(["validate"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nok\n$/) });
    const tested = await json(["test"]);
    expect(tested).toMatchObject({ code: 0, ok: true, guards: [{ blocks: "denies" }] });
    expect(tested.guards[0].rows.length).toBeGreaterThan(10);
    expect(await bridle(["list"])).toMatchObject({ code: 0, stdout: expect.stringContaining("kind:shell") });
    const denied = await bridle(["invoke", "PreToolUse", "--input", "-"], { stdin: call("rm -rf /") });
    expect(denied).toMatchObject({ code: 1, stdout: expect.stringContaining("verdict: deny: deleting /") });
    const fine = await bridle(["invoke", "PreToolUse", "--input", "-"], { stdin: call("ls") });
    expect(fine).toMatchObject({ code: 0, stdout: expect.stringContaining("verdict: none") });
  },
);

test("init overwrites nothing, names what is there, and writes nothing else", async () => {
  await world.put("project", ".lionagi/hooks/guard.mjs", "mine");
  expect(await bridle(["init"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("guard.mjs is there"),
  });
  expect(await readdir(join(world.project, ".lionagi"))).toEqual(["hooks"]);
  expect(await readFile(join(world.project, ".lionagi/hooks/guard.mjs"), "utf8")).toBe("mine");
  expect(await json(["init"])).toMatchObject({ code: 1, written: [], there: [".lionagi/hooks/guard.mjs"] });
  expect(await json(["init", "--dir", "new", "--lang", "sh"])).toMatchObject({
    code: 0,
    written: [".lionagi/settings.yaml", ".lionagi/hooks/guard.sh"],
  });
});

test("init leaves nothing behind when it cannot write all of it", async () => {
  await world.put("project", ".lionagi/hooks", "a file where a folder should be");
  const told = await bridle(["init"]);
  expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining(".lionagi/hooks is there already") });
  expect(await readdir(join(world.project, ".lionagi"))).toEqual(["hooks"]);
});

test("test reports a guard that reads the wrong field as one that never blocked, and exits 1", async () => {
  await world.put("project", "g.mjs", GUARD.replace("tool_input", "input"));
  await world.declare("project", { PreToolUse: [group(["node", "g.mjs"], { matcher: "Bash" })] });
  const told = await bridle(["test"]);
  expect(told.code).toBe(1);
  expect(told.stdout).toContain(
    "NEVER BLOCKED: this guard never blocked; it reads input.command, the envelope has tool_input.command",
  );
  await world.put("project", "g.mjs", GUARD);
  expect(await bridle(["test"])).toMatchObject({ code: 0, stdout: expect.stringContaining("= denies") });
});

const GUARD = `
import { readFileSync } from "node:fs";
const envelope = JSON.parse(readFileSync(0, "utf8"));
if (/rm -rf/.test(envelope.tool_input?.command ?? "")) process.exit(2);
`;

test("test shows what came where something else was expected", async () => {
  await world.guard("project", "g.sh", "exit 3");
  const entry = { type: "command", command: ["./g.sh"], selftest: [{ input: {}, expect: "deny" }] } as const;
  const file = await world.declare(
    "project",
    { PreToolUse: [{ hooks: [structuredClone(entry) as never] }] },
    "h.yaml",
  );
  const told = await bridle(["test", file]);
  expect(told.code).toBe(1);
  expect(told.stdout).toMatch(/FAIL\s+failed, expected deny {2}\d+ ms/);
  expect(told.stdout).toContain("1 guard(s), 1 answer(s): 1 failed");
});

test("test without any hook is refused", async () => {
  expect(await bridle(["test"])).toMatchObject({
    code: 78,
    stderr: expect.stringContaining("no hook to test"),
  });
});

test("test and invoke do not start what is not trusted", async () => {
  const started = join(world.root, "started");
  await world.guard("project", "g.sh", `touch ${started}; exit 2`);
  await world.declare("project", { PreToolUse: [group(["./g.sh"], { source: "imported:claude" })] });
  expect(await json(["test"])).toMatchObject({ code: 1, guards: [{ blocks: "not_run", state: "pending" }] });
  expect(await json(["invoke", "PreToolUse"])).toMatchObject({
    code: 78,
    steps: [],
    notRun: [{ state: "pending" }],
  });
  await expect(stat(started)).rejects.toThrow("ENOENT");
  await world.approveAll();
  expect(await json(["invoke", "PreToolUse"])).toMatchObject({
    code: 1,
    notRun: [],
    steps: [{ got: "deny" }],
  });
});

test("with --require-trusted-project a stranger's guard is not started until the project is trusted", async () => {
  await world.guard("project", "g.sh", "exit 2");
  await world.declare("project", { PreToolUse: [group(["./g.sh"])] });
  const strict = "--require-trusted-project";
  expect(await json(["test", strict])).toMatchObject({ code: 1, guards: [{ blocks: "not_run" }] });
  expect(await json(["invoke", "PreToolUse", strict])).toMatchObject({ code: 78, steps: [] });
  expect(await json(["list", strict])).toMatchObject({ code: 1, hooks: [{ state: "pending" }] });
  expect(await bridle(["trust", "project"])).toMatchObject({ code: 0 });
  expect(await json(["test", strict])).toMatchObject({ code: 0, guards: [{ blocks: "denies" }] });
});

test("invoke shows each step of the chain, up to the denial", async () => {
  await world.guard("project", "a.sh", `echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls -l"}}}'`);
  await world.guard("project", "b.sh", 'grep -q "ls -l" && echo "seen: ls -l" >&2; exit 2');
  await world.guard("project", "c.sh");
  const hooks = ["./a.sh", "./b.sh", "./c.sh"].map((name) => group([name]));
  await world.declare("project", { SessionStart: [group(["./c.sh"])], PreToolUse: hooks });
  const told = await json(["invoke", "PreToolUse"]);
  expect(told).toMatchObject({
    code: 1,
    type: "invoked",
    event: "PreToolUse",
    verdict: { decision: "deny", reason: "seen: ls -l" },
    steps: [{ got: "rewrite" }, { got: "deny", exit: "exit 2" }],
    envelope: { tool_command: "ls", tool_kind: "shell" },
  });
  expect(told.steps).toHaveLength(2);
});

test.each([
  [["invoke", "Nope"], "", 64, "PreToolUse"],
  [["invoke", "Stop", "--input", "-"], "[]", 78, "is not a JSON object"],
  [["invoke", "Stop", "--input", "none.json"], "", 78, "cannot be read as JSON"],
])("%j is refused", async (args, stdin, code, says) => {
  expect(await bridle(args, { stdin })).toMatchObject({ code, stderr: expect.stringContaining(says) });
});

test("list has the user's hooks before the project's, numbered as they run, with tier, place and trust", async () => {
  await world.guard("home", "u.sh");
  await world.guard("project", "p.sh");
  await world.declare("project", {
    PreToolUse: [group(["./p.sh"], { matcher: "kind:edit" })],
    Stop: [group(["./p.sh", "s"], { source: "imported:codex" })],
  });
  await world.declare("home", { PreToolUse: [group(["./u.sh"])] });
  const { code, hooks } = await json(["list"]);
  expect(code).toBe(0);
  expect(hooks).toMatchObject([
    { event: "PreToolUse", command: ["./u.sh"], tier: "user", trust: "own", state: "runs" },
    { event: "PreToolUse", command: ["./p.sh"], tier: "project", matcher: "kind:edit", state: "runs" },
    { event: "Stop", tier: "imported", trust: "untrusted", state: "pending", code: "command_untrusted" },
  ]);
  const { stdout } = await bridle(["list"]);
  expect(stdout).toMatch(/^PreToolUse\n {2}1\. \*.*u\.sh\n.*user.*\n {2}2\. kind:edit.*p\.sh\n.*project/);
  expect(stdout).toContain("DOES NOT RUN (pending)");
});

test("list exits 1 when a gate does not run: a run would be refused", async () => {
  await world.guard("project", "p.sh");
  await world.declare("project", { PreToolUse: [group(["./p.sh"], { source: "imported:codex" })] });
  expect(await bridle(["list"])).toMatchObject({ code: 1 });
});

test("validate shows every problem of every file with its line, and exits 78", async () => {
  await world.put("home", ".lionagi/settings.yaml", "a: [\n");
  const bad =
    "hooks_external:\n  Stop:\n    - hooks:\n        - type: command\n          comand: x\n          command: [node]\n";
  await world.put("project", ".lionagi/settings.yaml", bad);
  await world.put("project", ".lionagi/hooks/more.yaml", "other: 1\n");
  const told = await json(["validate"]);
  expect(told.code).toBe(78);
  const at = told.issues.map(({ file, line }: { file: string; line?: number }) => [
    file.replace(world.root, ""),
    line,
  ]);
  expect(at).toEqual([
    ["/home/.lionagi/settings.yaml", 2],
    ["/project/.lionagi/settings.yaml", 5],
    ["/project/.lionagi/hooks/more.yaml", undefined],
  ]);
  const { stdout } = await bridle(["validate", join(world.project, ".lionagi/settings.yaml")]);
  expect(stdout).toContain(
    `${world.project}/.lionagi/settings.yaml:5: declaration_invalid Stop[0].hooks[0].comand:`,
  );
});

test("validate finds a script that is not there, and does not mind what is not trusted", async () => {
  await world.declare("project", { Stop: [group(["node", "none.mjs"])] });
  expect(await json(["validate"])).toMatchObject({
    code: 78,
    issues: [{ code: "command_not_found", line: 4 }],
  });
  await world.guard("project", "p.sh");
  await world.declare("project", { PreToolUse: [group(["./p.sh"], { source: "imported:codex" })] });
  expect(await json(["validate"])).toMatchObject({ code: 0, issues: [] });
});

const PLANTED = "zq-planted-4815162342-value";

test("doctor without a binary says so and exits 1, and shows no value of a key", async () => {
  await world.put("home", ".claude/settings.json", JSON.stringify({ hooks: { PreToolUse: [] } }));
  await world.put("home", ".codex/auth.json", JSON.stringify({ OPENAI_API_KEY: PLANTED }));
  const env = { PATH: "/usr/bin:/bin", ANTHROPIC_API_KEY: PLANTED, MY_TOKEN: `${PLANTED}2` };
  for (const more of [[], ["--json"]]) {
    const { code, stdout, stderr } = await bridle(["doctor", ...more], { env });
    expect(code).toBe(1);
    expect(stdout + stderr).not.toContain(PLANTED);
    expect(stdout).toContain("provider_not_found");
  }
  const { stdout } = await bridle(["doctor"], { env });
  expect(stdout).toContain("login    api key in ANTHROPIC_API_KEY");
  expect(stdout).toContain(`login    login file ${world.home}/.codex/auth.json`);
  expect(stdout).toContain(`${world.home}/.claude/settings.json: hooks for PreToolUse will not run`);
});

test("doctor shows a binary that was named, its proof and the settings, and exits 0", async () => {
  await world.guard("project", "p.sh");
  await world.declare("project", { Stop: [group(["./p.sh"], { source: "imported:codex" })] });
  expect(await json(["doctor", "claude", "--binary", world.binary])).toMatchObject({
    code: 0,
    ok: true,
    machine: { containment: expect.stringMatching(/^(?:pid-namespace|sweep)$/) },
    hooks: { hooks: 1, pending: 1, refused: 0, isRefused: false },
    providers: [
      {
        provider: "claude",
        binary: { path: world.binary, version: "2.1.332+fake", form: "fake" },
        auth: { kind: "none" },
      },
    ],
  });
});

test("doctor exits 1 when a run would be refused because of a hook", async () => {
  await world.declare("project", { Stop: [group(["./none"])] });
  const told = await bridle(["doctor", "claude", "--binary", world.binary]);
  expect(told).toMatchObject({ code: 1, stdout: expect.stringContaining("a run would be refused") });
});

test("doctor exits 1 when the settings cannot be read", async () => {
  await world.put("project", ".lionagi/settings.yaml", "hooks_external: 1\n");
  const told = await bridle(["doctor", "claude", "--binary", world.binary]);
  expect(told).toMatchObject({ code: 1, stdout: expect.stringContaining("declaration_invalid") });
});

test.each(["init", "list", "validate", "test", "invoke", "doctor"])(
  "the help of %s has examples",
  async (command) => {
    const { code, stdout } = await bridle([command, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Exit codes: 0 [\s\S]*Examples:\n(?: {2}.*bridle .*\n)+/);
    expect(stdout).toContain("--json");
  },
);

test("every command has examples in its help, --json, and a section in docs/CLI.md", async () => {
  const page = await readFile(new URL("../../docs/CLI.md", import.meta.url), "utf8");
  const { stdout: help } = await bridle(["--help"]);
  const commands = [...(help.split("Commands:")[1] ?? "").matchAll(/^ {2}([a-z]+) /gm)].map(
    ([, name = ""]) => name,
  );
  const known = commands.filter((name) => name !== "help");
  expect(known.length).toBeGreaterThan(14);
  const told = await Promise.all(
    known.map(async (name) => [name, (await bridle([name, "--help"])).stdout] as const),
  );
  const lacks = (mark: string) => told.filter(([, text]) => !text.includes(mark)).map(([name]) => name);
  expect([lacks("--json"), lacks("Examples:\n")]).toEqual([[], []]);
  expect(known.filter((name) => !page.includes(`\n## bridle ${name}\n`))).toEqual([]);
}, 60_000);
