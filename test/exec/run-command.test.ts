import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildHookEnv, HOOK_MARKER } from "../../src/exec/hook-env.ts";
import { type RunCommandOptions, runCommand } from "../../src/exec/run-command.ts";
import { findByMarker, startTimeOf } from "../../src/exec/sweep.ts";

let dir: string;
let marker: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "bridle-exec-"));
  marker = randomUUID();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const run = (argv: string[], overrides: Partial<RunCommandOptions> = {}) =>
  runCommand({
    argv,
    env: { PATH: "/usr/bin:/bin" },
    cwd: dir,
    stdin: "",
    timeoutMs: 20_000,
    marker,
    ...overrides,
  });
const sh = (script: string, overrides: Partial<RunCommandOptions> = {}) =>
  run(["/bin/sh", "-c", script], overrides);
const onLinux = it.skipIf(process.platform !== "linux");

async function script(name: string, content: string, mode = 0o755): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}

/** The pid a script wrote to a file, once it is there. */
async function pidIn(name: string): Promise<number> {
  for (let tries = 0; tries < 500; tries += 1) {
    const text = existsSync(join(dir, name)) ? await readFile(join(dir, name), "utf8") : "";
    if (text.endsWith("\n")) return Number(text);
    await delay(10);
  }
  throw new Error(`${name} was never written`);
}

async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 500; tries += 1) {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
    if (stat === undefined || / Z /.test(stat)) return true;
    await delay(10);
  }
  return false;
}

describe("a guard that ends by itself", () => {
  it("gets stdin as given, then its end, and its output and code are told", async () => {
    const result = await sh("cat; echo err >&2; exit 3", { stdin: '{"a":"é"}\n' });
    expect(result).toMatchObject({ exit: { kind: "exit", code: 3 }, leftovers: 0, stdoutTruncated: false });
    expect([result.stdout.toString(), result.stderr.toString()]).toEqual(['{"a":"é"}\n', "err\n"]);
  });

  it("by a signal is told as that signal", async () => {
    expect((await sh("kill -SEGV $$")).exit).toEqual({ kind: "signal", signal: "SIGSEGV" });
  });

  it("without reading a 2 MB envelope did nothing wrong", async () => {
    const result = await sh("exec 0<&-; echo '{}'", { stdin: "x".repeat(2_000_000) });
    expect(result).toMatchObject({ exit: { kind: "exit", code: 0 } });
    expect(result.stdout.toString()).toBe("{}\n");
  });

  it("after 5 MB of output was not stopped by it: the output is cut and said to be", async () => {
    const result = await sh(
      "head -c 5000000 /dev/zero | tr '\\0' a; head -c 3000000 /dev/zero >&2; echo $? >done",
    );
    expect(result).toMatchObject({
      exit: { kind: "exit", code: 0 },
      stdoutTruncated: true,
      stderrTruncated: true,
    });
    expect([result.stdout.length, result.stderr.length]).toEqual([1_048_576, 1_048_576]);
    expect(await readFile(join(dir, "done"), "utf8")).toBe("0\n");
  });

  it("with exactly as much output as is kept is not cut", async () => {
    const result = await sh("printf 12345678", { capBytes: 8 });
    expect([result.stdout.toString(), result.stdoutTruncated]).toEqual(["12345678", false]);
  });

  it("sees the given environment, the marker and nothing else", async () => {
    process.env.BRIDLE_TEST_SECRET = "s3cret";
    const result = await run(["/usr/bin/env"], { env: { A: "1" } });
    delete process.env.BRIDLE_TEST_SECRET;
    expect(result.stdout.toString().trim().split("\n").sort()).toEqual(["A=1", `${HOOK_MARKER}=${marker}`]);
  });

  it("is started without a shell: its arguments arrive as written", async () => {
    const argv = await script("argv", '#!/bin/sh\nprintf "<%s>" "$@"\n');
    expect((await run([argv, "a b", "$(id)", "", "*"])).stdout.toString()).toBe("<a b><$(id)><><*>");
  });
});

it("a guard may be started under another name, as multi-call programs and venv interpreters need", async () => {
  const result = await run(["/bin/bash", "-c", "echo $0"], { argv0: "/venv/bin/other" });
  expect(result.exit).toEqual({ kind: "exit", code: 0 });
  expect(result.stdout.toString()).toBe("/venv/bin/other\n");
});

describe("a guard that leaves a child behind", () => {
  onLinux("holding stdout does not hold us, and the child is ended and counted", async () => {
    const result = await sh("echo '{}'; sleep 1000 & echo $! >pid");
    expect(result).toMatchObject({ exit: { kind: "exit", code: 0 }, leftovers: 1 });
    expect(result.stdout.toString()).toBe("{}\n");
    expect(await isGone(await pidIn("pid"))).toBe(true);
  });

  onLinux("in a session of its own, the child is found by its marker", async () => {
    const result = await sh(
      "setsid sh -c 'echo $$ >pid; exec sleep 1000' >/dev/null 2>&1 & while [ ! -s pid ]; do :; done",
    );
    expect(result).toMatchObject({ exit: { kind: "exit", code: 0 }, leftovers: 1 });
    expect(await isGone(await pidIn("pid"))).toBe(true);
  });

  onLinux("with an emptied environment, the child is found by its group", async () => {
    const result = await sh(
      "env -i /bin/sh -c 'echo $$ >pid; exec /bin/sleep 1000' & while [ ! -s pid ]; do :; done",
    );
    expect(result.leftovers).toBe(1);
    expect(await isGone(await pidIn("pid"))).toBe(true);
  });

  onLinux("does not cost another call's processes", async () => {
    const other = sh("echo $$ >other; exec sleep 1000", {
      marker: `${marker}-other`,
      timeoutMs: 1_500,
      graceMs: 500,
    });
    const pid = await pidIn("other");
    await sh("sleep 1000 &");
    expect(startTimeOf(pid)).toBeDefined();
    expect((await other).exit.kind).toBe("timeout");
  });
});

