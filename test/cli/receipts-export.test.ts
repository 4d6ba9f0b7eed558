// bridle receipts export: what comes out, where it goes, and how much memory that takes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  createWriteStream,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import Driver from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toCell } from "../../src/cli/receipts/csv.ts";
import { createJsonlStore, readJsonlStore } from "../../src/index.ts";
import { collect, hook, receipt } from "../store/support.ts";
import { at, type Desk, HOST_LINES, idsOf, MAIN, makeDesk, RUN } from "./receipts-support.ts";

let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
});
afterEach(() => desk.remove());

describe("export", () => {
  test.each(["jsonl", "sqlite"] as const)(
    "of a host's %s is a file that a host's reader reads",
    async (of) => {
      const out = join(desk.path, "out.jsonl");
      const from = await desk.writeHost(of);
      expect(await desk.bridle("export", "--from", from, "--out", out)).toEqual({
        code: 0,
        stdout: `4 line(s) written to ${out}\n`,
        stderr: "",
      });
      const lines = readJsonlStore(out);
      expect(await collect(lines)).toEqual([
        { kind: "hook", ...hook({ matcher: "Bash" }) },
        ...HOST_LINES.map((line) => ({ kind: "execution", ...line })),
      ]);
      expect(statSync(out).mode & 0o777).toBe(0o600);
    },
  );

  test("of runs is their lines as they are", async () => {
    const file = desk.writeRun(RUN, { session: "s1" });
    expect((await desk.bridle("export")).stdout).toBe(readFileSync(file, "utf8"));
  });

  test("as CSV has a head, a row a line, and no formula", async () => {
    const store = createJsonlStore({ path: desk.host });
    store.write(receipt({ id: "=1+1", tool_name: "@x", error: '-a, "b"\nc' }));
    store.close();
    const { stdout } = await desk.bridle("export", "--format", "csv", "--from", desk.host);
    const [head = "", row = ""] = stdout.split("\r\n");
    expect(head).toMatch(/^at,kind,id,run_id,session_id,/);
    expect(row).toContain(`${at(0)},execution,'=1+1,run-1,session-1,0,1,tenant-1,,PreToolUse,`);
    expect(row).toContain(`,'@x,`);
    expect(row).toContain(`,"'-a, ""b""\nc",`);
    expect(head.split(",")).toHaveLength(28);
  });

  test("as CSV is the same for a file and a store", async () => {
    const exported = await Promise.all(
      (["jsonl", "sqlite"] as const).map(async (of) =>
        desk.bridle("export", "--format", "csv", "--from", await desk.writeHost(of)),
      ),
    );
    const [a, b] = exported.map(({ stdout }) => stdout);
    expect(a).toBe(b);
  });

  test("of runs as CSV says session, tool and status on each line, and the outcome", async () => {
    desk.writeRun(RUN, { session: "s1" });
    const { stdout } = await desk.bridle("export", "--format", "csv");
    const [head = [], ...rows] = stdout
      .trimEnd()
      .split("\r\n")
      .map((line) => line.split(","));
    const column = (name: string) => rows.map((row) => row[head.indexOf(name)]);
    expect(column("session_id")).toEqual(rows.map(() => "s1"));
    expect(column("tool_name").slice(0, 4)).toEqual(["", "Bash", "Bash", "Bash"]);
    expect(column("status")).toEqual(["", "", "ok", "", "timed_out", "", ""]);
    expect(column("outcome").at(-1)).toBe("success");
  });

  test("does not write over a file, and does with --force; nothing else is left", async () => {
    const out = join(desk.path, "out");
    writeFileSync(out, "precious", { mode: 0o644 });
    await desk.writeHost("jsonl");
    expect(await desk.bridle("export", "--from", desk.host, "--out", out)).toMatchObject({
      code: 78,
      stdout: "",
      stderr: expect.stringMatching(/--out .*out: is there already .*--force/),
    });
    expect(readFileSync(out, "utf8")).toBe("precious");
    const { stdout } = await desk.bridle("export", "--from", desk.host, "--out", out, "--force", "--json");
    expect(JSON.parse(stdout)).toEqual({ type: "exported", path: out, lines: 4, problems: [] });
    expect([readFileSync(out, "utf8"), statSync(out).mode & 0o777]).toEqual([
      readFileSync(desk.host, "utf8"),
      0o600,
    ]);
    expect(readdirSync(desk.path).sort()).toEqual(["host.jsonl", "out"]);
  });

  test("with --force replaces a link, not what it points to", async () => {
    const out = join(desk.path, "out");
    writeFileSync(join(desk.path, "target"), "precious");
    symlinkSync(join(desk.path, "target"), out);
    await desk.writeHost("jsonl");
    expect((await desk.bridle("export", "--from", desk.host, "--out", out, "--force")).code).toBe(0);
    expect(readFileSync(join(desk.path, "target"), "utf8")).toBe("precious");
  });

  describe("does not replace its own source, with or without --force:", () => {
    const beside = (name: string) => (from: string) => `${from}${name}`;
    const linked = (make: typeof symlinkSync | typeof linkSync) => (from: string) => {
      const out = join(desk.path, "another-name");
      make(from, out);
      return out;
    };
    const cases: [string, "jsonl" | "sqlite", (from: string) => string][] = [
      ["a file of lines", "jsonl", beside("")],
      ["a store", "sqlite", beside("")],
      ["a path with detours", "jsonl", (from) => join(from, "..", ".", "sub", "..", "host.jsonl")],
      ["a symbolic link to it", "jsonl", linked(symlinkSync)],
      ["a hard link to it", "jsonl", linked(linkSync)],
      [
        "a folder that is a link",
        "sqlite",
        (from) => {
          symlinkSync(desk.path, join(desk.path, "folder"));
          return join(desk.path, "folder", basename(from));
        },
      ],
      ["a store's -wal", "sqlite", beside("-wal")],
      ["a store's -shm", "sqlite", beside("-shm")],
      ["a store's -journal", "sqlite", beside("-journal")],
    ];
    test.each(cases)("%s", async (_, of, choose) => {
      const from = await desk.writeHost(of);
      const before = readFileSync(from);
      const out = choose(from);
      for (const force of [[], ["--force"]])
        expect(await desk.bridle("export", "--from", from, "--out", out, ...force)).toMatchObject({
          code: 78,
          stdout: "",
          stderr: expect.stringMatching(/option_invalid --out .*: is the source itself/),
        });
      expect(readFileSync(from)).toEqual(before);
    });

    test("a file of a folder that is read, or a new one that would be read with it", async () => {
      const file = desk.writeRun(RUN, { session: "s1" });
      const before = readFileSync(file);
      const link = join(desk.path, "link");
      symlinkSync(desk.runs, link);
      for (const from of [[], ["--from", desk.runs], ["--from", link]])
        for (const [out, word] of [
          [file, "is the source itself"],
          [join(link, basename(file)), "is the source itself"],
          [join(desk.runs, "new.jsonl"), "would be read with it"],
          [join(link, "new.jsonl"), "would be read with it"],
        ] as const)
          expect(await desk.bridle("export", ...from, "--out", out, "--force")).toMatchObject({
            code: 78,
            stderr: expect.stringContaining(word),
          });
      expect([readFileSync(file), readdirSync(desk.runs)]).toEqual([before, [basename(file)]]);
      const csv = join(desk.runs, "out.csv");
      expect((await desk.bridle("export", "--format", "csv", "--out", csv)).code).toBe(0);
    });
  });

  test("of a store passes over a row that cannot be read, says so and exits with 1", async () => {
    const path = await desk.writeHost("sqlite");
    const database = new Driver(path);
    database.exec("UPDATE hook_execution SET notes = 'x' WHERE id = 'h2'; UPDATE hook SET priority = 'x'");
    database.close();
    const problems = ["hook", "hook_execution"].map((of) => `${path}: 1 row(s) of ${of} could not be read`);
    const told = { code: 1, stderr: problems.map((one) => `bridle: ${one}\n`).join("") };
    const exported = await desk.bridle("export", "--from", path);
    expect([exported, idsOf(exported.stdout)]).toMatchObject([told, ["h1", "h3"]]);
    const out = join(desk.path, "out");
    const { stdout, ...written } = await desk.bridle("export", "--from", path, "--out", out, "--json");
    expect([written, JSON.parse(stdout)]).toEqual([
      told,
      { type: "exported", path: out, lines: 2, problems },
    ]);
    const listed = await desk.bridle("list", "--from", path, "--json");
    expect([listed.code, JSON.parse(listed.stdout).problems]).toEqual([1, problems]);
    const shown = await desk.bridle("show", "session-1", "--from", path);
    expect(shown).toMatchObject({ code: 1, stderr: `bridle: ${problems[1]}\n` });
  });

  test("that fails on its way leaves no file", async () => {
    const link = join(desk.path, "link.jsonl");
    await desk.writeHost("jsonl");
    symlinkSync(desk.host, link);
    const out = join(desk.path, "out");
    expect(await desk.bridle("export", "--from", link, "--out", out)).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("is a symbolic link"),
    });
    expect(readdirSync(desk.path).filter((name) => name.includes("out"))).toEqual([]);
  });

  test("into a folder that is not there is refused with the system's word", async () => {
    await desk.writeHost("jsonl");
    expect(await desk.bridle("export", "--from", desk.host, "--out", "none/out")).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("ENOENT"),
    });
  });
});

