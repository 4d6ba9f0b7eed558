// @ts-check
// Many tasks through `bridle fanout`, killed with SIGKILL at random moments and started again each time: every task comes to one end, and
// nothing is left. Exits 1 on any violation. `--tasks 500`, `--kills 20`, `--concurrency 6`, `--seed N`, `--dist FOLDER`.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { livingProcesses } from "./measure.mjs";

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "500" },
    kills: { type: "string", default: "20" },
    concurrency: { type: "string", default: "6" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    dist: { type: "string", default: join(import.meta.dirname, "..", "dist") },
  },
});
const dist = resolve(values.dist);
const [tasks = 0, kills = 0, seed = 0] = [values.tasks, values.kills, values.seed].map(Number);
const AGENT = join(import.meta.dirname, "agent.sh");
const DENY = 'case "$(cat)" in *forbidden*) echo "not this" >&2; exit 2 ;; esac';
/** A start that comes to nothing in this time is told. */
const START_MS = 120_000;

/** The same numbers for the same seed (mulberry32). @param {number} from */
function createRandom(from) {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const random = createRandom(seed);

mkdirSync(join(homedir(), ".cache"), { recursive: true });
const folder = mkdtempSync(join(homedir(), ".cache", "bridle-fanout-soak-"));
const [project, tmp] = ["project", "tmp"].map((name) => join(folder, name));
const state = join(folder, ".local", "state", "bridle");
const env = { PATH: process.env.PATH, HOME: folder, TMPDIR: tmp, NO_COLOR: "1" };

/** @param {string[]} words */
const git = (...words) =>
  execFileSync(
    "git",
    ["-C", String(project), "-c", "user.name=T", "-c", "user.email=t@example.com", ...words],
    { env, encoding: "utf8" },
  );

function layOut() {
  for (const path of [project, tmp]) mkdirSync(String(path));
  writeFileSync(join(String(project), "guard.sh"), `${DENY}\n`);
  git("init", "--quiet", "--initial-branch=main");
  git("add", ".");
  git("commit", "--quiet", "-m", "one");
  const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: ["/bin/sh", "guard.sh"] }] }] };
  writeFileSync(join(String(project), "hooks.json"), JSON.stringify({ hooks_external: hooks }));
  const lines = Array.from({ length: tasks }, (_, at) => ({
    id: `task-${at}`,
    prompt: `turns=1 deny=${at % 10 === 0 ? 1 : 0} pause=0.${at % 3} `,
    worktree: at % 2 === 0,
  }));
  writeFileSync(join(folder, "tasks.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** One start of the fan-out. @param {number} killAfterEnds how many tasks may end before it is killed; Infinity: it is not @param {number} thenMs */
async function startOnce(killAfterEnds, thenMs) {
  const words = [
    join(dist, "cli", "main.js"),
    "fanout",
    join(folder, "tasks.jsonl"),
    ...[
      "--provider",
      "claude",
      "--binary",
      AGENT,
      "--prove",
      "off",
      "--hooks",
      join(String(project), "hooks.json"),
    ],
    ...["--cwd", String(project), "--concurrency", values.concurrency, "--config-home", "run", "--json"],
  ];
  const child = spawn(process.execPath, words, { env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const seen = { ends: 0, recovered: 0, isKilled: false, lines: /** @type {any[]} */ ([]) };
  let rest = "";
  let errors = "";
  const kill = async () => {
    if (seen.isKilled) return;
    seen.isKilled = true;
    await delay(thenMs);
    child.kill("SIGKILL");
  };
  child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const said = JSON.parse(line);
      if (said.type === "task_ended") seen.ends += 1;
      if (said.type === "recovered") seen.recovered += 1;
      if (said.type !== "attempt_started") seen.lines.push(said);
    }
    if (seen.ends >= killAfterEnds) void kill();
  });
  child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => {
    errors += chunk;
  });
  // Also one that is killed before its first task ends.
  if (killAfterEnds === 0) void kill();
  const timer = setTimeout(
    () => {
      errors += `nothing for ${START_MS} ms`;
      child.kill("SIGKILL");
    },
    START_MS + tasks * 1_000,
  );
  const [code, signal] = await once(child, "close");
  clearTimeout(timer);
  if (!seen.isKilled && code !== 0)
    throw new Error(
      `the fan-out ended with ${code ?? signal}: ${errors}\n${JSON.stringify(seen.lines.at(-1))}`,
    );
  return seen;
}

/** @param {unknown[]} bad */
const list = (bad) => (bad.length === 0 ? undefined : `${bad.length}: ${JSON.stringify(bad.slice(0, 3))}`);

