import {
  appendFile,
  chmod,
  mkdtemp,
  realpath,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeDifference, identifyFile, listDifferences } from "../../src/trust/identity.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bridle-identity-")));
  file = join(folder, "guard.sh");
  await writeFile(file, "abc", { mode: 0o755 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("an identity names the real file behind a link and its bytes", async () => {
  await symlink(file, join(folder, "link"));
  const identity = await identifyFile(join(folder, "link"));
  expect(identity).toMatchObject({
    path: file,
    size: 3,
    sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  });
});

test("an identity is frozen", async () => {
  expect(Object.isFrozen(await identifyFile(file))).toBe(true);
});

test("an unchanged file has no difference", async () => {
  expect(await describeDifference(await identifyFile(file))).toBeUndefined();
});

test("a touched file with the same bytes has no difference", async () => {
  const identity = await identifyFile(file);
  await utimes(file, new Date(0), new Date(0));
  expect(await describeDifference(identity)).toBeUndefined();
});

test("a file replaced by one with the same bytes has no difference", async () => {
  const identity = await identifyFile(file);
  await writeFile(`${file}.new`, "abc", { mode: 0o755 });
  await rename(`${file}.new`, file);
  expect(await describeDifference(identity)).toBeUndefined();
});

test("other bytes of the same size and time are seen", async () => {
  const identity = await identifyFile(file);
  await writeFile(file, "abd");
  await utimes(file, new Date(identity.mtimeMs), new Date(identity.mtimeMs));
  expect(await describeDifference(identity)).toBe(`${file} has other bytes`);
});

test("more bytes are seen", async () => {
  const identity = await identifyFile(file);
  await appendFile(file, "d");
  expect(await describeDifference(identity)).toBe(`${file} has other bytes`);
});

test("a file that lost its right to be executed is seen", async () => {
  const identity = await identifyFile(file);
  await chmod(file, 0o644);
  expect(await describeDifference(identity)).toBe(`${file} is no longer executable`);
});

test("a deleted file is seen", async () => {
  const identity = await identifyFile(file);
  await rm(file);
  expect(await describeDifference(identity)).toMatch(/cannot be read: ENOENT/);
});

test("a link in the file's place is seen, whatever it leads to", async () => {
  const identity = await identifyFile(file);
  await rename(file, `${file}.old`);
  await symlink(`${file}.old`, file);
  await chmod(`${file}.old`, 0o755);
  expect(await describeDifference(identity)).toBe(`${file} now leads elsewhere`);
});

test("a folder in the file's place is seen", async () => {
  const identity = { ...(await identifyFile(file)), path: folder };
  expect(await describeDifference(identity)).toBe(`${folder} is no longer a regular file`);
});

test("a list tells all differences", async () => {
  const other = join(folder, "other");
  await writeFile(other, "x");
  const identities = [await identifyFile(file), await identifyFile(other)];
  await appendFile(file, "d");
  await rm(other);
  expect(await listDifferences(identities)).toHaveLength(2);
});

test("a file that changed between two looks has another identity", async () => {
  const before = await identifyFile(file);
  await writeFile(file, "other");
  expect((await identifyFile(file)).sha256).not.toBe(before.sha256);
});

test("a missing file rejects with the file system's own error", async () => {
  await expect(identifyFile(join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
});
