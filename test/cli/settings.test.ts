// check, explain and trust on the settings of a user and a project, through the built command.

import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describePending } from "../../src/cli/trust.ts";
import { DIST } from "../journal/support.ts";
import { group, makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
  await world.guard("project", "g.sh");
});
afterEach(() => world.remove());

function bridle(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const main = join(DIST, "cli/main.js");
  const env = { PATH: process.env.PATH, HOME: world.home, NO_COLOR: "1" };
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { env, cwd: world.project }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}
const compiled = (command: string, ...more: string[]) =>
  bridle(command, "--provider", "claude", "--binary", world.binary, "--prove", "off", ...more);

const IMPORTED = { source: "imported:claude" };

test("check without a file takes the settings of user and project", async () => {
  await world.guard("home", "u.sh");
  await world.declare("home", { Stop: [group(["./u.sh"])] });
  await world.declare("project", { Stop: [group(["./g.sh"])] });
  const { code, stdout } = await compiled("check");
  expect(code).toBe(0);
  expect(stdout).toMatch(/Stop\[0\]\.hooks\[0\] .*u\.sh[\s\S]*Stop\[1\]\.hooks\[0\] .*g\.sh/);
});

test("check and explain with --cwd take those around that folder", async () => {
  await world.declare("project", { Stop: [group(["./g.sh"])] });
  await mkdir(join(world.project, "below"));
  for (const command of ["check", "explain"])
    expect(await compiled(command, "--cwd", join(world.project, "below"))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("g.sh"),
    });
});

test("without any hook they refuse: an agent without a guard is not asked for", async () => {
  for (const command of ["check", "explain"])
    expect(await compiled(command)).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("there is no declaration"),
    });
});

test("explain shows tier, source, place and trust of each entry, those left out too", async () => {
  const file = await world.declare("project", {
    PreToolUse: [group(["./g.sh"])],
    PostToolUse: [group(["./g.sh", "x"], IMPORTED)],
  });
  const { stdout } = await compiled("explain");
  expect(stdout).toContain(
    `PreToolUse[0].hooks[0]  *  ${world.project}/g.sh (+0)\n      60000 ms, on_failure closed\n      project, ${file}:4, needs no trust`,
  );
  expect(stdout).toContain(
    `PostToolUse[0].hooks[0]  left out\n      imported (imported:claude), ${file}:9, NOT TRUSTED`,
  );
});

test("--require-trusted-project refuses until `trust project`", async () => {
  await world.declare("project", { PreToolUse: [group(["./g.sh"])] });
  expect(await compiled("check", "--require-trusted-project")).toMatchObject({ code: 78 });
  expect((await bridle("trust")).stdout).toContain("is not trusted, for runs that require it");
  expect(await bridle("trust", "project")).toMatchObject({ code: 0 });
  expect(await compiled("check", "--require-trusted-project")).toMatchObject({ code: 0 });
  expect(await bridle("trust", "revoke", "--project")).toMatchObject({ code: 0 });
  expect(await compiled("check", "--require-trusted-project")).toMatchObject({ code: 78 });
});

test("trust lists, approves by the head of a hash, and revokes, as text and as JSON", async () => {
  await world.declare("project", { PreToolUse: [group(["./g.sh"], IMPORTED)] });
  expect(await compiled("check")).toMatchObject({
    code: 78,
    stderr: expect.stringContaining("command_untrusted"),
  });
  const listed = await bridle("trust", "--json");
  const { pending, trusted } = JSON.parse(listed.stdout);
  expect([listed.code, pending.length, trusted]).toEqual([1, 1, []]);
  const { hash } = pending[0];
  expect((await bridle("trust")).stdout).toContain(`bridle trust approve ${hash.slice(0, 16)}`);
  const approved = await bridle("trust", "approve", hash.slice(0, 8), "--json");
  expect(JSON.parse(approved.stdout)).toEqual({ type: "approved", approved: [hash], left: [] });
  expect(await compiled("check")).toMatchObject({ code: 0 });
  expect(await bridle("trust")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("nothing is pending"),
  });
  const revoked = await bridle("trust", "revoke", hash, "--json");
  expect(JSON.parse(revoked.stdout)).toEqual({ type: "revoked", revoked: [hash], project: null });
  expect(await compiled("check")).toMatchObject({ code: 78 });
});

test("what is refused of a named file is listed and approved with --hooks", async () => {
  const file = await world.declare("project", { PreToolUse: [group(["./g.sh"], IMPORTED)] }, "hooks.yaml");
  expect(await compiled("check", file)).toMatchObject({ code: 78 });
  expect(await bridle("trust")).toMatchObject({ code: 0 });
  expect(await bridle("trust", "--hooks", file)).toMatchObject({ code: 1 });
  expect(await bridle("trust", "approve", "--all", "--hooks", file)).toMatchObject({ code: 0 });
  expect(await compiled("check", file)).toMatchObject({ code: 0 });
  expect((await compiled("explain", file)).stdout).toContain(
    `imported (imported:claude), ${file}:4, trusted`,
  );
});

test("approve --all leaves what cannot run, and says so", async () => {
  await world.declare("project", { Stop: [group(["./g.sh"], IMPORTED), group(["./none.sh"], IMPORTED)] });
  const { code, stdout } = await bridle("trust", "approve", "--all");
  expect(code).toBe(1);
  expect(stdout).toMatch(/^approved .*g\.sh\nleft .*none\.sh/);
});

test.each([
  [["approve"], "give a hash, or --all"],
  [["approve", "1234567"], "names no command"],
  [["approve", "deadbeef"], "names no command"],
  [["revoke"], "give a hash, --all or --project"],
])("trust %j is refused", async (args, says) => {
  expect(await bridle("trust", ...args)).toMatchObject({ code: 78, stderr: expect.stringContaining(says) });
});

test("a control character in a script or an argument does not reach the terminal as one", async () => {
  await world.guard("project", "g.sh", "echo \u001b[2Jhidden");
  await world.declare("project", { Stop: [group(["./g.sh", "a\u001b[2Kb\nc"], IMPORTED)] });
  const { stdout } = await bridle("trust");
  expect(stdout).not.toContain("\u001b");
  expect(stdout).toContain("hidden");
});

test("the value of a variable with a secret's name is not shown", async () => {
  await world.declare("project", {
    Stop: [group(["./g.sh"], { ...IMPORTED, env: { API_TOKEN: "s3cret-value", PLAIN: "shown" } })],
  });
  for (const args of [["trust"], ["trust", "--json"]]) {
    const { stdout } = await bridle(...args);
    expect(stdout).toContain("shown");
    expect(stdout).not.toContain("s3cret-value");
  }
});

test("the difference of a changed script is shown, or said to be unknown", async () => {
  await world.declare("project", { Stop: [group(["./g.sh"], IMPORTED)] });
  await world.approveAll();
  await world.guard("project", "g.sh", "exit 1");
  const [pending] = await world.pending();
  if (pending === undefined) throw new Error("nothing is pending");
  expect(describePending([pending]).join("\n")).toContain("    | -exit 0\n    | +exit 1");
  const files = pending.files.map(({ diff: _diff, ...file }) => file);
  expect(describePending([{ ...pending, files }]).join("\n")).toContain("what was trusted is not kept");
});