/** Outcomes of the runs as their receipts tell, by run id. */
function readEnds() {
  const receipts = join(state, "receipts");
  /** @type {Map<string, string>} */
  const ends = new Map();
  for (const name of existsSync(receipts) ? readdirSync(receipts) : []) {
    const lines = readFileSync(join(receipts, name), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("{"));
    const ended = lines
      .map((line) => {
        try {
          return JSON.parse(line);
        } catch {
          return {};
        }
      })
      .find(({ kind }) => kind === "run_ended");
    if (ended !== undefined) ends.set(name.replace(".jsonl", ""), ended.outcome);
  }
  return ends;
}

layOut();
const startedAt = performance.now();
let status = 0;
try {
  let lost = 0;
  let starts = 0;
  for (let nth = 0; nth < kills; nth++) {
    // Spread over the tasks that are left, some of them in the first moments of a start.
    const ends = random() < 0.2 ? 0 : 1 + Math.floor(random() * Math.max(1, (1.6 * tasks) / (kills + 1)));
    const seen = await startOnce(ends, Math.floor(random() * (ends === 0 ? 1_500 : 400)));
    starts += 1;
    lost += seen.recovered;
    if (!seen.isKilled) break;
  }
  const last = await startOnce(Number.POSITIVE_INFINITY, 0);
  starts += 1;
  lost += last.recovered;
  const { readFanOut, listFanOuts } = await import(pathToFileURL(join(dist, "fanout", "index.js")).href);
  const found = await listFanOuts({ stateDir: state });
  const record = await readFanOut(found[0].id, { stateDir: state });
  const outcomes = readFileSync(join(found[0].directory, "outcomes.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const ends = readEnds();
  /** @typedef {{ id: string, state: string, outcome?: string, reason?: string, attempts: { runId: string, outcome?: string, endedAt?: string, denied?: number }[] }} Task */
  const all = /** @type {Task[]} */ (record.tasks);
  const attempts = all.flatMap((task) => task.attempts);
  const living = () => livingProcesses({ folder, runIds: new Set(attempts.map(({ runId }) => runId)) });
  // What a killed fan-out's watchdog still has to do.
  for (let waited = 0; waited < 100 && living().length > 0; waited++) await delay(100);
  /** @type {Record<string, string | undefined>} */
  const checks = {
    "there is one fan-out, and it is finished": list(
      found.filter((/** @type {any} */ it) => it.state !== "finished" || found.length !== 1),
    ),
    "every task has one outcome": list(
      all.filter((task) => task.state !== "finished" || task.outcome === undefined),
    ),
    "every outcome is a success": list(all.filter((task) => task.outcome !== "success")),
    "no task was started again after it had succeeded": list(
      all.filter((task) =>
        task.attempts
          .slice(0, -1)
          .some(({ runId, outcome }) => outcome === "success" || ends.get(runId) === "success"),
      ),
    ),
    "every attempt has an end": list(attempts.filter(({ endedAt }) => endedAt === undefined)),
    "every run that there was is an attempt": list(
      [...ends.keys()].filter((runId) => !attempts.some((it) => it.runId === runId)),
    ),
    "the file of outcomes has one line a task":
      outcomes.length === tasks && new Set(outcomes.map(({ id }) => id)).size === tasks
        ? undefined
        : `${outcomes.length}`,
    "the fan-out was killed as often as asked":
      starts === kills + 1 ? undefined : `${starts - 1} of ${kills}`,
    "no process is left": list(living()),
    "no worktree is left": list([
      ...git("worktree", "list", "--porcelain")
        .split("\n")
        .filter((line) => line.startsWith("worktree "))
        .slice(1),
      ...(existsSync(join(found[0].directory, "worktrees")) ? ["worktrees"] : []),
    ]),
    "no run directory is left": list(existsSync(join(state, "run")) ? readdirSync(join(state, "run")) : []),
    "no journal is open": list(readdirSync(join(state, "journal")).filter((name) => name.endsWith(".jsonl"))),
    "no session is left": list(
      existsSync(join(state, "sessions"))
        ? readdirSync(join(state, "sessions")).filter((name) => name.startsWith("home-"))
        : [],
    ),
    "no temporary file is left": list(readdirSync(String(tmp))),
  };
  const violations = Object.entries(checks).filter(([, detail]) => detail !== undefined);
  console.log(
    [
      `seed                 ${seed}`,
      `tasks                ${tasks}, runs ${attempts.length}, starts of the fan-out ${starts}, killed ${starts - 1} times`,
      `taken over           ${lost} runs that a killed fan-out had left, ${attempts.filter(({ outcome }) => outcome === "lost").length} of them lost`,
      `time                 ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
      "",
      ...violations.map(([check, detail]) => `VIOLATED  ${check}\n          ${detail}`),
      `${Object.keys(checks).length - violations.length} of ${Object.keys(checks).length} checks hold`,
    ].join("\n"),
  );
  status = violations.length === 0 ? 0 : 1;
} catch (error) {
  console.error(`seed ${seed}: ${error instanceof Error ? error.stack : error}`);
  status = 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = status;
