// bridle receipts list and show as commands, on files of runs, files of hosts and stores.

import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Driver from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createJsonlStore } from "../../src/index.ts";
import { receipt } from "../store/support.ts";
import { at, type Desk, idsOf, MAIN, makeDesk, RUN, SECOND_RUN } from "./receipts-support.ts";

let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
});
afterEach(() => desk.remove());

describe("list", () => {
  test("without any run says so", async () => {
    expect(await desk.bridle("list")).toEqual({
      code: 0,
      stdout: `no receipts in ${desk.runs}\n`,
      stderr: "",
    });
  });

  test("is one row a run with its counts, times and outcome, the latest first", async () => {
    desk.writeRun(RUN, { session: "s1" });
    desk.writeRun(SECOND_RUN, { session: "s2", first: 20 });
    const { code, stdout } = await desk.bridle("list", "--json");
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        type: "receipts",
        problems: [],
        runs: [
          expect.objectContaining({ run_id: SECOND_RUN }),
          {
            of: "run",
            run_id: RUN,
            session_id: "s1",
            first_at: at(0),
            last_at: at(6),
            hooks: 2,
            denied: 1,
            failed: 1,
            outcome: "success",
          },
        ],
      },
    ]);
    expect((await desk.bridle("list")).stdout.split("\n").slice(0, 2)).toEqual([
      expect.stringMatching(/^RUN +SESSION +FIRST +LAST +HOOKS +DENIED +FAILED +OUTCOME$/),
      `11111111-bbbb  s2       ${at(20)}  ${at(26)}  2      1       1       success`,
    ]);
    expect(JSON.parse((await desk.bridle("list", "--json", "--limit", "1")).stdout).runs).toHaveLength(1);
  });

  test("counts what the filters leave, and knows the outcome all the same", async () => {
    desk.writeRun(RUN, { session: "s1" });
    desk.writeRun(SECOND_RUN, { session: "s2", first: 20 });
    const { stdout } = await desk.bridle("list", "--json", "--status", "timed_out", "--until", at(10));
    expect(JSON.parse(stdout).runs).toEqual([
      {
        of: "run",
        run_id: RUN,
        session_id: "s1",
        first_at: at(4),
        last_at: at(4),
        hooks: 1,
        denied: 0,
        failed: 1,
        outcome: "success",
      },
    ]);
  });

  test.each(["jsonl", "sqlite"] as const)("of a host's %s is one row a session", async (of) => {
    const { stdout } = await desk.bridle("list", "--json", "--from", await desk.writeHost(of));
    expect(JSON.parse(stdout).runs).toEqual([
      expect.objectContaining({ of: "host", session_id: "session-2", hooks: 1, denied: 0, failed: 1 }),
      {
        of: "host",
        run_id: "run-1",
        session_id: "session-1",
        owner_id: "tenant-1",
        first_at: at(1),
        last_at: at(2),
        hooks: 2,
        denied: 1,
        failed: 1,
      },
    ]);
  });
});

describe("show", () => {
  test("tells the lines of a run in their order, denials and failures in capitals", async () => {
    desk.writeRun(RUN, { session: "s1" });
    expect(await desk.bridle("show", RUN)).toEqual({
      code: 0,
      stderr: "",
      stdout: `${at(0)}  run_started  codex 0.171.0, session s1, in /srv/project
${at(1)}  fired  PreToolUse #1 Bash
${at(2)}  PreToolUse #1 Bash  PreToolUse[0].hooks[0]  DENIED  12 ms  exit 2
${at(3)}  verdict  PreToolUse #1 Bash  DENIED  13 ms  by PreToolUse[0].hooks[0]
${at(4)}  PostToolUse #2  PostToolUse[0].hooks[0]  TIMED OUT, none  1000 ms  timeout  1 process(es) left behind
    hook_timeout: no answer within 1000 ms
${at(5)}  FAULT  late PreToolUse: call 3
${at(6)}  run_ended  success: final message  5000 ms, processes proven
`,
    });
  });

  test.each(["jsonl", "sqlite"] as const)(
    "tells a session of a host's %s, with a failure's own words",
    async (of) => {
      const from = await desk.writeHost(of);
      expect(
        (await desk.bridle("show", "session-1", "--from", from)).stdout,
      ).toBe(`${at(1)}  PreToolUse #1 Bash  PreToolUse[0].hooks[0] (command)  none  12 ms  exit 0
${at(2)}  PreToolUse #1 Read  PreToolUse[0].hooks[0] (command)  TIMED OUT, DENIED  12.5 ms  timeout  asked: refused  in the background  hook_timeout, denied_by_exit
    first line\\nsecond "line"
`);
      expect(idsOf((await desk.bridle("show", "run-", "--json", "--from", from)).stdout)).toEqual([
        "h1",
        "h2",
        "h3",
      ]);
    },
  );

  test.each([
    ["the beginning of a run's id", "11111111-a"],
    ["a session's id", "s1"],
  ])("takes %s", async (_, id) => {
    desk.writeRun(RUN, { session: "s1" });
    desk.writeRun(SECOND_RUN, { session: "s2" });
    const { code, stdout } = await desk.bridle("show", id);
    expect([code, stdout]).toEqual([0, expect.stringContaining("session s1")]);
    expect(stdout).not.toContain("session s2");
  });

  test("a whole id is meant also when another begins with it", async () => {
    desk.writeRun("r1", { session: "s1" });
    desk.writeRun("r12", { session: "s2" });
    expect((await desk.bridle("show", "r1")).stdout).toContain("session s1");
  });

  test.each(["folder", "sqlite"])(
    "a beginning that several ids share is refused, and lists them: %s",
    async (of) => {
      desk.writeRun(RUN, { session: "s1" });
      desk.writeRun(SECOND_RUN, { session: "s2" });
      const { code, stderr } = await (of === "folder"
        ? desk.bridle("show", "11111111")
        : desk.bridle("show", "session", "--from", await desk.writeHost("sqlite")));
      expect(code).toBe(78);
      for (const id of of === "folder" ? [RUN, SECOND_RUN] : ["session-1", "session-2"])
        expect(stderr).toContain(id);
    },
  );

  test.each(["nobody", ""])("an id that names nothing is refused: %j", async (id) => {
    desk.writeRun(RUN, { session: "s1" });
    expect(await desk.bridle("show", id)).toMatchObject({ code: 78, stdout: "" });
  });

  test("what a line holds cannot write to the terminal by itself", async () => {
    const store = createJsonlStore({ path: desk.host });
    store.write(receipt({ tool_name: "\u001b]0;x\u0007", error: "\u202eevil\u009b", hook: "a\rb" }));
    store.close();
    const { stdout } = await desk.bridle("show", "run-1", "--from", desk.host);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(stdout).toContain("\\u001b]0;x");
  });
});

