// What it costs to read an agent's output: in this process on prepared chunks of a pipe's size, where CPU time can be told apart to the line;
// and from a fake CLI through the public API of Bridle and of the official SDKs, where everything counts that the reading process does.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { compileAgentHooks, spawnAgent } from "../dist/index.js";
import { createStreamParser } from "../dist/render/claude/stream.js";
import { codexAdapter } from "../dist/render/codex/index.js";
import { createLineFramer } from "../dist/spawn/frame.js";
import { agentLines } from "./agent-lines.mjs";
import { makeFakes } from "./fakes/fakes.mjs";
import { compare } from "./harness.mjs";

const MIB = 2 ** 20;
const CHUNK_BYTES = 64 * 1024;
const SIZES = [
  { lineBytes: 200, label: "200 B" },
  { lineBytes: 4 * 1024, label: "4 KB" },
  { lineBytes: 64 * 1024, label: "64 KB" },
  { lineBytes: MIB, label: "1 MB" },
];

/**
 * CPU time of this process in ms, with what it makes of a second.
 * @param {{ megabytes: number, lines: number, cpu: NodeJS.CpuUsage, wallMs: number }} measured
 */
function toSample({ megabytes, lines, cpu, wallMs }) {
  const cpuMs = (cpu.user + cpu.system) / 1_000;
  return {
    value: cpuMs,
    more: {
      "wall (ms)": wallMs,
      "MB/s": megabytes / (cpuMs / 1_000),
      "events/s": lines / (cpuMs / 1_000),
    },
  };
}

function checkCount(reader, seen, expected) {
  if (seen !== expected) throw new Error(`${reader} saw ${seen} of ${expected} lines`);
}

// In this process. A reader takes the chunks and returns how many lines it has parsed.

function frameAndParse(chunks) {
  let rest = Buffer.alloc(0);
  let seen = 0;
  for (const part of chunks) {
    const chunk = rest.length === 0 ? part : Buffer.concat([rest, part]);
    let start = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      JSON.parse(chunk.toString("utf8", start, at));
      seen += 1;
      start = at + 1;
    }
    rest = chunk.subarray(start);
  }
  return seen;
}

