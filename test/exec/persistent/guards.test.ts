// Persistent guards as real processes: good ones, and those that do everything wrong.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { HOOK_MARKER } from "../../../src/exec/hook-env.ts";
import { startGuard } from "../../../src/exec/persistent/guard-process.ts";
import { createPersistentGuards } from "../../../src/exec/persistent/guards.ts";
import { FAILURE_LIMIT } from "../../../src/exec/persistent/limits.ts";
import { isAlive } from "../../spawn/support.ts";
import { commandOf, guardsOfEachTest, isGone, isReaped, untilWritten } from "./support.ts";

const at = guardsOfEachTest();
const { ask, program, starts } = at;
const onLinux = it.skipIf(process.platform !== "linux");

const ANSWERED = { kind: "answered", blocks: false };
const ECHO = "each:say({ id: call.id, answer: { seen: command } });";
const failed = (message: RegExp) => ({ kind: "failed", message: expect.stringMatching(message) });

describe("a guard that keeps to the protocol", () => {
  it("is started once, and every answer is its own call's", async () => {
    const echo = await program(ECHO);
    for (const command of ["a", "b\nc", "é".repeat(100_000)]) {
      const { exit, stdout, leftovers } = await ask(echo, { command });
      expect([exit, JSON.parse(stdout), leftovers]).toEqual([ANSWERED, { seen: command }, 0]);
    }
    expect(await starts()).toHaveLength(1);
  });

  it("gets the environment, the directory and the words that it is given, and a marker of its own", async () => {
    const env = await program(
      "each:say({ id: call.id, answer: { env: process.env, cwd: process.cwd(), event: call.event, argv0: process.argv0 } });",
    );
    const { stdout } = await ask({ ...env, env: { A: "1" }, argv0: "other-name" });
    expect(JSON.parse(stdout)).toEqual({
      env: { A: "1", [HOOK_MARKER]: expect.stringMatching(/^persistent-/) },
      cwd: at.dir,
      event: "PreToolUse",
      argv0: "other-name",
    });
  });

  it("answers with nothing, an object, or a block", async () => {
    const guard = await program(
      'each:say({ id: call.id, ...{ none: {}, empty: { answer: {} }, block: { block: "not here" } }[command] });',
    );
    expect(await ask(guard, { command: "none" })).toMatchObject({ exit: ANSWERED, stdout: "" });
    expect(await ask(guard, { command: "empty" })).toMatchObject({ exit: ANSWERED, stdout: "{}" });
    expect(await ask(guard, { command: "block" })).toMatchObject({
      exit: { kind: "answered", blocks: true },
      stderr: "not here",
    });
  });

  it("may answer two calls in one write, and one call in many", async () => {
    const guard = await program(`
      const held = [];
      lines.on("line", async (line) => {
        held.push(JSON.parse(line));
        if (held.length < 3) return;
        const [one, two, three] = held.map((call) => JSON.stringify({ id: call.id, answer: { seen: call.envelope.tool_input.command } }) + "\\n");
        write(two + one);
        for (const byte of Buffer.from(three)) { write(Buffer.from([byte])); await new Promise(setImmediate); }
      });`);
    const results = await Promise.all(["a", "b", "ü"].map((command) => ask(guard, { command })));
    expect(results.map(({ stdout }) => JSON.parse(stdout).seen)).toEqual(["a", "b", "ü"]);
  });

  it("whose key is another's is another process", async () => {
    const echo = await program(ECHO);
    await Promise.all(["k1", "k2", "k1"].map((key) => ask(echo, { key })));
    expect(await starts()).toHaveLength(2);
  });

  test("any order of answers gives each call its own", async () => {
    // The first line says how many calls there are and in which order, and in which groups, they are answered.
    const guard = await program(`
      let plan; let held = [];
      lines.on("line", (line) => {
        const call = JSON.parse(line);
        const said = JSON.parse(call.envelope.tool_input.command);
        held.push({ ...call, said });
        plan ??= said.plan;
        if (held.length < plan.order.length) return;
        const bySaid = new Map(held.map((one) => [one.said.n, one]));
        let group = "";
        plan.order.forEach((n, at) => {
          const { id, said } = bySaid.get(n);
          group += JSON.stringify(said.block ? { id, block: said.word } : { id, answer: { word: said.word } }) + "\\n";
          if (plan.breaks[at]) { write(group.slice(0, 7)); write(group.slice(7)); group = ""; }
        });
        write(group);
        plan = undefined; held = [];
      });`);
    const calls = fc
      .array(fc.record({ word: fc.string({ unit: "grapheme" }), block: fc.boolean() }), {
        minLength: 1,
        maxLength: 12,
      })
      .chain((words) =>
        fc.record({
          words: fc.constant(words),
          order: fc.shuffledSubarray([...words.keys()], { minLength: words.length }),
          breaks: fc.array(fc.boolean(), { minLength: words.length, maxLength: words.length }),
        }),
      );
    await fc.assert(
      fc.asyncProperty(calls, async ({ words, order, breaks }) => {
        const results = await Promise.all(
          words.map(({ word, block }, n) =>
            ask(guard, { command: JSON.stringify({ n, word, block, plan: { order, breaks } }) }),
          ),
        );
        for (const [n, { word, block }] of words.entries()) {
          const { exit, stdout, stderr } = results[n] as (typeof results)[number];
          expect(exit).toEqual({ kind: "answered", blocks: block });
          expect(block ? stderr : JSON.parse(stdout).word).toBe(word);
        }
      }),
      { numRuns: 60 },
    );
    expect(await starts()).toHaveLength(1);
  });
});

