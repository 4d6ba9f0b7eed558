import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type DirectoryWatch, watchWorkingDirectory } from "../../src/spawn/watch-cwd.ts";

let root: string;
let cwd: string;
let lost: string[];
let watched: DirectoryWatch;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "bridle-cwd-"));
  cwd = join(root, "project");
  await mkdir(cwd);
  lost = [];
  watched = watchWorkingDirectory(cwd, (detail) => lost.push(detail));
});
afterEach(async () => {
  watched.close();
  await rm(root, { recursive: true, force: true });
});
const toldOnce = () => vi.waitFor(() => expect(lost).toHaveLength(1), { timeout: 5_000, interval: 5 });

it("a renamed directory is told once", async () => {
  await rename(cwd, `${cwd}-away`);
  await toldOnce();
  watched.look();
  expect(lost).toHaveLength(1);
});

it.skipIf(process.platform !== "linux")("a directory that was moved and put back is told", async () => {
  await rename(cwd, `${cwd}-away`);
  await rename(`${cwd}-away`, cwd);
  await toldOnce();
});

it("another directory in its place is told", async () => {
  await rename(cwd, `${cwd}-away`);
  await mkdir(cwd);
  watched.look();
  expect(lost).toHaveLength(1);
});

it("ordinary work inside it is not, also in an entry of the same name", async () => {
  await mkdir(join(cwd, "project"));
  await writeFile(join(cwd, "a"), "a");
  await rename(join(cwd, "a"), join(cwd, "b"));
  watched.look();
  expect(lost).toEqual([]);
});
