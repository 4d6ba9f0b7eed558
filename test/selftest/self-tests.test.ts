// Guards as real processes, asked by their own self-tests and by the stock cases.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type CommandEntry,
  compileAgentHooks,
  type EventName,
  type GuardReport,
  invokeHooks,
  isSound,
  listHooks,
  type SelfTest,
  type SelfTestOptions,
  testHooks,
} from "../../src/index.ts";
import { codesOf, issuesOf, makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.remove());

/** A guard of node that has `envelope` and `deny(reason)`. */
const node = (body: string) => `
import { text } from "node:stream/consumers";
const envelope = JSON.parse(await text(process.stdin));
const deny = (reason) => { console.error(reason); process.exitCode = 2; };
const say = (output) => console.log(JSON.stringify({ hookSpecificOutput: output }));
${body}
`;

const selftest = (expect: SelfTest["expect"], command = "rm -rf /"): SelfTest => ({
  input: { tool_input: { command } },
  expect,
});

async function ask(
  body: string,
  entry: Partial<CommandEntry> & { matcher?: string; event?: EventName } = {},
  options: SelfTestOptions = {},
): Promise<GuardReport> {
  const { matcher, event = "PreToolUse", ...more } = entry;
  await world.put("project", "guard.mjs", node(body));
  const hooks = [{ type: "command" as const, command: ["node", "guard.mjs"], ...more }];
  await world.declare("project", { [event]: [matcher === undefined ? { hooks } : { matcher, hooks }] });
  const [report, ...others] = await testHooks(await world.load(), options);
  if (report === undefined || others.length > 0) throw new Error("expected one report");
  return report;
}

test.each([
  ["deny", "deny('no')", "no"],
  ["allow", "", ""],
  ["rewrite", "say({ updatedInput: { command: 'ls' } })", '{"command":"ls"}'],
  ["context", "say({ additionalContext: 'careful' })", "careful"],
] as const)("the answer %s is told and meets that expectation alone", async (answer, body, reason) => {
  const expectations = ["deny", "allow", "rewrite", "context"] as const;
  const { rows } = await ask(body, { selftest: expectations.map((expected) => selftest(expected)) });
  expect(rows.map(({ got }) => got)).toEqual(Array(4).fill(answer));
  expect(rows[0]).toMatchObject({ reason, failed: false, ms: expect.any(Number) });
  // Text beside it does not keep the action from going on.
  const met = expectations.filter((_, index) => rows[index]?.passed);
  expect(met).toEqual(answer === "context" ? ["allow", "context"] : [answer]);
});

test.each([
  ["a crash", "throw new Error('broken')", {}, "exit 1"],
  ["a signal", "process.kill(process.pid, 'SIGKILL')", {}, "killed by SIGKILL"],
  ["a timeout", "setInterval(() => {}, 1000)", { timeout: 0.5 }, "no answer within 500 ms"],
  ["noise with a brace in it", "console.log('{oops')", {}, "exit 0"],
  ["a decision in the wrong place", 'console.log(\'{"permissionDecision":"deny"}\')', {}, "exit 0"],
] as const)("%s is a failure, not a denial, and meets no expectation", async (_name, body, more, exit) => {
  const report = await ask(body, { ...more, selftest: [selftest("deny"), selftest("allow")] });
  expect(report.rows).toMatchObject([
    { got: "failed", failed: true, passed: false, exit },
    { got: "failed", failed: true, passed: false, exit },
  ]);
  expect(report.blocks).toBe("failed");
  expect(isSound(report)).toBe(false);
});

test("a failing guard that admits (on_failure: open) has not allowed", async () => {
  const { rows } = await ask("process.exit(1)", { on_failure: "open", selftest: [selftest("allow")] });
  expect(rows).toMatchObject([{ got: "failed", passed: false }]);
});

test("a guard without self-tests is shown the stock cases of its matcher, and one that denies is sound", async () => {
  const body = "if (/rm -rf|push --force/.test(envelope.tool_command)) deny('no');";
  const report = await ask(body, { matcher: "kind:shell" });
  const denied = report.rows.filter(({ got }) => got === "deny").map(({ name }) => name);
  expect(denied).toEqual(["rm -rf /", "rm -rf ~", "rm -rf .", "git push --force origin main"]);
  expect(report.rows.every(({ input }) => input.tool_name === "Bash")).toBe(true);
  expect(report.blocks).toBe("denies");
  expect(isSound(report)).toBe(true);
});