test.each([
  ["plain", "plain"],
  ["", ""],
  ["a,b", '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ["two\nlines", '"two\nlines"'],
  ["=1", "'=1"],
  ["+1", "'+1"],
  ["-1", "'-1"],
  ["@x", "'@x"],
  ["\t=1", "'\t=1"],
  ["\r=1", '"\'\r=1"'],
  ["＝1", "'＝1"],
  ['=A1,"x"', '"\'=A1,""x"""'],
  ["a=1", "a=1"],
])("the CSV cell of %j is %j", (text, cell) => {
  expect(toCell(text)).toBe(cell);
});

describe("a huge file", () => {
  const LINES = 10_000;
  beforeEach(async () => {
    const file = createWriteStream(desk.host, { mode: 0o600 });
    const text = "x".repeat(8_000);
    for (let seq = 0; seq < LINES; seq += 1) {
      const line = JSON.stringify({ kind: "execution", ...receipt({ id: `i${seq}`, seq, error: text }) });
      if (!file.write(`${line}\n`)) await once(file, "drain");
    }
    file.end();
    await once(file, "close");
  });

  const start = (...args: string[]) =>
    spawn(process.execPath, ["--max-old-space-size=64", MAIN, "receipts", ...args, "--from", desk.host], {
      env: desk.env,
      stdio: ["ignore", "pipe", "pipe"],
    });

  test("is exported, listed and shown in little memory", async () => {
    expect(statSync(desk.host).size).toBeGreaterThan(80_000_000);
    for (const [args, bytes] of [
      [["export"], statSync(desk.host).size],
      [["show", "run-1", "--json"], statSync(desk.host).size],
      [["list", "--json"], undefined],
    ] as const) {
      const child = start(...args);
      let seen = 0;
      child.stdout.on("data", (chunk: Buffer) => {
        seen += chunk.length;
      });
      const [code] = await once(child, "exit");
      expect(code).toBe(0);
      if (bytes !== undefined) expect(seen).toBe(bytes);
    }
  });

  test("of which only the head is read ends quietly", async () => {
    for (const args of [["export"], ["show", "run-1"]]) {
      const child = start(...args);
      let stderr = "";
      child.stderr.on("data", (chunk: Buffer) => {
        stderr += chunk;
      });
      await once(child.stdout, "data");
      child.stdout.destroy();
      expect([await once(child, "exit"), stderr]).toEqual([[0, null], ""]);
    }
  });
});
