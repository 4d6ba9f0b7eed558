// Reports of processes that stayed. Every process here is real; whether it lives is read from its state.

import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { AgentRun } from "../../src/index.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import { livingIn } from "../spawn/escape-support.ts";
import { isAlive, leftovers } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { behind, CONTAINMENTS, placeOfEachTest } from "./support.ts";

const at = placeOfEachTest();

const HANGING: FakeScript = { steps: [{ text: "up" }, { sins: ["hang"] }] };
const parentOf = (pid: number) =>
  Number(/^PPid:\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);

describe.each(CONTAINMENTS)("%s", (containment) => {
  test("field report 1: a child of an agent that exits 0 is gone before agent_exit, and the receipt tells how", async () => {
    const { place } = at;
    const living: number[] = [];
    const { result, seen } = await fakes.play(place, {
      provider: "claude",
      script: { steps: [{ sins: ["leave-child-session"], text: "done" }] },
      // The agent is there too, and beside it what holds a namespace.
      onMessage: () => void living.push(livingIn(place).length),
      handlers: { agent_exit: () => void living.push(livingIn(place).length) },
      options: { containment },
    });
    expect(result).toMatchObject({ outcome: "success", exitCode: 0, extinction: { survivors: [] } });
    expect(living).toEqual([expect.toSatisfy((count: number) => count >= 2), 0]);
    expect(seen.receipts).toContainEqual(
      expect.objectContaining({
        kind: "run_ended",
        extinction: containment === "sweep" ? "swept" : "proven",
      }),
    );
  });

  test("field report 2: of ten children of an agent that is killed with SIGKILL none is left to init", async () => {
    const { place } = at;
    const leave = 'i=0; while [ $i -lt 10 ]; do sleep 1000 & i=$((i+1)); done; exec "$FAKE" "$@"';
    const { starting } = await fakes.start(place, {
      provider: "claude",
      script: HANGING,
      wrap: behind(place, leave),
      options: { containment },
    });
    const run = await starting;
    const isChild = (pid: number) => parentOf(pid) === run.pid;
    expect(livingIn(place).filter(isChild)).toHaveLength(10);
    process.kill(run.pid, "SIGKILL");
    const { outcome, reason, extinction } = await run.result;
    expect({ outcome, reason, survivors: extinction.survivors }).toEqual({
      outcome: "failed",
      reason: "killed by SIGKILL",
      survivors: [],
    });
    expect(livingIn(place)).toEqual([]);
  });

  const ends: [string, (run: AgentRun) => void][] = [
    ["the wrapper alone is killed", (run) => void process.kill(run.pid, "SIGKILL")],
    ["the run is stopped", (run) => void run.stop("enough")],
  ];
  test.each(ends)(
    "field report 8: the native child of a wrapper ends when %s, although it ignores every signal it can",
    async (_how, end) => {
      const { place } = at;
      const { starting } = await fakes.start(place, {
        provider: "claude",
        script: { ...HANGING, sins: ["ignore-signals"] },
        wrap: behind(place, 'exec 3<&0; "$FAKE" "$@" <&3 & touch native; wait'),
        options: { containment, deadlines: { stopMs: 200 } },
      });
      const run = await starting;
      for await (const event of run) {
        if (event.type !== "message") continue;
        expect(livingIn(place).filter((pid) => parentOf(pid) === run.pid)).toHaveLength(1);
        end(run);
      }
      expect((await run.result).extinction.survivors).toEqual([]);
      expect(livingIn(place)).toEqual([]);
    },
  );

  test("field report 10: a grandchild that ignores TERM gets KILL, although the leader left on TERM", async () => {
    const { place } = at;
    // Without the marker, in the leader's group: what leads to it is the group, and who its parent was.
    const deaf = `env -i sh -c '(trap "" TERM INT HUP; while :; do sleep 1; done) & touch deaf; wait' & until [ -e deaf ]; do sleep 0.01; done`;
    const { starting } = await fakes.start(place, {
      provider: "claude",
      // Deaf to the clean stop only: a stopped shell has no other way to go than TERM.
      script: HANGING,
      wrap: behind(
        place,
        `${deaf}\nexec 3<&0; "$FAKE" "$@" <&3 & trap 'kill -9 $!; exit 0' TERM; wait; while :; do sleep 1; done`,
      ),
      options: { containment, deadlines: { stopMs: 1000 } },
    });
    const run = await starting;
    for await (const event of run) if (event.type === "message") process.kill(run.pid, "SIGTERM");
    expect(await run.result).toMatchObject({
      outcome: "incomplete",
      exitCode: 0,
      extinction: { survivors: [] },
    });
    expect(livingIn(place)).toEqual([]);
  });

  test("field report 11: what stays in the group of a leader that left by itself is ended", async () => {
    const { place } = at;
    let children: number[] = [];
    const { result } = await fakes.play(place, {
      provider: "claude",
      script: { steps: [{ sins: ["leave-child", "leave-child"], text: "done" }] },
      onMessage: (run) => {
        children = livingIn(place).filter((pid) => parentOf(pid) === run.pid);
      },
      options: { containment },
    });
    expect(children).toHaveLength(2);
    expect(result).toMatchObject({ outcome: "success", signal: null, extinction: { survivors: [] } });
    expect(children.filter(isAlive)).toEqual([]);
  });

  test("field report 62: a run whose working directory is deleted stops and settles", async () => {
    const { place } = at;
    const { result, seen } = await fakes.play(place, {
      provider: "claude",
      script: { steps: [{ text: "up" }, { tools: [{ shell: "touch works; sleep 1000" }] }] },
      onMessage: () =>
        void waitUntil(() => fakes.isThere(place, "works")).then(() => rm(place.cwd, { recursive: true })),
      options: { containment, deadlines: { stopMs: 200 } },
    });
    expect(result).toMatchObject({
      outcome: "unenforced",
      reason: expect.stringMatching(/^cwd_lost: /),
      extinction: { survivors: [] },
    });
    expect(seen.exits).toEqual(["unenforced"]);
    expect(await leftovers(place)).toEqual([]);
  });
});