describe("a guard that loses the thread is ended, what waited for it fails, and the next call starts another", () => {
  /** `bad` in the first process of the test, and a good guard after it. */
  const firstBad = (bad: string) =>
    `import { readFileSync } from "node:fs";
     const isFirst = readFileSync("starts", "utf8").trim().split("\\n").length === 1;
     lines.on("line", async (line) => {
       const call = JSON.parse(line); const { id } = call; const { command } = call.envelope.tool_input;
       if (isFirst) { ${bad} } else say({ id, answer: { seen: command } });
     });`;

  it.each([
    ["noise before the answer", 'write("loading…\\n"); say({ id });', /a line of its stdout is not JSON/],
    ["an empty line", 'write("\\n"); say({ id });', /is not JSON/],
    ["the answer of another call", 'say({ id: "x" });', /answered a call that nobody has asked/],
    ["an id that is like the right one", "say({ id: id.toUpperCase() + ' ' });", /that nobody has asked/],
    ["two calls on one line", "write(JSON.stringify({ id }).repeat(2) + '\\n');", /is not JSON/],
    [
      "a huge line",
      'write(JSON.stringify({ id, answer: { a: "x".repeat(2000000) } }) + "\\n");',
      /longer than 1048576 bytes/,
    ],
    ["a huge line that never ends", 'write("x".repeat(2000000));', /longer than 1048576 bytes/],
    [
      "a closed stdout",
      "import('node:fs').then((fs) => fs.closeSync(1)); setInterval(() => {}, 1000);",
      /closed its stdout and went on/,
    ],
    ["an exit with 0", "process.exit(0);", /ended with exit 0 before it answered/],
    [
      "an exit with 2",
      'process.stderr.write("not a reason", () => process.exit(2));',
      /ended with exit 2 before it answered/,
    ],
    ["a signal", 'process.kill(process.pid, "SIGSEGV");', /was killed by SIGSEGV before it answered/],
    [
      "half an answer and an exit",
      "write(JSON.stringify({ id }).slice(0, -1), () => process.exit(0));",
      /exit 0 before it answered/,
    ],
    [
      "half an answer and an exit without newline",
      "write(JSON.stringify({ id }), () => process.exit(0));",
      /exit 0 before it answered/,
    ],
  ])("%s", async (_what, bad, message) => {
    const guard = await program(firstBad(bad));
    const first = await ask(guard);
    expect(first).toMatchObject({ exit: failed(message), stdout: "" });
    expect(await isGone((await starts())[0] as number)).toBe(true);
    const next = await ask(guard, { command: "b" });
    expect(next).toMatchObject({ exit: ANSWERED, stdout: '{"seen":"b"}' });
    expect(next.restarted).toMatch(message);
    expect((await ask(guard)).restarted).toBeUndefined();
    expect(await starts()).toHaveLength(2);
  });

  it("an answer that comes twice costs the calls that still wait, and not the one that was answered", async () => {
    const guard = await program(
      firstBad('if (command === "a") { say({ id, answer: { n: 1 } }); say({ id, answer: { n: 2 } }); }'),
    );
    const [waits, answered] = await Promise.all([ask(guard, { command: "w" }), ask(guard, { command: "a" })]);
    expect(answered).toMatchObject({ exit: ANSWERED, stdout: '{"n":1}' });
    expect(waits.exit).toEqual(
      failed(/lost the thread: it answered a call that nobody has asked, or one twice/),
    );
  });

  it("every call that waits fails, also those whose answers come behind the wrong line", async () => {
    const guard = await program(`
      const held = [];
      lines.on("line", (line) => {
        held.push(JSON.parse(line).id);
        if (held.length === 3) write(JSON.stringify({ id: held[0] }) + "\\nnoise\\n" + JSON.stringify({ id: held[1] }) + "\\n" + JSON.stringify({ id: held[2] }) + "\\n");
      });`);
    const kinds = (await Promise.all([ask(guard), ask(guard), ask(guard)])).map(({ exit }) => exit.kind);
    expect(kinds).toEqual(["answered", "failed", "failed"]);
  });

  it("also while nobody waits: the next call is asked of another process", async () => {
    const guard = await program(
      firstBad("say({ id, answer: { n: 1 } }); setTimeout(() => write('noise\\n'), 50);"),
    );
    expect((await ask(guard)).exit).toEqual(ANSWERED);
    await isReaped((await starts())[0] as number);
    expect(await ask(guard)).toMatchObject({
      exit: ANSWERED,
      restarted: expect.stringContaining("not JSON"),
    });
  });

  it("an answer that is nested too deep costs the guard, and not this program", async () => {
    const guard = await program(
      firstBad(
        "write('{\"id\":' + JSON.stringify(id) + ',\"answer\":{\"x\":' + '['.repeat(400000) + ']'.repeat(400000) + '}}\\n');",
      ),
    );
    expect((await ask(guard)).exit).toEqual(failed(/nested too deep/));
    expect((await ask(guard)).exit).toEqual(ANSWERED);
  });

  it("the last KiB of its stderr is told", async () => {
    const guard = await program(
      'each:process.stderr.write("x".repeat(5000) + "the end é", () => process.exit(1));',
    );
    const { stderr } = await ask(guard);
    expect(stderr.endsWith("the end é")).toBe(true);
    expect(Buffer.byteLength(stderr)).toBe(1024);
  });

  it("an answer that was written before the exit counts", async () => {
    const guard = await program(
      "each:write(JSON.stringify({ id: call.id, answer: { last: true } }) + '\\n', () => process.exit(1));",
    );
    expect(await ask(guard)).toMatchObject({ exit: ANSWERED, stdout: '{"last":true}' });
    await isReaped((await starts())[0] as number);
    const next = await ask(guard);
    expect(next.exit).toEqual(ANSWERED);
    expect(next.restarted).toBe("ended with exit 1 between calls");
  });

  it("a call that comes while it dies is asked of the next one", async () => {
    const guard = await program(firstBad('write("noise\\n"); setTimeout(() => {}, 5000);'));
    const first = ask(guard);
    await untilWritten(join(at.dir, "starts"));
    await delay(50);
    const second = ask(guard, { command: "b" });
    expect((await first).exit.kind).toBe("failed");
    const { exit } = await second;
    // It came before the noise was read, or after it.
    expect(["answered", "failed"]).toContain(exit.kind);
  });
});

