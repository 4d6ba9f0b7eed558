// bridle fanout as a command of its own process: the example of the README, results, exit codes, signals.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fanOutsOf, makeStage, readOutcomes, type Stage, writeScript } from "../fanout/support.ts";
import { DIST, livingOf } from "../journal/support.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));

let stage: Stage;
const running: ChildProcess[] = [];
beforeEach(async () => {
  stage = await makeStage();
  const guard = { PreToolUse: [{ hooks: [{ type: "command", command: ["/bin/sh", "guard.sh"] }] }] };
  writeFileSync(
    join(stage.cwd, "guard.sh"),
    'case "$(cat)" in *"rm -r"*) echo "not here" >&2; exit 2 ;; esac\n',
  );
  writeFileSync(join(stage.cwd, "hooks.json"), JSON.stringify({ hooks_external: guard }));
});
afterEach(async () => {
  for (const child of running.splice(0)) if (child.exitCode === null) child.kill("SIGKILL");
  await stage.remove();
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(words: readonly string[], cwd = stage.cwd) {
  const env = { ...stage.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const child = spawn(process.execPath, [join(DIST, "cli", "main.js"), "fanout", ...words], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      said[name] += chunk;
    });
  const ended = once(child, "close").then(([code]): Ran => ({ code: code as number | null, ...said }));
  const heard = async (word: string) => {
    while (!said.stdout.includes(word)) {
      if (child.exitCode !== null)
        throw new Error(`it ended before it said ${word}: ${said.stdout}${said.stderr}`);
      await once(child.stdout, "data");
    }
  };
  return { child, ended, heard };
}

const fanout = (...words: string[]) => start(words).ended;

function tasks(...lines: object[]): string {
  writeFileSync(join(stage.cwd, "tasks.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return "tasks.jsonl";
}

const own = () => [
  "--provider",
  "claude",
  "--binary",
  join(stage.home, "fakes", "fake-claude.mjs"),
  "--hooks",
  "hooks.json",
  "--prove",
  "off",
  "--config-home",
  "run",
];
const jsonOf = ({ stdout }: Ran) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; [name: string]: unknown });

test("the example of the README runs offline, and its guard denies", async () => {
  const examples = join(stage.home, "clone", "examples");
  mkdirSync(examples, { recursive: true });
  for (const name of ["tasks.jsonl", "tasks.agent.mjs", "tasks.script.json", "hooks.yaml", "guard.mjs"])
    cpSync(join(EXAMPLES, name), join(examples, name));
  symlinkSync(DIST, join(stage.home, "clone", "dist"));
  const readme = readFileSync(join(EXAMPLES, "..", "README.md"), "utf8");
  const command = /^node dist\/cli\/main\.js fanout (.*)$/m.exec(readme)?.[1];
  expect(command).toContain("examples/tasks.jsonl");
  const ran = await start(command?.split(" ") ?? [], join(stage.home, "clone")).ended;
  expect([ran.stderr, ran.code]).toEqual(["", 0]);
  expect(ran.stdout).toMatch(/^success +4 +4 +4 +\$0\.1200$/m);
  expect(
    readOutcomes(stage).map(({ id, outcome, denied, finalText }) => [id, outcome, denied, finalText]),
  ).toEqual(
    ["greet", "clean", "short", "apart"].map((id) => [
      id,
      "success",
      1,
      "Done. The guard did not let me remove anything.",
    ]),
  );
});

describe("results", () => {
  test("as JSONL: progress, an outcome a task, a summary; and in a file", async () => {
    const ran = await fanout(
      tasks({ prompt: "a" }, { prompt: "b" }),
      ...own(),
      "--json",
      "--out",
      "out.jsonl",
    );
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const lines = jsonOf(ran);
    expect(lines[0]).toMatchObject({ type: "opened", tasks: 2, finished: 0, isResumed: false });
    expect(lines.at(-1)).toMatchObject({
      type: "summary",
      tasks: 2,
      finished: 2,
      outcomes: { success: 2 },
      isFailed: false,
    });
    const ends = lines.filter(({ type }) => type === "task_ended").map(({ ending }) => ending);
    const written = readFileSync(join(stage.cwd, "out.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(written).toHaveLength(2);
    expect(ends).toEqual(expect.arrayContaining(written));
    expect(readOutcomes(stage)).toEqual(written);
  });

  test.each([
    [[], 1],
    [["--fail-on", "any"], 1],
    [["--fail-on", "refused"], 0],
    [["--fail-on", "100%"], 0],
    [["--fail-on", "50%"], 1],
  ] as const)("exit code by policy: %j is %d", async (words, code) => {
    await stage.play({ steps: [{ text: "up" }], sins: [{ "exit-code": 3 }] });
    expect((await fanout(tasks({ prompt: "a" }), ...own(), ...words)).code).toBe(code);
  });

  test("fan-outs are listed", async () => {
    expect((await fanout("--list")).stdout).toBe("there is no fan-out\n");
    await fanout(tasks({ prompt: "a" }), ...own());
    expect((await fanout("--list")).stdout).toMatch(/finished +\S+ +1\/1 +.*tasks\.jsonl\n$/);
  });
});

describe("mistakes", () => {
  test("in tasks are told by line, all at once, and nothing is made", async () => {
    const { code, stderr } = await fanout(
      tasks({ prompt: "a", cwd: "x" }, { id: "b" }, { prompt: "c", maxTurns: "1" }),
      ...own(),
    );
    expect([code, stderr.split("\n").map((line) => line.split(":").slice(1, 3).join(":"))]).toEqual([
      78,
      [
        " option_invalid tasks.jsonl:1 cwd",
        " option_invalid tasks.jsonl:2 prompt",
        " option_invalid tasks.jsonl:3 maxTurns",
        "",
      ],
    ]);
    expect(existsSync(stage.stateDir)).toBe(false);
  });

  test.each([
    [[]],
    [["tasks.jsonl", "--concurrency", "0"]],
    [["tasks.jsonl", "--start-rate", "5"]],
    [["tasks.jsonl", "--fail-on", "some"]],
    [["tasks.jsonl", "--prompt", "a", "--prompt-file", "b"]],
    [["tasks.jsonl", "--keep-worktree", "sometimes"]],
  ])("in the words are told as such: %j", async (words) => {
    expect((await fanout(...words)).code).toBe(64);
  });
});

describe("--out", () => {
  const refusal = async (out: string, ...more: string[]) => {
    const { code, stderr, stdout } = await fanout(...more, ...own(), "--out", out);
    expect([code, stdout, existsSync(stage.stateDir)]).toEqual([78, "", false]);
    return stderr;
  };

  test("is refused when it is a file that is read, under any name", async () => {
    const file = tasks({ id: "a" });
    writeFileSync(join(stage.cwd, "prompt.txt"), "p");
    symlinkSync("tasks.jsonl", join(stage.cwd, "link.jsonl"));
    linkSync(join(stage.cwd, file), join(stage.cwd, "hard.jsonl"));
    const names = [file, join(stage.cwd, file), "link.jsonl", "hard.jsonl", "prompt.txt", "hooks.json"];
    const before = names.map((name) => readFileSync(resolve(stage.cwd, name), "utf8"));
    for (const name of names)
      expect(await refusal(name, file, "--prompt-file", "prompt.txt")).toContain("is the source itself");
    expect(names.map((name) => readFileSync(resolve(stage.cwd, name), "utf8"))).toEqual(before);
  });

  test.each([
    ["nowhere/out.jsonl", "ENOENT"],
    ["hooks.json/out.jsonl", "ENOTDIR"],
    [".", "it is a directory"],
    ["/proc/out.jsonl", "cannot be written"],
  ])("is refused before anything starts when it cannot be written: %s", async (out, word) => {
    expect(await refusal(out, tasks({ prompt: "a" }))).toContain(word);
  });

  test("is refused by a resume when it is the file that the tasks came from", async () => {
    await fanout(tasks({ prompt: "a" }), ...own());
    const before = readFileSync(join(stage.cwd, "tasks.jsonl"), "utf8");
    const ran = await fanout("--resume", fanOutsOf(stage)[0] ?? "", "--out", "tasks.jsonl");
    expect([ran.code, ran.stderr]).toEqual([78, expect.stringContaining("is the source itself")]);
    expect(readFileSync(join(stage.cwd, "tasks.jsonl"), "utf8")).toBe(before);
  });
});

describe("SIGINT", () => {
  const HANG = { steps: [{ text: "up" }, { sins: ["hang"] }] } as const;

  test("stops what runs and leaves the rest; the same words go on, and no finished task is run again", async () => {
    // Works without an end in the folder `slow`, until it may go on.
    const command = '[ -e "$HOME/go" ] || case "$PWD" in */slow) sleep 1000 ;; esac';
    writeScript(stage, { steps: [{ tools: [{ shell: command }] }, { text: "done" }] });
    mkdirSync(join(stage.cwd, "slow"));
    const file = tasks(
      { id: "quick", prompt: "a" },
      { id: "slow", prompt: "b", cwd: "slow" },
      { id: "rest", prompt: "c" },
    );
    const first = start([file, ...own(), "--concurrency", "1", "--json"]);
    await first.heard('"id":"slow"');
    first.child.kill("SIGINT");
    const stopped = await first.ended;
    expect(stopped.code).toBe(75);
    expect(livingOf(stage)).toEqual([]);
    writeFileSync(join(stage.home, "go"), "");
    const again = jsonOf(await fanout(file, ...own(), "--json"));
    expect(again[0]).toMatchObject({ type: "opened", isResumed: true });
    const started = again.filter(({ type }) => type === "attempt_started").map(({ id }) => id);
    expect(started).not.toContain("quick");
    expect(readOutcomes(stage).map(({ id, outcome }) => [id, outcome])).toEqual([
      ["quick", "success"],
      ["slow", "success"],
      ["rest", "success"],
    ]);
    expect(fanOutsOf(stage)).toHaveLength(1);
  });

  test("a resume by id alone has the options of the first start", async () => {
    writeScript(stage, HANG);
    const first = start([tasks({ file: "x" }), ...own(), "--prompt", "Fix {{file}}"]);
    await first.heard("started");
    first.child.kill("SIGTERM");
    const { stdout, code } = await first.ended;
    expect(code).toBe(75);
    const id = /bridle fanout --resume (\S+)/.exec(stdout)?.[1] ?? "";
    writeScript(stage, { steps: [{ text: "{{prompt}}" }] });
    expect((await start(["--resume", id, "--session", "fresh"], stage.home).ended).code).toBe(0);
    expect(readOutcomes(stage)).toMatchObject([
      { outcome: "success", finalText: expect.stringContaining("Fix x") },
    ]);
  });

  test("a file that was changed since is refused, and begun anew when that is said", async () => {
    writeScript(stage, HANG);
    const first = start([tasks({ prompt: "a" }), ...own()]);
    await first.heard("started");
    first.child.kill("SIGINT");
    await first.ended;
    writeScript(stage, { steps: [{ text: "done" }] });
    const changed = await fanout(tasks({ prompt: "b" }), ...own());
    expect([changed.code, changed.stderr]).toEqual([
      78,
      expect.stringMatching(/^bridle: fan_out_mismatch .*changed since.*--new/),
    ]);
    expect((await fanout("tasks.jsonl", ...own(), "--new")).code).toBe(0);
    expect(fanOutsOf(stage)).toHaveLength(2);
  });
});
