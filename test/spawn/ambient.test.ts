import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { scanAmbient } from "../../src/spawn/ambient.ts";

let root: string;
let cwd: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bridle-ambient-"));
  cwd = join(root, "project");
  await mkdir(join(cwd, ".git"), { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const scan = () =>
  scanAmbient({ provider: "claude", cwd, env: { HOME: root }, wantsRules: true, wantsInstructions: true });

it("a FIFO in the place of instructions is said, not waited for", async () => {
  execFileSync("mkfifo", [join(cwd, "CLAUDE.md")]);
  const { instructions, findings } = await scan();
  expect(instructions).toBeUndefined();
  expect(findings).toMatchObject([
    { code: "ambient_unreadable", message: expect.stringContaining("not a regular file") },
  ]);
});

it("a link that leaves the project hands nothing to the model", async () => {
  await writeFile(join(root, "secret.txt"), "the other file");
  await symlink("../secret.txt", join(cwd, "CLAUDE.md"));
  const { instructions, findings } = await scan();
  expect(instructions).toBeUndefined();
  expect(findings).toMatchObject([
    { code: "ambient_dropped", message: expect.stringContaining("leaves the project") },
  ]);
});

it("a link inside the project is followed", async () => {
  await writeFile(join(cwd, "RULES.md"), "be kind");
  await symlink("RULES.md", join(cwd, "CLAUDE.md"));
  expect((await scan()).instructions).toBe("be kind");
});

it("a huge file is cut, and that is said", async () => {
  await writeFile(join(cwd, "CLAUDE.md"), "x".repeat(3 * 1024 * 1024));
  const { instructions, findings } = await scan();
  expect(instructions).toHaveLength(32 * 1024);
  expect(findings).toMatchObject([{ code: "ambient_dropped" }]);
});
