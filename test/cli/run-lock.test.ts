// bridle run --lock as processes: two at once, a holder that is killed, a wait.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { DIST, killRest, livingOf } from "../journal/support.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";

let place: Place;
const children: ChildProcess[] = [];
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  killRest(place);
  await place.remove();
});

const HANGS: FakeScript = { steps: [{ text: "up" }, { sins: ["hang"] }] };
const QUICK: FakeScript = { steps: [{ text: "quick" }] };

async function bridleRun(script: FakeScript, ...flags: string[]) {
  const { binary } = await createFakeProvider({ provider: "claude", script, directory: place.home });
  const hooks = join(place.home, "hooks.yaml");
  const note = `echo "$(cat)" >> ${join(place.home, "exits")}`;
  await writeFile(
    hooks,
    `hooks_external:\n  agent_exit:\n    - hooks: [{type: command, command: ['/bin/sh', '-c', '${note}']}]\n`,
  );
  const words = ["run", "claude", "hello", "--hooks", hooks, "--cwd", place.cwd, "--binary", binary];
  const child = spawn(
    process.execPath,
    [join(DIST, "cli", "main.js"), ...words, "--prove", "off", ...flags],
    { env: place.env, stdio: ["ignore", "pipe", "pipe"] },
  );
  children.push(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const closed = once(child, "close");
  return {
    child,
    says: (text: string) => waitUntil(() => stdout.includes(text), `${text} in ${stdout}${stderr}`),
    ended: () => closed.then(([code]) => ({ code, stdout, stderr })),
  };
}

const locks = () => readdirSync(join(place.home, ".local", "state", "bridle", "locks"));
const exits = () =>
  existsSync(join(place.home, "exits"))
    ? readFileSync(join(place.home, "exits"), "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];

describe("while one run holds the lock", () => {
  test("skip exits with 0 and one line, fail with 75, and neither has started an agent", async () => {
    const first = await bridleRun(HANGS, "--lock", "nightly");
    await first.says("up");
    const skipped = await (await bridleRun(QUICK, "--lock", "nightly", "--if-running", "skip")).ended();
    expect(skipped).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(`^skipped {3}lock nightly is held by pid ${first.child.pid} since .*\\n$`),
      ),
      stderr: "",
    });
    for (const flags of [["--if-running", "fail"], []]) {
      const failed = await (await bridleRun(QUICK, "--lock", "nightly", ...flags)).ended();
      expect([failed.code, failed.stdout, failed.stderr]).toEqual([
        75,
        "",
        expect.stringContaining("bridle: lock nightly: held by pid"),
      ]);
    }
    const json = await (
      await bridleRun(QUICK, "--lock", "nightly", "--if-running", "skip", "--json")
    ).ended();
    expect(JSON.parse(json.stdout)).toMatchObject({ type: "skipped", lock: "nightly", pid: first.child.pid });
    const other = await (await bridleRun(QUICK, "--lock", "weekly", "--if-running", "fail")).ended();
    expect(other.code).toBe(0);
    expect(exits()).toHaveLength(1);
    first.child.kill("SIGTERM");
    expect((await first.ended()).code).toBe(75);
    expect(locks()).toEqual([]);
  });

  test("wait runs when it is given back; with --lock-wait it gives up with 75", async () => {
    const first = await bridleRun(HANGS, "--lock", "nightly");
    await first.says("up");
    const given = await (
      await bridleRun(QUICK, "--lock", "nightly", "--if-running", "wait", "--lock-wait", "0.5")
    ).ended();
    expect([given.code, given.stderr]).toEqual([75, expect.stringContaining("held by pid")]);
    const waiting = await bridleRun(QUICK, "--lock", "nightly", "--if-running", "wait");
    first.child.kill("SIGTERM");
    const { code, stdout } = await waiting.ended();
    expect([code, stdout]).toEqual([0, expect.stringContaining("quick")]);
    expect(exits().map(({ outcome }) => outcome)).toEqual(["interrupted", "success"]);
  });

  test("a run that is refused gives it back", async () => {
    const refused = await (
      await bridleRun(QUICK, "--lock", "nightly", "--permission-mode", "nonsense")
    ).ended();
    expect(refused.code).toBe(78);
    expect(locks()).toEqual([]);
  });
});

test.each(["auto", "sweep"])(
  "a holder that was killed (containment %s): its agent is gone and its agent_exit told before the next run starts",
  async (containment) => {
    const first = await bridleRun(HANGS, "--lock", "nightly", "--containment", containment);
    await first.says("up");
    first.child.kill("SIGKILL");
    await first.ended();
    const { code, stdout } = await (
      await bridleRun(QUICK, "--lock", "nightly", "--if-running", "skip")
    ).ended();
    expect([code, stdout]).toEqual([0, expect.stringContaining("quick")]);
    expect(exits().map(({ outcome, recovered }) => [outcome, recovered])).toEqual([
      ["lost", true],
      ["success", undefined],
    ]);
    expect(livingOf(place)).toEqual([]);
    expect(locks()).toEqual([]);
  },
);

test.each([
  [["--if-running", "skip"]],
  [["--lock-wait", "3"]],
  [["--lock", "x", "--lock-wait", "3"]],
  [["--lock", "x", "--if-running", "maybe"]],
  [["--lock", "x", "--if-running", "wait", "--lock-wait", "-1"]],
])("%j is a mistake: 64", async (flags) => {
  expect((await (await bridleRun(QUICK, ...flags)).ended()).code).toBe(64);
});

const root = fileURLToPath(new URL("../..", import.meta.url));
const units = ["bridle-nightly.service", "bridle-nightly.timer"].map((name) =>
  join(root, "examples", "systemd", name),
);
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

test.runIf(hasSystemd)("the example units are verified by systemd-analyze", async () => {
  // Programs are looked for where they are on this machine.
  const folder = join(place.home, "units");
  const { mkdirSync, writeFileSync } = await import("node:fs");
  mkdirSync(folder);
  const copies = units.map((path) => {
    const copy = join(folder, path.split("/").at(-1) as string);
    writeFileSync(copy, readFileSync(path, "utf8").replaceAll("/usr/local/bin/bridle", process.execPath));
    return copy;
  });
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...copies], {
    encoding: "utf8",
    env: { ...process.env, SYSTEMD_LOG_LEVEL: "warning" },
  });
  const told = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("bridle-nightly"));
  expect([status, told]).toEqual([0, []]);
});

test("the example service says what docs/SCHEDULES.md says", () => {
  const page = readFileSync(join(root, "docs", "SCHEDULES.md"), "utf8");
  for (const path of units) expect(page).toContain(readFileSync(path, "utf8").trim());
});