describe("a guard that cannot be started", () => {
  it.each([
    ["because it is missing", ["/no/such/guard"], /the guard did not start: .*the file is missing/],
    [
      "because its words are too long",
      ["/bin/true", "x".repeat(3_000_000)],
      /the guard did not start: .*E2BIG/,
    ],
  ])("%s is named, and is tried again", async (_why, argv, message) => {
    const none = { argv, argv0: argv[0] as string, env: {}, cwd: at.dir };
    expect((await ask(none)).exit).toEqual(failed(message));
    expect((await ask(await program(ECHO))).exit).toEqual(ANSWERED);
  });

  it("because its directory is gone is named", async () => {
    const echo = await program(ECHO);
    expect((await ask({ ...echo, cwd: join(at.dir, "none") })).exit).toEqual(
      failed(/working directory .* is missing/),
    );
  });
});

describe("a guard that fails again and again", () => {
  it(`is given up after more than ${FAILURE_LIMIT} failures within a minute, and says so at once`, async () => {
    const guard = await program('each:process.stderr.write("boom", () => process.exit(3));');
    for (let n = 0; n <= FAILURE_LIMIT; n += 1) expect((await ask(guard)).exit).toEqual(failed(/exit 3/));
    const given = failed(
      /failed 6 times within 60 s and is not started again in this run; the last time it ended with exit 3 before it answered/,
    );
    expect((await ask(guard)).exit).toEqual(given);
    expect((await ask(await program(ECHO))).exit).toEqual(given);
    expect(await starts()).toHaveLength(FAILURE_LIMIT + 1);
    // Another guard is another matter.
    expect((await ask(await program(ECHO), { key: "other" })).exit).toEqual(ANSWERED);
  });

  it("one failure is one, however many calls waited", async () => {
    const guard = await program(
      "let n = 0; lines.on('line', () => { n += 1; if (n === 10) process.exit(1); });",
    );
    const all = await Promise.all(Array.from({ length: 10 }, () => ask(guard)));
    expect(new Set(all.map(({ exit }) => exit.kind))).toEqual(new Set(["failed"]));
    expect((await ask(await program(ECHO))).exit).toEqual(ANSWERED);
  });

  it("one that ends between calls has not failed: it is started again as often as it is asked", async () => {
    const guard = await program(
      "each:write(JSON.stringify({ id: call.id }) + '\\n', () => process.exit(0));",
    );
    for (let n = 1; n <= FAILURE_LIMIT + 3; n += 1) {
      expect((await ask(guard)).exit).toEqual(ANSWERED);
      await isReaped((await starts()).at(-1) as number);
    }
    expect(await starts()).toHaveLength(FAILURE_LIMIT + 3);
  });
});