describe("a guard that is late", () => {
  onLinux("is ended with its whole group and told as a timeout", async () => {
    const result = await sh("sleep 1000 & echo $! >pid; echo out; wait", { timeoutMs: 300 });
    expect(result.exit).toEqual({ kind: "timeout", timeoutMs: 300 });
    expect(result.stdout.toString()).toBe("out\n");
    expect(await isGone(await pidIn("pid"))).toBe(true);
  });

  it("gets SIGTERM first and may end by it", async () => {
    const result = await sh("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done", {
      timeoutMs: 500,
    });
    expect(result.exit.kind).toBe("timeout");
    expect(result.stdout.toString()).toBe("ready\nbye\n");
  });

  onLinux("and ignores SIGTERM is killed, with a child in its own session too", async () => {
    const result = await sh(
      "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >pid; while :; do sleep 0.05; done' & while :; do sleep 0.05; done",
      { timeoutMs: 500, graceMs: 200 },
    );
    expect(result.exit.kind).toBe("timeout");
    expect(result.leftovers).toBeGreaterThan(0);
    expect(await isGone(await pidIn("pid"))).toBe(true);
    expect(findByMarker(HOOK_MARKER, marker).processes).toEqual([]);
  });

  it("because the call was abandoned is ended and told as a failure", async () => {
    const abort = new AbortController();
    const result = sh("echo $$ >pid; exec sleep 1000", { signal: abort.signal });
    await pidIn("pid");
    abort.abort();
    expect((await result).exit).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("abandoned"),
    });
  });

  it("is not even started when the call was abandoned before", async () => {
    const result = await sh("echo x >ran", { signal: AbortSignal.abort() });
    expect(result.exit.kind).toBe("failed");
    expect(existsSync(join(dir, "ran"))).toBe(false);
  });
});

describe("a guard that cannot be started", () => {
  const failed = (text: RegExp) => ({ exit: { kind: "failed", message: expect.stringMatching(text) } });

  it("because it is missing is named", async () => {
    expect(await run([join(dir, "none")])).toMatchObject(failed(/none: the file is missing/));
  });
  it("because it is not executable is named", async () => {
    const path = await script("plain", "#!/bin/sh\n", 0o644);
    expect(await run([path])).toMatchObject(failed(/plain: it is not executable/));
  });
  it("because it is a directory is named", async () => {
    expect(await run([dir])).toMatchObject(failed(/it is a directory/));
  });
  it("because its first line ends in CR is named", async () => {
    const path = await script("dos", "#!/bin/sh\r\nexit 0\r\n");
    expect(await run([path])).toMatchObject(failed(/dos: its #! line ends in a carriage return/));
  });
  it("because its interpreter is missing is named", async () => {
    const path = await script("odd", "#!/no/such/sh -e\n");
    expect(await run([path])).toMatchObject(failed(/odd: its #! line names \/no\/such\/sh/));
  });
  it("because its cwd is missing is named", async () => {
    expect(await run(["/bin/true"], { cwd: join(dir, "gone") })).toMatchObject(
      failed(/working directory .*gone is missing/),
    );
  });
  it("because its arguments are too long is a failure like any other", async () => {
    expect(await run(["/bin/true", "x".repeat(3_000_000)])).toMatchObject(failed(/\/bin\/true/));
  });
  it("because a word of it holds a NUL is a failure like any other", async () => {
    expect(await run(["/bin/true", "a\0b"])).toMatchObject(failed(/\/bin\/true: .*null bytes/));
  });
  it("because its bytes are no program is a failure like any other", async () => {
    const path = await script("bytes", "\x7fELF nothing");
    const { exit } = await run([path]);
    expect(exit).not.toEqual({ kind: "exit", code: 0 });
  });
});

describe("a hook's environment", () => {
  const build = (entryEnv: Record<string, string> = {}) =>
    buildHookEnv({
      hookPath: "/fixed",
      base: {
        PATH: "/evil",
        HOME: "/h",
        LANG: "C",
        LC_ALL: "C",
        TZ: "UTC",
        TMPDIR: "/t",
        USER: "u",
        LOGNAME: "u",
        ANTHROPIC_API_KEY: "k",
        OPENAI_API_KEY: "k",
        BASH_ENV: "/x",
        NODE_OPTIONS: "-r x",
      },
      projectDir: "/p",
      runId: "r",
      entryEnv,
      marker: "m",
    });

  it("is an allowlist: no credential, no PATH of the caller's, no start-up file", () => {
    expect(Object.keys(build()).sort()).toEqual([
      "BRIDLE_HOOK_MARKER",
      "BRIDLE_RUN_ID",
      "CLAUDE_PROJECT_DIR",
      "HOME",
      "LANG",
      "LC_ALL",
      "LOGNAME",
      "PATH",
      "TMPDIR",
      "TZ",
      "USER",
    ]);
    expect(build().PATH).toBe("/fixed");
  });

  it("carries the entry's own variables, which cannot take the marker or the run's names away", () => {
    const env = build({ A: "1", BRIDLE_RUN_ID: "x", BRIDLE_HOOK_MARKER: "x" });
    expect(env).toMatchObject({ A: "1", BRIDLE_RUN_ID: "r", BRIDLE_HOOK_MARKER: "m" });
  });
});