test("a secret in a write is shown to a guard of edits, in the words of both agents", async () => {
  const body = "if (JSON.stringify(envelope.tool_input).includes('AKIA')) deny('a secret');";
  const { rows } = await ask(body, { matcher: "kind:edit" });
  const denied = rows.filter(({ got }) => got === "deny").map(({ input }) => input.tool_name);
  expect(denied).toEqual(["Write", "apply_patch"]);
});

test.each([
  [
    "const { input } = envelope; if (/rm/.test(input?.command ?? '')) deny('no');",
    "input.command",
    "tool_input.command",
  ],
  ["if (/rm/.test(envelope.args?.command ?? '')) deny('no');", "args.command", "tool_input.command"],
  ["if (/rm/.test(envelope.toolInput?.command ?? '')) deny('no');", "toolInput", "tool_input"],
  [
    "if (/rm/.test(process.env.CLAUDE_TOOL_INPUT ?? '')) deny('no');",
    "CLAUDE_TOOL_INPUT",
    "tool_input, on stdin",
  ],
])("a guard that reads the wrong field never blocks, and is told so (%s)", async (body, reads, has) => {
  const report = await ask(body, { matcher: "Bash" });
  expect(report.blocks).toBe("never_blocked");
  expect(report.why).toMatch(/^it reads .*, the envelope has .*$/);
  expect(report.why).toContain(reads);
  expect(report.why).toContain(has);
  expect(isSound(report)).toBe(false);
});

test("a guard that reads the right field and lets all through is not told that it reads a wrong one", async () => {
  const report = await ask("if (/terraform destroy/.test(envelope.tool_command)) deny('no');");
  expect(report).toMatchObject({
    blocks: "never_blocked",
    why: expect.stringContaining("give it a selftest"),
  });
});

test("a gate whose self-tests only show it what is fine never blocked", async () => {
  const report = await ask("", { selftest: [selftest("allow", "ls")] });
  expect(report.rows).toMatchObject([{ passed: true }]);
  expect(report.blocks).toBe("never_blocked");
});

test("a gate that is there to rewrite, and says so, is sound without a denial", async () => {
  const report = await ask("say({ updatedInput: { command: 'ls' } })", { selftest: [selftest("rewrite")] });
  expect(report.blocks).toBe("acts");
  expect(isSound(report)).toBe(true);
});

test("a gate that no stock case is for is told apart", async () => {
  expect(await ask("", { matcher: "mcp__ours__tool" })).toMatchObject({ blocks: "not_shown", rows: [] });
});

