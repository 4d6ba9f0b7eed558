import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { createRunDirectory } from "../../src/broker/run-directory.ts";
import { verifyRunDirectory } from "../../src/broker/run-directory-identity.ts";
import { removeAbandonedSpares } from "../../src/broker/spare-directories.ts";
import { ownerName } from "../../src/exec/owner-name.ts";
import { makeScratch, removeScratch } from "./support.ts";

let scratch: string;
let parent: string;
let cwd: string;
beforeEach(async () => {
  scratch = await makeScratch();
  parent = join(scratch, "state");
  cwd = join(scratch, "work");
  await mkdir(parent, { mode: 0o700 });
  await mkdir(cwd);
});
afterEach(() => removeScratch(scratch));

const create = (runId: string) => createRunDirectory({ runId, cwd, forbidden: [], parent });
const spares = async () => (await readdir(parent)).filter((name) => name.startsWith(".spare-"));

describe("run directories that are made ahead", () => {
  test("come with the second run, are as good as new, and are used up before others are made", async () => {
    await create("r1");
    expect(await spares()).toEqual([]);
    await create("r2");
    const [spare = ""] = await spares();
    const { ino } = await lstat(join(parent, spare));
    const third = await create("r3");
    expect([(await lstat(third.path)).ino, await spares()]).toEqual([ino, []]);
    expect(third.path).toBe(join(parent, "r3"));
    expect(await verifyRunDirectory(third)).toEqual([]);
    expect((await lstat(third.shimDir)).mode & 0o777).toBe(0o500);
    expect((await readdir(third.path)).sort()).toEqual(["b", "e", "q", "r", "s"]);
  });

  test("are at most eight at a time, and no two runs get the same", async () => {
    const made = new Set<number>();
    for (let nth = 0; nth < 30; nth += 1) {
      const { path } = await create(`r${nth}`);
      made.add((await lstat(path)).ino);
      expect((await spares()).length).toBeLessThanOrEqual(8);
    }
    expect(made.size).toBe(30);
  });

  test("are no other's when many runs begin at once", async () => {
    const directories = await Promise.all(Array.from({ length: 40 }, (_, nth) => create(`r${nth}`)));
    const inodes = await Promise.all(directories.map(async ({ path }) => (await lstat(path)).ino));
    expect(new Set(inodes).size).toBe(40);
    for (const directory of directories) expect(await verifyRunDirectory(directory)).toEqual([]);
  });

  test.each<[string, (spare: string) => Promise<unknown>]>([
    ["was removed", (spare) => rm(spare, { recursive: true })],
    [
      "has another shim",
      (spare) => rm(join(spare, "s", "shim")).then(() => writeFile(join(spare, "s", "shim"), "exit 0")),
    ],
    ["lets others read it", (spare) => chmod(spare, 0o755)],
    [
      "has a file in the place of a FIFO",
      (spare) => rm(join(spare, "r", "3")).then(() => writeFile(join(spare, "r", "3"), "")),
    ],
    ["holds an envelope already", (spare) => writeFile(join(spare, "e", "0"), "{}")],
    ["holds a home already", (spare) => mkdir(join(spare, "home"))],
    [
      "has a file beside the envelopes' folder",
      (spare) => rm(join(spare, "e"), { recursive: true }).then(() => writeFile(join(spare, "e"), "")),
    ],
  ])("one that %s is no run's", async (_what, change) => {
    await create("r1");
    await create("r2");
    const [spare = ""] = await spares();
    // Looks like nothing that was made: only who is given this very directory has it.
    await utimes(join(parent, spare), 1, 1);
    await change(join(parent, spare));
    const third = await create("r3");
    expect(await verifyRunDirectory(third)).toEqual([]);
    expect((await lstat(third.path)).mtimeMs).toBeGreaterThan(1_000);
    expect((await readdir(third.path)).sort()).toEqual(["b", "e", "q", "r", "s"]);
    expect(await readdir(join(third.path, "e"))).toEqual([]);
    expect(existsSync(join(parent, spare))).toBe(false);
  });

  test("never take the place of anything", async () => {
    await create("r1");
    await create("r2");
    await mkdir(join(parent, "r3"));
    await expect(create("r3")).rejects.toThrow("never reused");
    expect(await readdir(join(parent, "r3"))).toEqual([]);
  });

  test("are gone with the program that made them", async () => {
    const program = `
      import { createRunDirectory } from ${JSON.stringify(moduleUrl("broker/run-directory.js"))};
      import { readdirSync } from "node:fs";
      for (const runId of ["r1", "r2"]) await createRunDirectory({ runId, cwd: ${JSON.stringify(cwd)}, forbidden: [], parent: ${JSON.stringify(parent)} });
      console.log(readdirSync(${JSON.stringify(parent)}).length);`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
    expect([stdout.trim(), await spares()]).toEqual(["3", []]);
  });

  test("of a killed program are removed by the next, and those of a living one are not", async () => {
    const [pid = "", , place = ""] = ownerName().split("-");
    const dead = `.spare-${pid}-1-${place}-0123456789ab`;
    const alive = `.spare-${ownerName()}-0123456789ab`;
    await mkdir(join(parent, dead, "s"), { recursive: true });
    await mkdir(join(parent, alive));
    await mkdir(join(parent, ".spare-other"));
    await removeAbandonedSpares(parent);
    expect((await readdir(parent)).sort()).toEqual([alive, ".spare-other"].sort());
  });
});

function moduleUrl(path: string): string {
  return pathToFileURL(join(inject("dist"), path)).href;
}
