// A hundred agents under one program, each with hook calls at the pace of a model: how long a call waits for its answer, as the agent sees it,
// beside one agent alone. The agents are shells, so that the processors are left to what is measured. The event loop of the program is watched.

import { existsSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { askingShell, makeFakes } from "./fakes/fakes.mjs";
import { busyShare, summarise } from "./harness.mjs";

/** All start at once on few cores: the last of them waits for all others before it can answer. */
const ATTEST_MS = 120_000;
const TIMES_ALONE = 5;

/**
 * Runs so many agents side by side; their calls begin when all have started.
 * @returns {Promise<{ callsMs: number[], loop: { p50: number, p99: number, max: number }, busyCpu: number, ownCpu: number }>}
 */
async function measure({ fakes, hooks, agents, calls, nth }) {
  const { cwd, env, folder } = fakes;
  const gate = join(folder, `gate-${nth}`);
  if (existsSync(gate)) throw new Error(`${gate} is there already`);
  const runs = await Promise.all(
    Array.from({ length: agents }, async () => {
      const run = await spawnAgent({
        hooks,
        cwd,
        prompt: `calls=${calls} gate=${gate} `,
        baseEnv: env,
        receiptSink: () => {},
        // The fake writes into no home: nothing to keep apart.
        startGate: "off",
        deadlines: { attestMs: ATTEST_MS },
      });
      const read = async () => {
        for await (const _event of run);
        return run.result;
      };
      return { ended: read() };
    }),
  );
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const share = busyShare();
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  writeFileSync(gate, "");
  const results = await Promise.all(runs.map(({ ended }) => ended));
  const elapsedMs = performance.now() - start;
  const cpu = process.cpuUsage(cpuBefore);
  loop.disable();
  const callsMs = results.flatMap(({ outcome, reason, finalText = "" }) => {
    if (outcome !== "success") throw new Error(`A run ended as ${outcome}: ${reason}`);
    const took = finalText.split(" ").map((microseconds) => Number(microseconds) / 1_000);
    if (took.length !== calls || took.some(Number.isNaN))
      throw new Error(`An agent told ${took.length} of ${calls} calls: ${finalText}`);
    return took;
  });
  const inMs = (nanoseconds) => nanoseconds / 1e6;
  return {
    callsMs,
    loop: { p50: inMs(loop.percentile(50)), p99: inMs(loop.percentile(99)), max: inMs(loop.max) },
    busyCpu: share(),
    ownCpu: (cpu.user + cpu.system) / 1_000 / elapsedMs,
  };
}

async function benchTransport(transport, { agents, calls, rounds }) {
  const loadBefore = loadavg()[0];
  const fakes = makeFakes("fan-out", askingShell);
  try {
    const hooks = await compileAgentHooks(
      { PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
      { provider: "claude", cwd: fakes.cwd, binary: fakes.binaries.claude, prove: "off", transport },
    );
    const alone = "one run alone";
    const many = `${agents} runs`;
    const measured = { [alone]: [], [many]: [] };
    for (let round = 0; round < rounds; round++) {
      measured[alone].push(await measure({ fakes, hooks, agents: 1, calls, nth: `${round}-1` }));
      measured[many].push(await measure({ fakes, hooks, agents, calls, nth: `${round}-all` }));
    }
    const worst = (name, of) => Math.max(...measured[name].map(of));
    const told = (name) => {
      const loop = (which) => worst(name, (one) => one.loop[which]).toFixed(1);
      const percent = (of) => `${Math.round(worst(name, of) * 100)} %`;
      return (
        `${name}: event loop delay p50 ${loop("p50")} ms, p99 ${loop("p99")} ms, at most ${loop("max")} ms; ` +
        `${percent((one) => one.busyCpu)} of all processors at work, this program ${percent((one) => one.ownCpu)} of one (the worst round each).`
      );
    };
    return summarise({
      title: `Hook calls of ${agents} runs at once over ${transport}, ${calls} each, 200 to 800 ms apart`,
      unit: "ms",
      baseline: alone,
      loadBefore,
      samples: Object.fromEntries(
        Object.entries(measured).map(([name, of]) => [name, of.flatMap(({ callsMs }) => callsMs)]),
      ),
      limits: {
        [`p99 of ${agents} runs ≤ ${TIMES_ALONE} × the p50 of one`]: (rows) => ({
          value: rows[many].p99 / rows[alone].p50,
          limit: TIMES_ALONE,
        }),
      },
      notes: [told(alone), told(many)],
    });
  } finally {
    fakes.remove();
  }
}

/** Nothing where no bash is: without it the agents cannot tell the time of a call. */
export async function benchFanOut({ agents = 100, calls = 20, rounds = 3 } = {}) {
  if (askingShell === undefined) {
    console.error("Left out: hook calls of many runs at once. The agents need bash, and there is none.");
    return [];
  }
  const tables = [];
  for (const transport of ["shim", "callbacks"])
    tables.push(await benchTransport(transport, { agents, calls, rounds }));
  return tables;
}