/** As long lines come in many chunks: they are joined once, at their end. */
function frameJoinedAndParse(chunks) {
  let parts = [];
  let seen = 0;
  for (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      if (parts.length === 0) JSON.parse(chunk.toString("utf8", start, at));
      else {
        parts.push(chunk.subarray(start, at));
        JSON.parse(Buffer.concat(parts).toString("utf8"));
        parts = [];
      }
      seen += 1;
      start = at + 1;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  return seen;
}

async function readlineAndParse(chunks) {
  let seen = 0;
  for await (const line of createInterface({ input: Readable.from(chunks) })) {
    JSON.parse(line);
    seen += 1;
  }
  return seen;
}

/** As a run reads, short of the queue. @param {readonly string[] | undefined} types that are wanted; all */
function readAsBridle(types) {
  return (chunks) => {
    const parser = createStreamParser(types === undefined ? undefined : (type) => types.includes(type));
    let seen = 0;
    const { skips } = parser;
    const framer = createLineFramer({
      ...(skips === undefined ? {} : { skips }),
      onLine: (line) => {
        seen += parser.push(line).length;
      },
      onOverflow: ({ bytes }) => {
        throw new Error(`A line of ${bytes} bytes was skipped.`);
      },
    });
    for (const chunk of chunks) framer.push(chunk);
    return seen;
  };
}

const BASELINE = "Buffer framing + JSON.parse";
const ALL = "Bridle, all events";
const ONE = "Bridle, one type wanted";

const throughput = (name, other, atLeast) => [
  `${name} ≥ ${atLeast} × the throughput of ${other}`,
  (rows) => ({ value: rows[other].p50 / rows[name].p50, atLeast }),
];

async function benchInProcess({ lineBytes, label }, { megabytes, rounds }) {
  const { text, lines } = agentLines({ provider: "claude", lineBytes, bytes: megabytes * MIB });
  const chunks = [];
  for (let at = 0; at < text.length; at += CHUNK_BYTES) chunks.push(text.subarray(at, at + CHUNK_BYTES));
  const variant = (name, read, expected) => ({
    name,
    run: async () => {
      const before = process.cpuUsage();
      const start = performance.now();
      const seen = await read(chunks);
      const wallMs = performance.now() - start;
      const cpu = process.cpuUsage(before);
      checkCount(name, seen, expected);
      return toSample({ megabytes: text.length / MIB, lines, cpu, wallMs });
    },
  });
  return compare({
    title: `Reading lines of ${label} in this process, ${megabytes} MB`,
    unit: "CPU ms",
    baseline: BASELINE,
    rounds,
    warmup: 2,
    each: 1,
    variants: [
      variant(BASELINE, lineBytes > CHUNK_BYTES / 2 ? frameJoinedAndParse : frameAndParse, lines),
      variant("readline + JSON.parse", readlineAndParse, lines),
      variant(ALL, readAsBridle(undefined), lines),
      // The first line of the model is always read: it says that there is work.
      variant(ONE, readAsBridle(["result"]), 1),
      variant("Bridle, one type, calls guarded", readAsBridle(["result", "tool_result"]), lines / 2 + 1),
    ],
    limits: Object.fromEntries([throughput(ALL, BASELINE, 0.9), throughput(ONE, BASELINE, 3)]),
  });
}

// Through a process. A reader starts the fake and calls `onFirst` at the line that says that the session is there and `onLast` at the one that
// ends the turn; it returns how many lines between them it was given.

async function readWithClaudeSdk(query, { fakes, prompt, onFirst, onLast }) {
  let seen = 0;
  const { cwd, env, binaries } = fakes;
  const options = { pathToClaudeCodeExecutable: binaries.claude, cwd, env, settingSources: [] };
  for await (const { type } of query({ prompt, options })) {
    if (type === "system") onFirst();
    else if (type === "result") onLast();
    else seen += 1;
  }
  return seen;
}

async function readWithCodexSdk(Codex, { fakes, prompt, onFirst, onLast }) {
  let seen = 0;
  const codex = new Codex({ codexPathOverride: fakes.binaries.codex, env: fakes.env });
  const { events } = await codex.startThread({ workingDirectory: fakes.cwd }).runStreamed(prompt);
  for await (const { type } of events) {
    if (type === "thread.started") onFirst();
    else if (type === "turn.completed") onLast();
    else if (type !== "turn.started") seen += 1;
  }
  return seen - 1; // the last message, which both turns have
}

async function readWithBridle(hooks, { fakes, prompt, events, onFirst, onLast }) {
  let seen = 0;
  const run = await spawnAgent({
    hooks,
    prompt,
    cwd: fakes.cwd,
    baseEnv: fakes.env,
    receiptSink: () => {},
    ...(events === undefined ? {} : { events }),
  });
  for await (const { type } of run) {
    if (type === "session") onFirst();
    else if (type === "usage") onLast();
    else if (type === "message" || type === "tool_result") seen += 1;
  }
  const { outcome, reason } = await run.result;
  if (outcome !== "success") throw new Error(`The run ended as ${outcome}: ${reason}`);
  return run.provider === "codex" && events === undefined ? seen - 1 : seen;
}

async function benchThroughProcess({ lineBytes, label }, { megabytes, rounds, fakes, hooks, query, Codex }) {
  const files = {};
  for (const provider of ["claude", "codex"]) {
    const { text, lines } = agentLines({ provider, lineBytes, bytes: megabytes * MIB });
    const path = join(fakes.folder, `${provider}.jsonl`);
    writeFileSync(path, text);
    files[provider] = { path, lines, megabytes: text.length / MIB };
  }
  const variant = (name, provider, read, isAll = true) => ({
    name,
    run: async () => {
      const { path, lines, megabytes } = files[provider];
      let [cpuBefore, start, measured] = [process.cpuUsage(), performance.now(), undefined];
      const seen = await read({
        fakes,
        prompt: `print=${path} `,
        onFirst: () => {
          [cpuBefore, start] = [process.cpuUsage(), performance.now()];
        },
        onLast: () => {
          measured = { cpu: process.cpuUsage(cpuBefore), wallMs: performance.now() - start };
        },
      });
      if (measured === undefined) throw new Error(`${name} gave no last event`);
      checkCount(name, seen, isAll ? lines : 0);
      return toSample({ megabytes, lines, ...measured });
    },
  });
  const few = ["session", "usage"];
  return compare({
    title: `Reading lines of ${label} from a process, ${megabytes} MB, first event to last`,
    unit: "CPU ms",
    baseline: "claude-agent-sdk",
    rounds,
    warmup: 1,
    each: 1,
    variants: [
      variant("claude-agent-sdk", "claude", (call) => readWithClaudeSdk(query, call)),
      variant("Bridle, claude", "claude", (call) => readWithBridle(hooks.claude, call)),
      variant(
        "Bridle, claude, two types wanted",
        "claude",
        (call) => readWithBridle(hooks.claude, { ...call, events: few }),
        false,
      ),
      variant("codex-sdk", "codex", (call) => readWithCodexSdk(Codex, call)),
      variant("Bridle, codex", "codex", (call) => readWithBridle(hooks.codex, call)),
    ],
    limits: Object.fromEntries([
      throughput("Bridle, claude", "claude-agent-sdk", 0.95),
      throughput("Bridle, codex", "codex-sdk", 0.95),
    ]),
  });
}

/** In this process alone: needs no peers. */
export async function benchStream({ megabytes = 16, rounds = 15, sizes = SIZES.length } = {}) {
  const tables = [];
  for (const size of SIZES.slice(0, sizes)) tables.push(await benchInProcess(size, { megabytes, rounds }));
  return tables;
}

export async function benchStreamPeers({ megabytes = 32, rounds = 9 } = {}) {
  const { query } = await import("@anthropic-ai/claude-agent-sdk");
  const { Codex } = await import("@openai/codex-sdk");
  const fakes = makeFakes("stream");
  const { preflight } = codexAdapter;
  // The fake has no app-server, and there is no hook that it could be asked for.
  codexAdapter.preflight = async () => ({ issues: [], foreignHooks: [], capabilities: {} });
  try {
    const hooks = {};
    for (const provider of ["claude", "codex"])
      hooks[provider] = await compileAgentHooks(
        {},
        { provider, cwd: fakes.cwd, binary: fakes.binaries[provider], prove: "off" },
      );
    const tables = [];
    for (const size of SIZES)
      tables.push(await benchThroughProcess(size, { megabytes, rounds, fakes, hooks, query, Codex }));
    return tables;
  } finally {
    codexAdapter.preflight = preflight;
    fakes.remove();
  }
}