test("a hook that only follows is not started without a self-test", async () => {
  const file = join(world.root, "started");
  const body = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(file)}, "");`;
  const report = await ask(body, { event: "PostToolUse" });
  expect(report).toMatchObject({ blocks: "no_gate", rows: [] });
  await expect(writeFile(file, "", { flag: "wx" })).resolves.toBeUndefined();
});

test("a call that the matcher does not want is not a denial", async () => {
  const tests: SelfTest[] = [selftest("deny"), selftest("allow")];
  const { rows } = await ask("deny('no')", { matcher: "kind:edit", selftest: tests });
  expect(rows).toMatchObject([
    { got: "allow", passed: false, exit: "not run", reason: expect.stringContaining("not asked") },
    { got: "allow", passed: true },
  ]);
});

test("a guard has the directory, the variables and the run directory of a run", async () => {
  const body = `
    import { existsSync } from "node:fs";
    const { CLAUDE_PROJECT_DIR: dir, BRIDLE_RUN_ID: id, OURS, PLANTED } = process.env;
    deny([process.cwd() === dir, id === envelope.run_id, OURS, PLANTED, existsSync(process.argv[2])].join());`;
  const env = { ...process.env, PLANTED: "seen" };
  const report = await ask(
    body,
    { command: ["node", "guard.mjs", "{run_dir}"], env: { OURS: "o" } },
    { env },
  );
  expect(report.rows[0]?.reason).toBe("true,true,o,,true");
});

test("an entry whose env names a variable that is not set is not run", async () => {
  const report = await ask("deny('no')", { env: { KEY: "env:NO_SUCH_NAME" } }, { env: {} });
  expect(report).toMatchObject({ blocks: "not_run", why: expect.stringContaining("NO_SUCH_NAME") });
});

test("an imported guard is not run before it is trusted, and is after", async () => {
  const imported = { source: "imported:claude", selftest: [selftest("deny")] };
  expect(await ask("deny('no')", imported)).toMatchObject({
    blocks: "not_run",
    state: "pending",
    rows: [],
    why: expect.stringContaining("never trusted"),
  });
  await world.approveAll();
  expect((await testHooks(await world.load()))[0]).toMatchObject({ blocks: "denies", state: "runs" });
});

test("the tool of the other agent is shown as its own", async () => {
  const tests: SelfTest[] = [
    { input: { tool_name: "apply_patch", tool_input: { command: "*** Begin Patch" } }, expect: "deny" },
    { input: { tool_name: "Write", tool_input: { file_path: ".env" } }, expect: "deny" },
  ];
  const body = "deny([envelope.provider, envelope.tool_kind].join(' '));";
  const { rows } = await ask(body, { matcher: "kind:edit", selftest: tests });
  expect(rows.map(({ reason }) => reason)).toEqual(["codex edit", "claude edit"]);
});

const compileWith = async (body: string, tests: SelfTest[] | undefined, how?: "require" | "off") => {
  const file = await world.put("project", "guard.mjs", node(body));
  const entry = { type: "command" as const, command: ["node", file], ...(tests && { selftest: tests }) };
  return compileAgentHooks(
    { PreToolUse: [{ hooks: [entry] }] },
    {
      provider: "claude",
      cwd: world.project,
      binary: world.binary,
      prove: "off",
      ...(how === undefined ? {} : { selftest: how }),
    },
  );
};

test("compile with selftest: require refuses on a failing one and names it, and only then", async () => {
  const tests = [selftest("allow", "ls"), selftest("deny")];
  await expect(compileWith("", tests)).resolves.toBeDefined();
  await expect(compileWith("", tests, "off")).resolves.toBeDefined();
  const [issue, ...others] = await issuesOf(compileWith("", tests, "require"));
  expect(others).toEqual([]);
  expect(issue).toMatchObject({
    code: "selftest_failed",
    path: "declaration: PreToolUse[0].hooks[0].selftest[1]",
    message: "expected deny, got allow (exit 0)",
  });
  const body = "if (envelope.tool_command !== 'ls') deny('no');";
  await expect(compileWith(body, tests, "require")).resolves.toBeDefined();
});

test("compile with selftest: require takes a crash for no denial, and lets be what has no self-test", async () => {
  expect(await codesOf(compileWith("throw 1", [selftest("deny")], "require"))).toEqual(["selftest_failed"]);
  await expect(compileWith("throw 1", undefined, "require")).resolves.toBeDefined();
});

test("compile with selftest: require asks functions too", async () => {
  const compile = (handler: () => object | undefined) =>
    compileAgentHooks(
      {
        PreToolUse: [
          { hooks: [{ type: "function", handler: handler as never, selftest: [selftest("deny")] }] },
        ],
      },
      { provider: "claude", cwd: world.project, binary: world.binary, prove: "off", selftest: "require" },
    );
  const denial = { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "no" } };
  await expect(compile(() => denial)).resolves.toBeDefined();
  expect(await codesOf(compile(() => undefined))).toEqual(["selftest_failed"]);
});

test("self-tests do not change what a token is", async () => {
  const one = await compileWith("deny('no')", undefined);
  const other = await compileWith("deny('no')", [selftest("deny")]);
  expect(other.digest).toBe(one.digest);
});

test("an unknown value of selftest is refused", async () => {
  expect(await codesOf(compileWith("", undefined, "sometimes" as never))).toEqual(["option_invalid"]);
});

test("what a guard says of a secret that its env names is not shown, by test or invoke", async () => {
  const env = { ...process.env, SRC: "Zq8-hushhush-99-ABCDEF" };
  const told = { env: { MY_SECRET: "env:SRC" }, selftest: [selftest("deny")] };
  const report = await ask("deny('v=' + process.env.MY_SECRET)", told, { env });
  expect(report.rows).toMatchObject([{ got: "deny", reason: "v=[redacted]" }]);
  const invoked = await invokeHooks("PreToolUse", await world.load(), { env });
  expect(JSON.stringify(invoked)).not.toContain(env.SRC);
  expect(invoked.verdict.decision).toBe("deny");
});

test("a guard whose env names a variable that is not set is listed as one that refuses a run", async () => {
  await ask("", { env: { Q: "env:BRIDLE_TEST_NOWHERE" } });
  expect(await listHooks(await world.load())).toMatchObject([
    { state: "refused", code: "placeholder_unset", problem: expect.stringContaining("BRIDLE_TEST_NOWHERE") },
  ]);
});
