// Nothing that may hold a guard is passed over without a word, and nothing is waited for.

import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { validateFile } from "../../src/declaration/validate-settings.ts";
import { loadDeclaration } from "../../src/index.ts";
import { group, issuesOf, makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
  await world.guard("project", "g.sh");
});
afterEach(() => world.remove());

const STOP = { Stop: [group(["./g.sh"])] };

test.each([
  ["settings of another ending", ".lionagi/settings.yml"],
  ["a fragment with a leading dot", ".lionagi/hooks/.a.yaml"],
  ["a fragment in a subfolder", ".lionagi/hooks/sub/a.yaml"],
])("%s refuse", async (_name, name) => {
  await world.declare("project", STOP, name);
  expect(await issuesOf(world.load())).toMatchObject([
    { code: "declaration_invalid", path: join(world.project, name) },
  ]);
});

test("a folder of fragments that is a link to nothing refuses", async () => {
  await world.declare("project", STOP);
  await symlink("nowhere", join(world.project, ".lionagi/hooks"));
  expect(await issuesOf(world.load())).toMatchObject([{ path: join(world.project, ".lionagi/hooks") }]);
});

test("a FIFO is not waited for", async () => {
  await mkdir(join(world.project, ".lionagi"));
  const file = join(world.project, ".lionagi/settings.yaml");
  execFileSync("mkfifo", [file]);
  const refused = [{ path: file, message: expect.stringContaining("no regular file") }];
  expect(await issuesOf(world.load())).toMatchObject(refused);
  expect(await issuesOf(loadDeclaration(file))).toMatchObject(refused);
  expect(await validateFile({ path: file })).toMatchObject({ issues: refused });
});

test("bytes that are no UTF-8 refuse", async () => {
  const file = await world.declare("project", STOP);
  await writeFile(
    file,
    Buffer.from("hooks_external: {Stop: [{hooks: [{type: command, command: [a\xff]}]}]}", "latin1"),
  );
  expect(await issuesOf(world.load())).toMatchObject([{ message: expect.stringContaining("not UTF-8") }]);
});

test("trust is read where the settings were, without a word about it at compile", async () => {
  await world.declare("project", { Stop: [group(["./g.sh"], { source: "imported:claude" })] });
  await world.approveAll();
  const { declaration, origins } = await world.load();
  const { compileAgentHooks } = await import("../../src/index.ts");
  const hooks = await compileAgentHooks(declaration, {
    provider: "claude",
    cwd: world.project,
    origins,
    binary: world.binary,
    prove: "off",
  });
  expect(hooks.describe()).toMatchObject({ skipped: [] });
});
