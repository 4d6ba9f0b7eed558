// Who may work in a directory, between runs of one program and of several, and what a dead one leaves.

import { mkdir, readdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  AgentHooksRefused,
  type AgentRun,
  recoverRuns,
  type SpawnOptions,
  spawnAgent,
} from "../../src/index.ts";
import { claimWorkspace } from "../../src/supervisor/workspace.ts";
import { stateDirOf } from "../journal/support.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { compileFake } from "../testkit/support.ts";
import { endPrograms, POLITE, QUICK, startProgram } from "./support.ts";

let place: Place;
const runs: AgentRun[] = [];
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  await Promise.all(runs.splice(0).map((run) => run.stop()));
  await endPrograms();
  await place.remove();
});

async function start(options: Partial<SpawnOptions>, script = POLITE): Promise<AgentRun> {
  const hooks = await compileFake(place, { provider: "claude", script });
  const run = await spawnAgent({
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: () => {},
    containment: "sweep",
    ...options,
  });
  runs.push(run);
  return run;
}

/** Issues of a start that is refused. */
async function refusalOf(starting: Promise<unknown>) {
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AgentHooksRefused)) throw new Error(`expected a refusal, got ${String(error)}`);
  return error.issues;
}

const entries = async () => (await readdir(join(stateDirOf(place), "workspaces"))).sort();

describe("an exclusive run", () => {
  test.each([
    ["shared", "exclusive"],
    ["exclusive", "shared"],
    ["exclusive", "exclusive"],
  ] as const)("first %s, then %s: the second is refused, and told who is there", async (first, second) => {
    const holder = await start({ workspace: first });
    const [issue] = await refusalOf(start({ workspace: second }));
    expect(issue).toMatchObject({ code: "workspace_busy", path: "workspace" });
    for (const told of [place.cwd, holder.id, `pid ${process.pid}`]) expect(issue?.message).toContain(told);
    expect(issue?.hint).toContain("bridle ps");
  });

  test("begins when the others have delivered their result, and leaves nothing", async () => {
    const first = await start({ workspace: "exclusive" }, QUICK);
    for await (const event of first) if (event.type === "result") break;
    const second = await start({ workspace: "exclusive" }, QUICK);
    await second.result;
    expect(await entries()).toEqual([]);
  });

  test("that is denied by agent_prompt leaves the directory free", async () => {
    const hooks = await compileFake(place, {
      provider: "claude",
      script: QUICK,
      handlers: { agent_prompt: () => ({ decision: "block", reason: "no" }) },
    });
    expect(await refusalOf(start({ hooks, workspace: "exclusive" }))).toMatchObject([
      { code: "prompt_denied" },
    ]);
    expect(await entries()).toEqual([]);
  });

  test("that is refused after agent_prompt leaves the directory free", async () => {
    const refused = start({ workspace: "exclusive" }, { ...QUICK, sins: ["lie-hooks-missing"] });
    expect((await refusalOf(refused))[0]).toMatchObject({ code: "attestation_failed" });
    expect(await entries()).toEqual([]);
  });

  test("is there for one that comes through a link, and not for one in a folder below", async () => {
    await start({ workspace: "exclusive" });
    const link = join(place.home, "link");
    await symlink(place.cwd, link);
    const below = join(place.cwd, "below");
    await mkdir(below);
    expect(await refusalOf(start({ cwd: link }))).toMatchObject([{ code: "workspace_busy" }]);
    await start({ cwd: below, workspace: "exclusive" });
  });

  test("two shared runs are in one directory", async () => {
    await start({});
    await start({ workspace: "shared" });
    expect(await entries()).toHaveLength(2);
  });
});

