// How a run ends from outside, and how a kept session goes on, on the real CLIs.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentRun } from "../src/index.ts";
import type { ModelServer } from "../src/prove/loopback-server.ts";
import { DENY, denyWhen, guardTools } from "./support/guards.ts";
import {
  ALL,
  BOTH,
  CODEX,
  type GuardedRun,
  leftRunDirectories,
  NO_GUARD,
  processesWith,
  runGuarded,
  type Site,
  shell,
  touch,
} from "./support/harness.ts";

const tick = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Resolves once the tool call has started its own processes. */
async function untilCalled(site: Site): Promise<void> {
  for (let attempt = 0; attempt < 200 && !site.has("started.txt"); attempt++) await tick(50);
  if (!site.has("started.txt")) throw new Error("the tool call never started");
}

// A child that leaves the group, and one that stays: none may outlive the run.
const slowCall = (site: Site) => [
  {
    tools: [
      shell(
        `setsid sleep 61 & sleep 62 & touch '${site.at("started.txt")}'; sleep 63; touch '${site.at("late.txt")}'`,
      ),
    ],
  },
];

describe.each(ALL)("$mode: stopped from outside", (column) => {
  const stops: { how: string; reason: string; stop: (run: AgentRun, abort: AbortController) => void }[] = [
    { how: "an abort", reason: "aborted", stop: (_run, abort) => abort.abort() },
    { how: "stop()", reason: "enough", stop: (run) => void run.stop("enough") },
  ];
  it.each(stops)("$how during a tool call leaves no process", async ({ reason, stop }) => {
    const abort = new AbortController();
    let site: Site | undefined;
    const run = await runGuarded({
      column,
      script: slowCall,
      declaration: (made) => {
        site = made;
        return guardTools("cat >/dev/null")(made);
      },
      options: () => ({ signal: abort.signal }),
      onRun: (started) => void untilCalled(site as Site).then(() => stop(started, abort)),
    });
    expect(run.result).toMatchObject({ outcome: "interrupted", reason });
    expect(run.result.extinction.survivors).toEqual([]);
    expect(processesWith(run.result.runId)).toEqual([]);
    expect(run.site.has("late.txt")).toBe(false);
    expect(leftRunDirectories(run.site)).toEqual([]);
    expect(run.result.durationMs).toBeLessThan(15_000);
  });
});

describe.each(BOTH)("$mode: stopped too late or too early", (column) => {
  it("an abort before the spawn starts nothing", async () => {
    const spec = {
      column,
      script: () => [],
      declaration: () => NO_GUARD,
      options: () => ({ signal: AbortSignal.abort(new Error("too early")) }),
    };
    await expect(runGuarded(spec)).rejects.toThrow("too early");
  });

  it.each(["stop", "interrupt"] as const)(
    "%s() while its hook is asked is what ended it, and the call never ran",
    async (how) => {
      let isAsked: () => void = () => {};
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve;
      });
      const run = await runGuarded({
        column,
        script: (site) => [{ tools: [touch(site, "ran.txt")] }],
        declaration: () => ({
          PreToolUse: [
            {
              hooks: [
                {
                  type: "function",
                  handler: async () => {
                    isAsked();
                    await tick(1_500);
                    return undefined;
                  },
                },
              ],
            },
          ],
        }),
        onRun: (started) =>
          void asked.then(() => (how === "stop" ? started.stop("enough") : started.interrupt())),
      });
      expect(run.result).toMatchObject({ outcome: "interrupted" });
      expect(run.site.has("ran.txt")).toBe(false);
    },
  );

  it("stop() after the end changes nothing", async () => {
    let ended: AgentRun | undefined;
    const run = await runGuarded({
      column,
      script: () => [],
      declaration: () => NO_GUARD,
      onRun: (started) => {
        ended = started;
      },
    });
    expect(await ended?.stop()).toBe(run.result);
    expect(run.result.outcome).toBe("success");
  });

  it("a tool call that hangs ends by the wall clock", async () => {
    const run = await runGuarded({
      column,
      script: slowCall,
      declaration: () => NO_GUARD,
      options: () => ({ deadlines: { wallMs: 2500, stopMs: 1000 } }),
    });
    expect(run.result).toMatchObject({ outcome: "timed_out", reason: "wall" });
    expect(processesWith(run.result.runId)).toEqual([]);
    expect(run.site.has("late.txt")).toBe(false);
  });
});

describe.each(BOTH)("$mode: a kept session", (column) => {
  const keep = () => ({ keepSession: true });

  function firstRun(): Promise<GuardedRun> {
    return runGuarded({
      column,
      prompt: "FIRST-PROMPT",
      script: (site) => [{ tools: [touch(site, "forbidden.txt")] }],
      declaration: guardTools(denyWhen("forbidden")),
      options: keep,
    });
  }

  const resumed = (first: GuardedRun, more: object = {}) => ({
    column,
    site: first.site,
    script: (site: Site) => [{ tools: [touch(site, "forbidden.txt"), touch(site, "fine.txt")] }],
    options: () => ({ keepSession: true, resume: String(first.result.providerSessionId), ...more }),
  });
  const remembers = (server: ModelServer) => server.userTexts().some((text) => text.includes("FIRST-PROMPT"));

  it("goes on under the same hooks", async () => {
    const first = await firstRun();
    expect(first.site.has("forbidden.txt")).toBe(false);
    const second = await runGuarded({ ...resumed(first), declaration: guardTools(denyWhen("forbidden")) });
    expect(second.result.outcome).toBe("success");
    expect(remembers(second.server)).toBe(true);
    expect(second.site.has("forbidden.txt")).toBe(false);
    expect(second.site.has("fine.txt")).toBe(true);
  });

  it("refuses to go on without one of its gates, unless the caller says so", async () => {
    const first = await firstRun();
    const without = { declaration: () => NO_GUARD };
    const refused = await runGuarded({ ...resumed(first), ...without });
    expect(refused.refusal?.issues).toMatchObject([{ code: "resume_mismatch" }]);
    expect(refused.server.modelCalls).toBe(0);
    expect(first.site.has("forbidden.txt")).toBe(false);

    const accepted = await runGuarded({ ...resumed(first, { allowHookChange: true }), ...without });
    expect(accepted.result.outcome).toBe("success");
    expect(remembers(accepted.server)).toBe(true);
    expect(first.site.has("forbidden.txt")).toBe(true);
  });
});

describe("codex: the home of a kept session", () => {
  it("that holds a .env refuses to be resumed", async () => {
    const column = CODEX;
    const first = await runGuarded({
      column,
      script: () => [],
      declaration: guardTools(DENY),
      options: () => ({ keepSession: true }),
    });
    const sessions = join(first.site.state, "sessions");
    const home = readdirSync(sessions).find((name) => name.startsWith("home-"));
    expect(existsSync(join(sessions, String(home)))).toBe(true);
    writeFileSync(join(sessions, String(home), ".env"), "BASH_ENV=/dev/null\n");
    const second = await runGuarded({
      column,
      site: first.site,
      script: (site) => [{ tools: [touch(site, "happened.txt")] }],
      declaration: guardTools(DENY),
      options: () => ({ resume: String(first.result.providerSessionId) }),
    });
    expect(second.refusal?.issues).toMatchObject([{ code: "run_home_unsafe" }]);
    expect(second.server.modelCalls).toBe(0);
    expect(second.site.has("happened.txt")).toBe(false);
  });
});
