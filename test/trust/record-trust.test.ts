// What is written when a command is trusted, what a person is shown before, and that nothing is lost on the way.

import { execFile } from "node:child_process";
import { chmod, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { approve, type PendingCommand, pendingCommands, readTrust, revoke } from "../../src/index.ts";
import { COPY_MAX_BYTES } from "../../src/trust/kept-copies.ts";
import { HEAD_LINES } from "../../src/trust/show-file.ts";
import { DIST } from "../journal/support.ts";
import { codesOf, group, makeWorld, type World } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.remove());

const IMPORTED = { source: "imported:claude" };
const declare = (...commands: string[][]) =>
  world.declare("project", { Stop: commands.map((command) => group(command, IMPORTED)) });

async function onlyPending(): Promise<PendingCommand> {
  const [pending, ...rest] = await world.pending();
  if (pending === undefined || rest.length > 0) throw new Error(`expected one, got ${rest.length + 1}`);
  return pending;
}

describe("the list", () => {
  test("shows what would run, where it is declared, and the script's head", async () => {
    const script = await world.guard("project", "g.sh", "echo hello");
    const file = await world.declare("project", {
      PreToolUse: [group(["./g.sh", "{home}"], { ...IMPORTED, matcher: "Bash", env: { A: "b" } })],
      Stop: [group(["./g.sh", "{home}"], { ...IMPORTED, env: { A: "b" } })],
    });
    expect(await world.pending()).toMatchObject([
      {
        state: "untrusted",
        command: ["./g.sh", "{home}"],
        runs: [script, world.home],
        env: { A: "b" },
        files: [{ file: script, state: "untrusted", head: "#!/bin/sh\necho hello\n" }, { file: "env" }],
        entries: [
          { event: "PreToolUse", matcher: "Bash", origin: { file, tier: "imported" } },
          { event: "Stop", origin: { file } },
        ],
      },
    ]);
  });

  test("cuts the head of a long script and says so", async () => {
    await world.guard("project", "g.sh", "echo\n".repeat(HEAD_LINES * 2));
    await declare(["./g.sh"]);
    const lines = (await onlyPending()).files[0]?.head?.split("\n") ?? [];
    expect(lines).toHaveLength(HEAD_LINES + 1);
    expect(lines.at(-1)).toMatch(/^… \d+ more lines$/);
  });

  test("shows a changed script as a difference to what was trusted", async () => {
    await world.guard("project", "g.sh", "echo one");
    await declare(["./g.sh"]);
    await world.approveAll();
    await world.guard("project", "g.sh", "echo two");
    const { state, files } = await onlyPending();
    expect([state, files[0]?.state]).toEqual(["changed", "changed"]);
    expect(files[0]?.diff).toContain("\n-echo one\n+echo two\n");
  });

  test("shows no difference when what was trusted is not kept, or is not what its name says", async () => {
    await world.guard("project", "g.sh", "echo one");
    await declare(["./g.sh"]);
    await world.approveAll();
    await world.guard("project", "g.sh", "echo two");
    const folder = join(world.home, ".lionagi/trusted");
    const [copy] = await readdir(folder);
    await writeFile(join(folder, copy as string), "something else");
    expect((await onlyPending()).files[0]).not.toHaveProperty("diff");
    await rm(folder, { recursive: true });
    expect((await onlyPending()).files[0]).not.toHaveProperty("diff");
  });

  test.each([
    ["binary", Buffer.from("\0\x01")],
    ["too large", Buffer.alloc(COPY_MAX_BYTES + 1, "x")],
  ])("a file that is %s is pinned and not shown", async (hidden, bytes) => {
    await writeFile(join(world.project, "data.bin"), bytes);
    await declare(["node", "./data.bin"]);
    expect((await onlyPending()).files).toMatchObject([{ hidden, state: "untrusted" }]);
    await world.approveAll();
    expect(await world.pending()).toEqual([]);
    await writeFile(join(world.project, "data.bin"), Buffer.concat([bytes, bytes]));
    expect(await world.pending()).toMatchObject([{ state: "changed" }]);
  });

  test("names a command whose program is missing, and such a one cannot be approved", async () => {
    await declare(["./none.sh"]);
    const pending = await onlyPending();
    expect(pending.problem).toContain("none.sh");
    expect(await codesOf(approve([pending], { home: world.home }))).toEqual(["command_not_found"]);
    expect((await readTrust(world.home)).commands.size).toBe(0);
  });

  test("leaves out what needs no pin", async () => {
    await world.guard("project", "g.sh");
    await world.declare("project", { Stop: [group(["./g.sh"])] });
    expect(await world.pending()).toEqual([]);
  });
});