test("field report 13: an agent that never exits after its result is stopped; the run is a success that lingered", async () => {
  const { result } = await fakes.play(at.place, {
    provider: "claude",
    script: { steps: [{ text: "done" }], sins: ["never-exit"] },
    options: { deadlines: { lingerMs: 100, stopMs: 200 } },
  });
  expect(result).toMatchObject({ outcome: "success", reason: "lingered", finalText: "done" });
  expect(livingIn(at.place)).toEqual([]);
});

test.each(["an abort", "stop"] as const)(
  "field report 50: a call whose guard is still thinking at %s is denied, also where the agent goes on",
  async (how) => {
    const { place } = at;
    const abort = new AbortController();
    let started: AgentRun | undefined;
    const PreToolUse: fakes.Handler = () => {
      if (how === "an abort") abort.abort();
      else void started?.stop("enough");
    };
    const { starting } = await fakes.start(place, {
      provider: "claude",
      script: {
        steps: [{ text: "up" }, { tools: [{ shell: "touch ran" }] }, { text: "went on" }],
        sins: ["ignore-signals", "never-exit"],
      },
      handlers: { PreToolUse },
      options: { signal: abort.signal, deadlines: { stopMs: 4000 } },
    });
    started = await starting;
    const decisions: string[] = [];
    for await (const event of started) {
      if (event.type === "hook" && event.event === "PreToolUse") decisions.push(event.decision);
      // The agent is deaf: it has had its answer, and made of it what it would.
      if (event.type === "message" && event.text === "went on") process.kill(started.pid, "SIGKILL");
    }
    expect((await started.result).outcome).toBe("interrupted");
    expect(decisions).toEqual(["deny"]);
    expect(fakes.isThere(place, "ran")).toBe(false);
  },
);

test("field report 60: a run that is aborted ends without TERM, keeps its session id, and is resumed", async () => {
  const { place } = at;
  const abort = new AbortController();
  // The leader notes TERM in the working directory; the fake behind it has the agent's stdin.
  const leader = `exec 3<&0; "$FAKE" "$@" <&3 & trap 'touch termed' TERM; wait $!; code=$?; [ ! -e termed ] || wait $!; exit $code`;
  const first = await fakes.play(place, {
    provider: "claude",
    script: HANGING,
    wrap: behind(place, leader),
    onMessage: () => abort.abort(),
    options: { keepSession: true, signal: abort.signal },
  });
  // An exit code of its own: told to stop, it had the time to write its session and leave.
  expect(first.result).toMatchObject({
    outcome: "interrupted",
    reason: "aborted",
    exitCode: 1,
    signal: null,
    providerSessionId: expect.any(String),
  });
  expect(readdirSync(place.cwd)).toEqual([]);
  const sources: unknown[] = [];
  const second = await fakes.play(place, {
    provider: "claude",
    script: { steps: [{ text: "went on" }] },
    handlers: { SessionStart: ({ source }) => void sources.push(source) },
    options: { resume: first.result.providerSessionId ?? "" },
  });
  expect(second.result).toMatchObject({
    outcome: "success",
    finalText: "went on",
    providerSessionId: first.result.providerSessionId,
  });
  expect(sources).toEqual(["resume"]);
});