describe("a guard that is late", () => {
  const SLOW =
    "each:if (command === 'slow') await new Promise((r) => setTimeout(r, 600)); say({ id: call.id, answer: { seen: command } });";

  onLinux("is ended with its tree, also what left its group, and the next call starts another", async () => {
    const guard = await program(`
      process.on("SIGTERM", () => {});
      lines.on("line", (line) => {
        const call = JSON.parse(line);
        if (call.envelope.tool_input.command !== "hang") return say({ id: call.id });
        const child = spawn("/bin/sh", ["-c", "trap '' TERM; while :; do sleep 0.1; done"], { detached: true, stdio: "ignore" });
        appendFileSync("child", child.pid + "\\n");
      });`);
    const late = await ask(guard, { command: "hang", timeoutMs: 1_500 });
    expect(late).toMatchObject({
      exit: { kind: "timeout", timeoutMs: 1_500 },
      leftovers: expect.any(Number),
    });
    expect(late.leftovers).toBeGreaterThan(0);
    const pids = [...(await starts()), Number(await untilWritten(join(at.dir, "child")))];
    expect(pids.filter(isAlive)).toEqual([]);
    const next = await ask(guard);
    expect(next).toMatchObject({ exit: ANSWERED, restarted: "was ended because it let a call time out" });
  });

  it("has answered nothing when it answers as it is ended", async () => {
    const guard = await program(`
      const held = [];
      process.on("SIGTERM", () => { for (const id of held) say({ id }); setTimeout(() => process.exit(0), 300); });
      lines.on("line", (line) => { held.push(JSON.parse(line).id); });`);
    const [late, other] = await Promise.all([ask(guard, { timeoutMs: 600 }), ask(guard)]);
    expect(late.exit).toEqual({ kind: "timeout", timeoutMs: 600 });
    expect(other.exit.kind).toBe("failed");
  });

  it("costs the other calls that wait", async () => {
    const guard = await program("each:if (command === 'quick') say({ id: call.id });");
    await ask(guard, { command: "quick" });
    const [late, other] = await Promise.all([ask(guard, { timeoutMs: 300 }), ask(guard)]);
    expect(late.exit).toEqual({ kind: "timeout", timeoutMs: 300 });
    expect(other.exit).toEqual(failed(/ended because it let a call time out/));
  });

  it("while it starts, that counts against the call", async () => {
    const guard = await program("await new Promise((resolve) => setTimeout(resolve, 60000));");
    expect((await ask(guard, { timeoutMs: 300 })).exit).toEqual({ kind: "timeout", timeoutMs: 300 });
  });

  it("because it does not read its stdin is ended, and a 4 MB envelope stops nothing meanwhile", async () => {
    const guard = await program("lines.close(); process.stdin.pause(); setInterval(() => {}, 1000);");
    let turns = 0;
    const clock = setInterval(() => {
      turns += 1;
    }, 20);
    const { exit } = await ask(guard, { command: "x".repeat(4_000_000), timeoutMs: 1_000 });
    clearInterval(clock);
    expect(exit).toEqual({ kind: "timeout", timeoutMs: 1_000 });
    expect(turns).toBeGreaterThan(10);
  });

  it("and has a large backlog in its stdin is stuck", async () => {
    const guard = await program("lines.close(); process.stdin.pause(); setInterval(() => {}, 1000);");
    const calls = Array.from({ length: 20 }, () =>
      ask(guard, { command: "x".repeat(4_000_000), timeoutMs: 5_000 }),
    );
    const results = await Promise.all(calls);
    for (const { exit } of results.slice(0, 17)) expect(exit).toEqual(failed(/does not read its stdin/));
    // These came when it was given up, and are asked of the next one, which is no better.
    expect(results.at(-1)?.exit.kind).toBe("timeout");
  });

  it("with a call that was abandoned keeps its process, and its late answer is nobody's", async () => {
    const guard = await program(SLOW);
    await ask(guard);
    const abort = new AbortController();
    const slow = ask(guard, { command: "slow", signal: abort.signal });
    await delay(50);
    abort.abort();
    expect((await slow).exit).toEqual(failed(/the call was abandoned/));
    for (const command of ["b", "c"])
      expect((await ask(guard, { command })).stdout).toBe(JSON.stringify({ seen: command }));
    await delay(800);
    expect((await ask(guard, { command: "d" })).stdout).toBe('{"seen":"d"}');
    expect(await starts()).toHaveLength(1);
  });

  it("with an abandoned call that is answered twice has lost the thread", async () => {
    const guard = await program(
      "each:if (command === 'slow') setTimeout(() => { say({ id: call.id }); say({ id: call.id }); }, 400); else if (command !== 'wait') say({ id: call.id });",
    );
    await ask(guard);
    const abort = new AbortController();
    const slow = ask(guard, { command: "slow", signal: abort.signal });
    const waits = ask(guard, { command: "wait" });
    await delay(50);
    abort.abort();
    await slow;
    expect((await waits).exit).toEqual(failed(/lost the thread/));
  });

  it("is not asked for a call that was abandoned before", async () => {
    const echo = await program(ECHO);
    expect((await ask(echo, { signal: AbortSignal.abort() })).exit).toEqual(failed(/abandoned/));
    expect(await starts()).toEqual([]);
  });

  it("with more abandoned calls than a guard can have forgotten is stuck", async () => {
    const guard = await program("lines.resume();");
    for (let n = 0; n <= 1_000; n += 1) {
      const abort = new AbortController();
      const call = ask(guard, { signal: abort.signal });
      abort.abort();
      await call;
    }
    await isGone((await starts())[0] ?? 0);
    expect((await ask(await program(ECHO))).restarted).toMatch(/1000 abandoned calls/);
  });
});