describe("what cannot be read", () => {
  test("is counted on stderr, and the exit code tells", async () => {
    const file = desk.writeRun(RUN, { session: "s1" });
    appendFileSync(file, '{"kind":"run_en');
    for (const command of [["list"], ["show", RUN], ["export"]]) {
      const { code, stdout, stderr } = await desk.bridle(...command);
      expect([code, stderr]).toEqual([1, `bridle: ${file}: 1 line(s) could not be read\n`]);
      expect(stdout).toContain("success");
    }
    expect(JSON.parse((await desk.bridle("list", "--json")).stdout).problems).toEqual([
      `${file}: 1 line(s) could not be read`,
    ]);
  });

  test("in a folder does not keep the other files from being read", async () => {
    desk.writeRun(RUN, { session: "s1" });
    symlinkSync("/etc/hostname", join(desk.runs, "link.jsonl"));
    mkdirSync(join(desk.runs, "folder.jsonl"));
    writeFileSync(join(desk.runs, "notes.txt"), "no receipts");
    const { code, stdout, stderr } = await desk.bridle("export", "--format", "csv");
    expect([code, stdout]).toEqual([1, expect.stringContaining("success")]);
    expect(stderr).toMatch(/link\.jsonl: is a symbolic link/);
    expect(stderr).toMatch(/folder\.jsonl: is no regular file/);
    expect(stderr).not.toContain("notes.txt");
  });

  test.each([
    ["none", "ENOENT"],
    ["link", "is a symbolic link"],
    ["fifo", "is no regular file"],
  ])("--from %s is refused with its path", async (name, word) => {
    symlinkSync(desk.host, join(desk.path, "link"));
    writeFileSync(desk.host, "");
    await new Promise((done) => execFile("mkfifo", [join(desk.path, "fifo")], done));
    const { code, stderr } = await desk.bridle("list", "--from", name);
    expect([code, stderr]).toEqual([
      78,
      expect.stringMatching(new RegExp(`receipts_unreadable .*${name}: .*${word}`)),
    ]);
  });

  test("a database without receipts is refused", async () => {
    const database = new Driver(join(desk.path, "other.db"));
    database.exec("CREATE TABLE x (y)");
    database.close();
    expect(await desk.bridle("list", "--from", "other.db")).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("holds no receipts"),
    });
  });
});

test("without the driver, files are read and a store is refused with what is missing", async () => {
  const hooks = `export function resolve(specifier, context, next) {
    if (specifier !== "better-sqlite3") return next(specifier, context);
    throw Object.assign(new Error("not found"), { code: "ERR_MODULE_NOT_FOUND" });
  }`;
  const register = `import { register } from "node:module"; register("data:text/javascript,${encodeURIComponent(hooks)}");`;
  const run = (from: string) =>
    new Promise<{ code: number; stderr: string }>((resolve) => {
      const args = [
        "--import",
        `data:text/javascript,${encodeURIComponent(register)}`,
        MAIN,
        "receipts",
        "list",
      ];
      execFile(process.execPath, [...args, "--from", from], { env: desk.env }, (error, _, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stderr }),
      );
    });
  expect(await run(await desk.writeHost("jsonl"))).toEqual({ code: 0, stderr: "" });
  expect(await run(await desk.writeHost("sqlite"))).toEqual({
    code: 78,
    stderr: expect.stringContaining("npm install better-sqlite3@12"),
  });
});
