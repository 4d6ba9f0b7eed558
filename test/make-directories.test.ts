import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeDirectories } from "../src/make-directories.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "bridle-directories-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("every missing level is made, for its owner alone", async () => {
  const root = await folder();
  await makeDirectories(join(root, "a", "b"));
  for (const path of ["a", "a/b"]) expect((await stat(join(root, path))).mode & 0o777).toBe(0o700);
});

test("what is there already is fine, also when several make it at once", async () => {
  const root = await folder();
  await Promise.all([1, 2, 3].map(() => makeDirectories(join(root, "a", "b", "c"))));
  await makeDirectories(root);
});

test("a file in the way is the file system's own error", async () => {
  const root = await folder();
  await writeFile(join(root, "file"), "");
  await expect(makeDirectories(join(root, "file", "below"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.skipIf(process.platform !== "linux")(
  "a place where nothing can be made ends with an error, not never",
  async () => {
    await expect(makeDirectories("/proc/bridle-nowhere/below")).rejects.toMatchObject({ code: "ENOENT" });
  },
);
