// What the real CLIs' shell tools leave behind is gone when the result is there. The same with fakes, and more of it:
// test/spawn/escape.test.ts.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentRun, SpawnOptions } from "../src/index.ts";
import { probePidNamespace } from "../src/spawn/namespace-recipe.ts";
import { type Escapee, endAllIn, findEscapee, isAlive, livingIn, say } from "./support/escapees.ts";
import { BOTH, makeSite, NO_GUARD, runGuarded, type Site, shell } from "./support/harness.ts";

/** By the name of the escapee; its parts say their pids under names of their own. codex itself ends the group of a call that returns. */
const ESCAPES = {
  "a session of its own": {
    command: `setsid sh -c '${say("session")}; exec sleep 1000' &`,
    parts: ["session"],
  },
  "a daemon, forked twice, that holds the tool's output": {
    command: `(setsid sh -c '${say("daemon")}; sleep 1000 & wait' &)`,
    parts: ["daemon"],
  },
  "one that ignores TERM and starts its child again": {
    command: `setsid sh -c 'trap "" TERM INT HUP; ${say("deaf")}; while :; do sh -c "${say("again").replaceAll("$", "\\$")}; exec sleep 1000"; done' >/dev/null 2>&1 &`,
    parts: ["deaf", "again"],
  },
  "a loop under nohup": {
    command: `nohup setsid sh -c '${say("loop")}; while :; do sleep 0.1; done' >/dev/null 2>&1 &`,
    parts: ["loop"],
  },
  "one that starts others while it is being ended": {
    command: `setsid sh -c '${say("breeder")}; while :; do (setsid sleep 1000 &); sleep 0.05; done' >/dev/null 2>&1 &`,
    parts: ["breeder"],
  },
} as const;

/** No marker, no parent, no group: what the sweep does not find. */
const KNOWN_HOLE = {
  command: `env -i PATH="$PATH" sh -c 'setsid sh -c "${say("hole").replaceAll("$", "\\$")}; exec sleep 1000" >/dev/null 2>&1 & exit' & wait`,
  parts: ["hole"],
};
const untilSaid = (name: string) => `until [ -e pids/${name} ]; do sleep 0.02; done`;
const NAMES = [...Object.values(ESCAPES), KNOWN_HOLE].flatMap(({ parts }) => [...parts]);

const recipe = await probePidNamespace();
const modes = [
  { containment: "sweep", why: "" },
  {
    containment: "pid-namespace",
    why: typeof recipe === "string" ? `(skipped here: ${recipe})` : "",
  },
] as const;
type Mode = (typeof modes)[number]["containment"];

const tick = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Every escapee as it is during the run. Rejects when one of them never came. */
async function untilAllAreThere(site: Site): Promise<Map<string, Escapee>> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const found = NAMES.map((name) => [name, findEscapee(site, name)] as const);
    if (found.every(([, escapee]) => escapee !== undefined)) return new Map(found as [string, Escapee][]);
    await tick(50);
  }
  const missing = NAMES.filter((name) => findEscapee(site, name) === undefined);
  throw new Error(`never there: ${missing.join(", ")}`);
}

describe.each(BOTH)("$mode", (column) => {
  describe.each(modes)("$containment $why", ({ containment, why }) => {
    const ends = [
      { how: "that ends by itself", outcome: "success" },
      { how: "that is stopped during a tool call", outcome: "interrupted" },
    ] as const;

    it.skipIf(why !== "").each(ends)("a run $how leaves nothing its tools started", async ({ outcome }) => {
      const site = makeSite();
      onTestFinished(() => endAllIn(site));
      mkdirSync(join(site.project, "pids"));
      let escapees = new Map<string, Escapee>();
      const letEnd = async (run: AgentRun) => {
        escapees = await untilAllAreThere(site);
        if (outcome === "interrupted") await run.stop("enough");
        else writeFileSync(site.at("go"), "");
      };
      let letting: Promise<void> | undefined;
      const { result } = await runGuarded({
        column,
        site,
        // Each in a call of its own, the last one under way until all of them were seen.
        script: () => [
          ...[...Object.values(ESCAPES), KNOWN_HOLE].map(({ command, parts }) => ({
            tools: [shell(`${command}\n${parts.map(untilSaid).join("\n")}`)],
          })),
          { tools: [shell("until [ -e go ]; do sleep 0.05; done")] },
        ],
        declaration: () => NO_GUARD,
        options: (): Partial<SpawnOptions> => ({ containment, deadlines: { stopMs: 1000 } }),
        onRun: (run) => {
          letting = letEnd(run).catch(async (error: unknown) => {
            await run.stop("never there");
            throw error;
          });
        },
      });
      await letting;
      expect(result.outcome).toBe(outcome);
      expect(result.extinction).toEqual(extinctionOf(containment));
      const left = NAMES.filter((name) => isAlive(escapees.get(name) as Escapee));
      expect(left).toEqual(containment === "sweep" ? KNOWN_HOLE.parts : []);
      expect(livingIn(site)).toEqual(containment === "sweep" ? [escapees.get("hole")] : []);
    });
  });
});

function extinctionOf(containment: Mode) {
  return containment === "sweep"
    ? { state: "swept", method: "tree+group+marker", survivors: [] }
    : { state: "proven", method: "pidns", survivors: [] };
}