describe("of two programs", () => {
  const HOLD = `const run = await start("polite", { workspace: "exclusive" });`;

  test("that race for one directory exactly one gets it, round after round", async () => {
    const [programs, rounds] = [3, 25];
    const body = `
      const { claimWorkspace } = await import(dist + "/supervisor/workspace.js");
      const { existsSync, readdirSync } = await import("node:fs");
      const signal = new AbortController().signal;
      for (let round = 0; round < extra.rounds; round++) {
        writeFileSync(home + "/round-" + round + "-" + process.pid, "");
        while (readdirSync(home).filter((name) => name.startsWith("round-" + round + "-")).length < extra.programs)
          await new Promise(setImmediate);
        const got = await claimWorkspace({
          stateDir: home + "/state", runId: "r" + process.pid, cwd: "/round-" + round, use: "exclusive", signal,
        }).then(() => true, (error) => error.issues[0].code);
        say({ round, got });
      }
      say({ done: true });
      setInterval(() => {}, 1e6);
    `;
    const running = await Promise.all(
      Array.from({ length: programs }, () => startProgram(place, body, { programs, rounds })),
    );
    await Promise.all(running.map((program) => program.wait("done")));
    const said = running.flatMap((program) => program.said);
    for (let round = 0; round < rounds; round++) {
      const got = said.filter((line) => line.round === round).map((line) => line.got);
      expect(got.sort()).toEqual([true, "workspace_busy", "workspace_busy"]);
    }
  });

  test("one that was killed with its agent does not block the other", async () => {
    const program = await startProgram(place, HOLD);
    await program.wait("started");
    program.child.kill("SIGKILL");
    expect(await program.ended()).toBe("SIGKILL");
    expect(await entries()).toHaveLength(1);
    // The watchdog ends the agent; recovery waits until it is gone.
    await recoverRuns({ stateDir: stateDirOf(place), env: place.env });
    await start({ workspace: "exclusive" });
    expect(await entries()).toHaveLength(1);
  });

  test("one that was killed while its agent lives blocks the other, and the agent is named", async () => {
    const program = await startProgram(
      place,
      `
      const { ensureWatchdog } = await import(dist + "/watchdog/watchdog.js");
      const watchdog = await ensureWatchdog();
      ${HOLD}
      process.kill(watchdog.pid, "SIGKILL");
      process.kill(process.pid, "SIGKILL");
    `,
    );
    const { pid } = await program.wait("started");
    await program.ended();
    const [issue] = await refusalOf(start({ workspace: "exclusive" }));
    expect(issue).toMatchObject({ code: "workspace_busy", hint: expect.stringContaining("bridle recover") });
    expect(issue?.message).toContain(`pid ${pid}`);
    await recoverRuns({ stateDir: stateDirOf(place), env: place.env });
    await start({ workspace: "exclusive" });
  });
});

describe("an entry", () => {
  const claim = (runId: string, use: "exclusive" | "shared" = "exclusive") =>
    claimWorkspace({
      stateDir: stateDirOf(place),
      runId,
      cwd: place.cwd,
      use,
      signal: new AbortController().signal,
    });
  const busy = (starting: Promise<unknown>) =>
    refusalOf(starting).then((issues) => issues.map(({ code }) => code));

  test("of a run with survivors stays while one of them lives", async () => {
    const live = await start({});
    const other = join(place.home, "other");
    await mkdir(other);
    const cwd = await realpath(other);
    const base = { stateDir: stateDirOf(place), cwd, signal: new AbortController().signal } as const;
    // Its marker is that of a run whose agent lives.
    const ended = await claimWorkspace({ ...base, runId: live.id, use: "exclusive" });
    await ended.release({ hasSurvivors: true });
    expect(await busy(claimWorkspace({ ...base, runId: "next", use: "shared" }))).toEqual(["workspace_busy"]);
    await live.stop();
    const next = await claimWorkspace({ ...base, runId: "next", use: "exclusive" });
    await next.release();
  });

  test("of another pid namespace counts until its run is settled", async () => {
    await claim("elsewhere");
    const [file = ""] = await entries();
    const path = join(stateDirOf(place), "workspaces", file);
    const entry = JSON.parse(await readFile(path, "utf8")) as { supervisor: object };
    await writeFile(
      path,
      JSON.stringify({ ...entry, supervisor: { ...entry.supervisor, pidNamespace: "pid:[1]" } }),
    );
    expect(await busy(claim("next"))).toEqual(["workspace_busy"]);
    const folder = join(stateDirOf(place), "journal", "ended");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "elsewhere.jsonl"), "");
    await (await claim("next")).release();
  });

  test("that cannot be written is a warning of a shared run, and refuses an exclusive one", async () => {
    await mkdir(stateDirOf(place), { recursive: true });
    await writeFile(join(stateDirOf(place), "workspaces"), "in the way");
    const run = await start({}, QUICK);
    const { warnings, outcome } = await run.result;
    expect([outcome, warnings]).toEqual([
      "success",
      expect.arrayContaining([expect.objectContaining({ code: "workspace_unnoted" })]),
    ]);
    expect(await busy(start({ workspace: "exclusive" }))).toEqual(["workspace_busy"]);
  });
});

test("of those who come at the same time, an exclusive one is never beside another, and somebody always gets in", async () => {
  const stateDir = stateDirOf(place);
  const cwd = await realpath(place.cwd);
  for (let round = 0; round < 25; round += 1) {
    const uses = ["shared", "exclusive", "shared", "exclusive", "shared"] as const;
    const claims = await Promise.allSettled(
      uses.map((use, index) =>
        claimWorkspace({
          stateDir,
          runId: `r${round}-${index}`,
          cwd,
          use,
          signal: new AbortController().signal,
        }),
      ),
    );
    const inside = uses.filter((_, index) => claims[index]?.status === "fulfilled");
    expect(inside.length).toBeGreaterThan(0);
    if (inside.includes("exclusive")) expect(inside).toEqual(["exclusive"]);
    for (const claim of claims) if (claim.status === "fulfilled") await claim.value.release();
    expect((await entries()).filter((name) => name.endsWith(".json"))).toEqual([]);
  }
});
