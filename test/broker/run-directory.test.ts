import { chmod, lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CreateRunDirectoryOptions, createRunDirectory } from "../../src/broker/run-directory.ts";
import { verifyRunDirectory } from "../../src/broker/run-directory-identity.ts";
import { SHIM_TEXT } from "../../src/broker/shim.ts";
import { AgentHooksRefused } from "../../src/errors.ts";
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

const create = (overrides: Partial<CreateRunDirectoryOptions> = {}) =>
  createRunDirectory({ runId: "run-1", cwd, forbidden: [], parent, ...overrides });
const modeOf = async (path: string) => ((await lstat(path)).mode & 0o777).toString(8);

async function expectRefused(promise: Promise<unknown>, text: RegExp): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AgentHooksRefused);
  expect((error as AgentHooksRefused).issues.map(({ code }) => code)).toEqual(["run_dir_unsafe"]);
  expect((error as AgentHooksRefused).message).toMatch(text);
}

describe("a run directory", () => {
  it("is private, and the shim and its folder cannot be written", async () => {
    const { path, shimDir, shimPath, requestFifo } = await create();
    expect(path).toBe(join(parent, "run-1"));
    expect(await Promise.all([path, shimDir, shimPath, requestFifo].map(modeOf))).toEqual([
      "700",
      "500",
      "500",
      "600",
    ]);
    expect(await readFile(shimPath, "utf8")).toBe(SHIM_TEXT);
    expect((await lstat(requestFifo)).isFIFO()).toBe(true);
  });

  it("is private whatever the umask is", async () => {
    const before = process.umask(0);
    try {
      const { path, requestFifo, write } = await create();
      const file = await write("a/b", "x");
      expect(await Promise.all([path, requestFifo, file, join(path, "a")].map(modeOf))).toEqual([
        "700",
        "600",
        "600",
        "700",
      ]);
    } finally {
      process.umask(before);
    }
  });

  it("is gone after remove, which may be called again", async () => {
    const { path, remove } = await create();
    await remove();
    await remove();
    await expect(lstat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is not removed when another directory has its place", async () => {
    const { path, remove } = await create();
    await rename(path, join(scratch, "elsewhere"));
    await mkdir(path);
    await expect(remove()).rejects.toThrow(/left alone/);
    expect((await lstat(path)).isDirectory()).toBe(true);
  });

  it("makes its missing parents private", async () => {
    const deep = join(scratch, "a", "b");
    await create({ parent: deep });
    expect([await modeOf(join(scratch, "a")), await modeOf(deep)]).toEqual(["700", "700"]);
  });

  it("lies in XDG_RUNTIME_DIR when that is ours alone, else in the state directory", async () => {
    const runtime = join(scratch, "runtime");
    await mkdir(runtime, { mode: 0o700 });
    const env = { XDG_RUNTIME_DIR: runtime, XDG_STATE_HOME: join(scratch, "xdg"), HOME: scratch };
    const where = async (runId: string, extra: NodeJS.ProcessEnv) =>
      (await createRunDirectory({ runId, cwd, forbidden: [], env: extra })).path;
    expect(await where("r1", env)).toBe(join(runtime, "bridle", "r1"));
    await chmod(runtime, 0o755);
    expect(await where("r2", env)).toBe(join(scratch, "xdg", "bridle", "run", "r2"));
    expect(await where("r3", { HOME: scratch })).toBe(
      join(scratch, ".local", "state", "bridle", "run", "r3"),
    );
  });
});

describe("a run directory is refused", () => {
  it("inside the working directory", () =>
    expectRefused(create({ parent: cwd }), /overlaps the working directory/));
  it("above the working directory", async () => {
    await mkdir(join(parent, "run-1", "work"), { recursive: true });
    await expectRefused(create({ cwd: join(parent, "run-1", "work") }), /overlaps the working directory/);
  });
  it("inside /tmp", () => expectRefused(create({ parent: "/tmp/bridle-x" }), /overlaps \/tmp/));
  it("inside TMPDIR", () =>
    expectRefused(create({ env: { TMPDIR: parent } }), /overlaps the temporary directory/));
  it("inside a directory the agent may write to", () =>
    expectRefused(create({ forbidden: [scratch] }), /overlaps a directory the agent may write to/));
  it("inside such a directory that is named by a symlink, or relative to cwd", async () => {
    await symlink(parent, join(cwd, "link"));
    await expectRefused(create({ forbidden: [join(cwd, "link")] }), /overlaps/);
    await expectRefused(create({ forbidden: ["../state"] }), /overlaps/);
  });
  it("reached through a symlink that leads into the working directory", async () => {
    await symlink(cwd, join(scratch, "link"));
    await expectRefused(create({ parent: join(scratch, "link") }), /overlaps the working directory/);
  });
  it("with a quote in its path", () => expectRefused(create({ parent: join(scratch, "a'b") }), /quote/));
  it("with a line break in its path", () =>
    expectRefused(create({ parent: join(scratch, "a\nb") }), /line break/));
  it("under a parent that others may write to", async () => {
    await chmod(parent, 0o770);
    await expectRefused(create(), /may be written by others/);
  });
  it("under a parent that is a file", async () => {
    await writeFile(join(scratch, "file"), "");
    await expectRefused(create({ parent: join(scratch, "file") }), /no directory/);
  });
  it("under a relative parent", () => expectRefused(create({ parent: "state" }), /not absolute/));
  it("when it exists already, also as a symlink", async () => {
    await symlink(cwd, join(parent, "run-1"));
    await expectRefused(create(), /EEXIST/);
  });
  it("for a run id that is no plain name", () =>
    expectRefused(create({ runId: "../x" }), /cannot name a folder/));
  it("without leaving anything in a parent that would have been made", async () => {
    await expectRefused(create({ parent: join(cwd, "made") }), /overlaps/);
    expect(await readdir(cwd)).toEqual([]);
  });
  it.skipIf(process.getuid?.() !== 0)("under a parent of another user", async () => {
    const { chown } = await import("node:fs/promises");
    await chown(parent, 12345, 12345);
    await expectRefused(create(), /belongs to uid 12345/);
  });
});

describe("a file written into it", () => {
  it("has the mode asked for", async () => {
    const { write } = await create();
    expect(await modeOf(await write("home/x.sh", "#!/bin/sh\n", 0o500))).toBe("500");
  });
  it.each(["../x", "/etc/x", "", ".", "a/../../x", "a/"])(
    "is not written outside of it: %j",
    async (name) => {
      const { write } = await create();
      await expect(write(name, "x")).rejects.toThrow(TypeError);
    },
  );
  it("never replaces another, nor follows a symlink", async () => {
    const { path, write } = await create();
    await write("a", "1");
    await expect(write("a", "2")).rejects.toMatchObject({ cause: { code: "EEXIST" } });
    await symlink(join(cwd, "target"), join(path, "link"));
    await expect(write("link", "2")).rejects.toMatchObject({ cause: { code: "EEXIST" } });
    await symlink(cwd, join(path, "folder"));
    await expectRefused(write("folder/x", "2"), /symlink/);
    expect(await readdir(cwd)).toEqual([]);
  });
});

describe("verifying", () => {
  it("an untouched directory finds nothing, also after use", async () => {
    const directory = await create();
    await directory.write("settings.json", "{}");
    await writeFile(join(directory.path, "e", "0"), "{}");
    expect(await verifyRunDirectory(directory)).toEqual([]);
  });

  it.each<[string, (path: string) => Promise<unknown>, RegExp]>([
    [
      "the shim's bytes",
      (path) => writeFile(join(path, "s", "shim"), "exit 0"),
      /s\/shim changed|bytes changed/,
    ],
    ["the shim's mode", (path) => chmod(join(path, "s", "shim"), 0o777), /s\/shim changed \(mode/],
    ["the shim deleted", (path) => rm(join(path, "s", "shim")), /s\/shim cannot be looked at \(ENOENT\)/],
    ["the queue deleted", (path) => rm(join(path, "q")), /q cannot be looked at/],
    [
      "a slot replaced by a file",
      (path) => rm(join(path, "r", "3")).then(() => writeFile(join(path, "r", "3"), "")),
      /r\/3 changed \(type/,
    ],
    [
      "a folder replaced by a symlink",
      (path) => rm(join(path, "e"), { recursive: true }).then(() => symlink("/", join(path, "e"))),
      /e changed \(type/,
    ],
    ["the directory opened", (path) => chmod(path, 0o755), /the run directory changed \(mode\)/],
  ])("finds %s", async (_name, change, text) => {
    const directory = await create();
    await change(directory.path);
    expect((await verifyRunDirectory(directory)).join("\n")).toMatch(text);
  });
});