describe("pinned is", () => {
  test("a file behind a link, and another behind the same link is not", async () => {
    await world.guard("project", "one.sh");
    await world.guard("project", "two.sh", "exit 1");
    await symlink(join(world.project, "one.sh"), join(world.project, "link.sh"));
    await declare(["./link.sh"]);
    await world.approveAll();
    await rm(join(world.project, "link.sh"));
    await symlink(join(world.project, "two.sh"), join(world.project, "link.sh"));
    expect(await world.pending()).toMatchObject([{ state: "untrusted" }]);
  });

  test("a link in the project that leads to a program of the system: led elsewhere, it would be another guard", async () => {
    await symlink("/bin/sh", join(world.project, "guard"));
    await declare(["./guard"]);
    await world.approveAll();
    await rm(join(world.project, "guard"));
    await symlink("/bin/true", join(world.project, "guard"));
    expect(await world.pending()).toHaveLength(1);
  });

  test("neither an interpreter found through PATH nor a word that names no file", async () => {
    await world.guard("home", "bin/node");
    await declare(["node", "-e", "0", "no/such/file.txt"]);
    const [pending] = await pendingCommands(await world.load(), { path: join(world.home, "bin") });
    expect(pending).toMatchObject({
      runs: [join(world.home, "bin/node"), "-e", "0", "no/such/file.txt"],
      files: [],
    });
  });

  test("a program of the user's that is found through PATH and is no interpreter", async () => {
    const program = await world.guard("home", "bin/guard");
    await declare(["guard"]);
    const [pending] = await pendingCommands(await world.load(), { path: join(world.home, "bin") });
    expect(pending?.files).toMatchObject([{ file: program }]);
  });
});

describe("a record", () => {
  test("leaves every other byte of the user's file as it was", async () => {
    const before = "# my settings\nmodel:   x  # why\n\nlist: [1,\n  2]\n";
    const file = await world.put("home", ".lionagi/settings.yaml", before);
    await chmod(file, 0o640);
    await world.guard("project", "g.sh");
    await declare(["./g.sh"]);
    const hashes = await world.approveAll();
    expect((await world.read("home")).startsWith(before)).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    await revoke(hashes, { home: world.home });
    expect(await world.read("home")).toBe(before);
  });

  test("of another program in the same list is kept, and is revoked with its hash", async () => {
    await world.guard("project", "g.sh");
    await declare(["./g.sh"]);
    const { hash } = await onlyPending();
    await world.put(
      "home",
      ".lionagi/settings.yaml",
      `trusted_hook_commands:\n  - argv_hash: ${hash}\n  - ${"a".repeat(64)}\n`,
    );
    expect(await world.pending()).toHaveLength(1);
    await world.approveAll();
    expect(await world.read("home")).toContain(`- argv_hash: ${hash}\n  - ${"a".repeat(64)}\n  - ${hash}\n`);
    await revoke([hash], { home: world.home });
    expect(await world.read("home")).toBe(`trusted_hook_commands:\n  - ${"a".repeat(64)}\n`);
  });

  test("is made once, however often it is approved", async () => {
    await world.guard("project", "g.sh");
    await declare(["./g.sh"]);
    const pending = await world.pending();
    await approve(pending, { home: world.home });
    const text = await world.read("home");
    await approve(pending, { home: world.home });
    expect(await world.read("home")).toBe(text);
  });

  test("is refused when the script is no longer what was shown", async () => {
    await world.guard("project", "g.sh");
    await declare(["./g.sh"]);
    const pending = await world.pending();
    await world.guard("project", "g.sh", "exit 1");
    expect(await codesOf(approve(pending, { home: world.home }))).toEqual(["command_changed"]);
    expect((await readTrust(world.home)).commands.size).toBe(0);
  });

  test.each([[[]], [["ok", " "]]])("of %j is refused: the third gate", async (command) => {
    const pending: PendingCommand = {
      hash: "",
      command,
      state: "untrusted",
      detail: "",
      runs: [],
      env: {},
      files: [],
      entries: [],
    };
    expect(await codesOf(approve([pending], { home: world.home }))).toEqual(["command_invalid"]);
  });

  test.each(["trusted_hook_commands: { a: 1 }\n", "a: [\n"])(
    "is refused by a user file that cannot be edited, which is left as it is (%j)",
    async (text) => {
      await world.guard("project", "g.sh");
      await declare(["./g.sh"]);
      const pending = await world.pending();
      await world.put("home", ".lionagi/settings.yaml", text);
      expect(await codesOf(approve(pending, { home: world.home }))).toEqual(["declaration_invalid"]);
      expect(await world.read("home")).toBe(text);
    },
  );

  test("that is not understood trusts nothing", async () => {
    await world.put(
      "home",
      ".lionagi/settings.yaml",
      "trusted_hook_commands: [1, null, short, {}]\ntrusted_hook_files: 7\ntrusted_projects: [{ project: / }]\n",
    );
    expect(await readTrust(world.home)).toEqual({ commands: new Set(), files: [], projects: [] });
  });
});

describe("many at a time", () => {
  test("twenty concurrent `trust approve` processes lose no record", async () => {
    const count = 20;
    const names = Array.from({ length: count }, (_, index) => `g${index}.sh`);
    for (const name of names) await world.guard("project", name, `exit 0 # ${name}`);
    await declare(...names.map((name) => [`./${name}`]));
    const pending = await world.pending();
    expect(pending).toHaveLength(count);
    const main = join(DIST, "cli/main.js");
    const run = promisify(execFile);
    await Promise.all(
      pending.map(({ hash }) =>
        run(process.execPath, [main, "trust", "approve", hash, "--cwd", world.project], {
          env: { PATH: process.env.PATH, HOME: world.home },
        }),
      ),
    );
    const { commands, files } = await readTrust(world.home);
    expect([...commands].sort()).toEqual(pending.map(({ hash }) => hash).sort());
    expect(files.map(({ file }) => file).sort()).toEqual(
      names.map((name) => join(world.project, name)).sort(),
    );
    expect(await world.pending()).toEqual([]);
  }, 120_000);
});