describe("the end of the session", () => {
  it("closes stdin, and a guard that ends by that is not signalled", async () => {
    const guard = await program(`
      process.on("SIGTERM", () => appendFileSync("signalled", "x"));
      lines.on("close", () => { say({ noise: 1 }); appendFileSync("bye", "x\\n"); });
      lines.on("line", (line) => say({ id: JSON.parse(line).id }));`);
    await ask(guard);
    expect(await at.guards.close()).toEqual([]);
    expect(await readFile(join(at.dir, "bye"), "utf8")).toBe("x\n");
    expect(existsSync(join(at.dir, "signalled"))).toBe(false);
    expect((await starts()).filter(isAlive)).toEqual([]);
    expect((await ask(guard)).exit).toEqual(failed(/its session is over/));
    expect(await starts()).toHaveLength(1);
  });

  onLinux("ends one that ignores it and SIGTERM, with its daemon, and counts what it left", async () => {
    const guard = await program(
      `
      process.on("SIGTERM", () => {});
      setInterval(() => write("still here\\n"), 5);
      const child = spawn("/bin/sleep", ["1000"], { detached: true, stdio: "inherit" });
      appendFileSync("child", child.pid + "\\n");
      lines.on("line", (line) => say({ id: JSON.parse(line).id }));`
        .replace("setInterval", "lines.on('close', () => setInterval")
        .replace(", 5);", ", 5));"),
    );
    await ask(guard);
    const daemon = Number(await untilWritten(join(at.dir, "child")));
    expect(await at.guards.close()).toEqual([{ key: "k", leftovers: 1 }]);
    expect([...(await starts()), daemon].filter(isAlive)).toEqual([]);
  });

  onLinux("what an exit between calls left is told with the next call", async () => {
    const guard = await program(`
      lines.on("line", (line) => {
        spawn("/bin/sleep", ["1000"], { detached: true, stdio: "inherit" }).unref();
        write(JSON.stringify({ id: JSON.parse(line).id }) + "\\n", () => process.exit(0));
      });`);
    expect((await ask(guard)).leftovers).toBe(0);
    await isReaped((await starts())[0] as number);
    expect((await ask(guard)).leftovers).toBe(1);
  });

  it("fails what still waits", async () => {
    const guard = await program("lines.resume();");
    const waits = ask(guard);
    await untilWritten(join(at.dir, "starts"));
    await at.guards.close();
    expect((await waits).exit).toEqual(failed(/ended with its run/));
  });

  it("a process without one is ended by whoever started it", async () => {
    const guard = startGuard(await program(ECHO));
    await untilWritten(join(at.dir, "starts"));
    expect(await guard.close()).toMatchObject({ kind: "closed", leftovers: 0 });
    expect(guard.isUp).toBe(false);
  });

  it("and every other end is told to whoever waits, also where the system cannot be asked what is left", async () => {
    const guard = startGuard(await program(ECHO.replace("say", "if (command === 'ls') say")), {
      endLeft: () => Promise.reject(new Error("too many open files")),
    });
    const signal = new AbortController().signal;
    const { exit } = await guard.ask(commandOf("hang"), { timeoutMs: 500, signal });
    expect(exit).toEqual({ kind: "timeout", timeoutMs: 500 });
    expect(await guard.gone).toMatchObject({
      kind: "stuck",
      message: expect.stringMatching(/could not be looked for: too many/),
    });
  });

  it("which nobody has asked anything starts nothing", async () => {
    expect(await createPersistentGuards().close()).toEqual([]);
  });
});
