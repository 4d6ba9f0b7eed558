// The most memory that reading an agent's output takes, above what the process took before it. Every measurement is a process of its own: it
// starts a printer behind a pipe and reads it through Bridle's child, framer, parser and event queue, or as a naive reader does, with
// readline and JSON.parse. The naive reader gets a line of 256 MB: one of 1 GB is longer than a string can be, and kills it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createStreamParser } from "../dist/render/claude/stream.js";
import { startChild } from "../dist/spawn/child.js";
import { createEventQueue } from "../dist/spawn/event-queue.js";
import { createLineFramer } from "../dist/spawn/frame.js";
import { compare } from "./harness.mjs";

const ME = fileURLToPath(import.meta.url);
const MIB = 2 ** 20;
const MEGABYTE = 1_000_000;

const message = (text) =>
  JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text }] } });

// The printer.

async function write(bytes) {
  if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
}

async function repeat(text, count) {
  const each = Math.max(1, Math.floor(65_536 / text.length));
  const block = Buffer.from(text.repeat(each));
  for (let left = count; left > 0; left -= each)
    await write(left >= each ? block : block.subarray(0, left * text.length));
}

const PRINT = {
  /** One line of that many bytes of text, and a short one. */
  line: async (bytes) => {
    const [start, end] = message("|").split("|");
    await write(start);
    await repeat("x", bytes);
    await write(`${end}\n${message("last")}\n`);
  },
  /** That many messages. */
  lines: (count) => repeat(`${message("line")}\n`, count),
  /** That many lines of a byte, which are no JSON objects. */
  bytes: (count) => repeat("7\n", count),
};

// The readers. Each returns what it saw, so that one that reads nothing does not look good.

async function readAsBridle(printer, { isSlow }) {
  const { stdout, exited } = await startChild({
    program: process.execPath,
    argv: printer,
    env: { PATH: process.env.PATH },
    cwd: process.cwd(),
  });
  const queue = createEventQueue("bench", { onFull: () => stdout.pause(), onDrained: () => stdout.resume() });
  const parser = createStreamParser();
  const framer = createLineFramer({
    onLine: (line) => {
      for (const event of parser.push(line)) queue.push(event);
    },
    onOverflow: (line) => queue.push({ type: "overflow", ...line }),
  });
  stdout.on("data", (chunk) => framer.push(chunk));
  stdout.once("close", () => queue.end());
  const seen = { message: 0, overflow: 0, unparsed: 0, dropped: 0, skippedBytes: 0 };
  let next = 0;
  for await (const event of queue) {
    if (event.seq !== next++) throw new Error(`number ${event.seq} where ${next - 1} should be`);
    seen[event.type] += event.count ?? 1;
    if (event.type === "overflow") seen.skippedBytes += event.bytes;
    if (isSlow && next % 10_000 === 0) await delay(1);
  }
  if ((await exited).code !== 0) throw new Error("The printer failed.");
  return seen;
}

async function readNaively(printer) {
  const child = spawn(process.execPath, printer, { stdio: ["ignore", "pipe", "inherit"] });
  const seen = { message: 0 };
  for await (const line of createInterface({ input: child.stdout }))
    if (JSON.parse(line).type === "assistant") seen.message += 1;
  return seen;
}

const READ = {
  bridle: (printer) => readAsBridle(printer, { isSlow: false }),
  "bridle-slow": (printer) => readAsBridle(printer, { isSlow: true }),
  naive: readNaively,
};

/** In MiB. On Linux of this program alone: what getrusage tells may be its parent's, from before the exec. */
function memory() {
  if (process.platform !== "linux")
    return { now: process.memoryUsage.rss() / MIB, peak: process.resourceUsage().maxRSS / 1024 };
  const status = readFileSync("/proc/self/status", "utf8");
  const of = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return { now: of("VmRSS"), peak: of("VmHWM") };
}

// The measurement.

async function measure(reader, shape, amount, expected) {
  const child = spawn(process.execPath, [ME, "read", reader, shape, String(amount)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`The reader ${reader} of ${amount} ${shape} exited with ${code}.`);
  const { aboveBase, seen } = JSON.parse(text);
  for (const [what, count] of Object.entries(expected))
    if (seen[what] !== count)
      throw new Error(`The reader ${reader} of ${amount} ${shape} saw ${seen[what]} of ${count} ${what}.`);
  return aboveBase;
}

/** MiB above the base, for every reading by Bridle. About 40 is measured, most of it room that V8 takes for short-lived objects. */
const CEILING = 64;

export async function benchMemory({ scale = 1, rounds = 3 } = {}) {
  const largeBytes = 1000 * MEGABYTE * scale;
  const naiveBytes = 256 * MEGABYTE * scale;
  const lines = 10_000_000 * scale;
  const slowLines = lines / 5;
  const frameBytes = message("").length;
  const skips = (bytes) =>
    bytes + frameBytes > 16 * MIB
      ? { message: 1, overflow: 1, skippedBytes: bytes + frameBytes }
      : { message: 2 };
  const ceilings = (...readings) =>
    Object.fromEntries(
      readings.map((name) => [
        `${name}: ≤ ${CEILING} MiB`,
        (rows) => ({ value: rows[name].p50, limit: CEILING }),
      ]),
    );
  const million = (count) => `${count / 1e6} M`;
  const names = {
    large: `Bridle, a line of ${largeBytes / MEGABYTE} MB`,
    same: `Bridle, a line of ${naiveBytes / MEGABYTE} MB`,
    naive: `readline + JSON.parse, a line of ${naiveBytes / MEGABYTE} MB`,
    lines: `Bridle, ${million(lines)} lines`,
    slow: `Bridle, ${million(slowLines)} lines, a slow consumer`,
    bytes: `Bridle, ${million(slowLines)} lines of a byte, a slow consumer`,
    naiveLines: `readline + JSON.parse, ${million(lines)} lines`,
  };
  const how = { unit: "MiB", rounds, warmup: 0, each: 1 };
  return [
    await compare({
      ...how,
      title: "Peak memory above the base, one line",
      baseline: names.naive,
      variants: [
        { name: names.naive, run: () => measure("naive", "line", naiveBytes, { message: 2 }) },
        { name: names.same, run: () => measure("bridle", "line", naiveBytes, skips(naiveBytes)) },
        { name: names.large, run: () => measure("bridle", "line", largeBytes, skips(largeBytes)) },
      ],
      limits: ceilings(names.same, names.large),
    }),
    await compare({
      ...how,
      title: "Peak memory above the base, small lines",
      baseline: names.naiveLines,
      variants: [
        { name: names.naiveLines, run: () => measure("naive", "lines", lines, { message: lines }) },
        { name: names.lines, run: () => measure("bridle", "lines", lines, { message: lines, dropped: 0 }) },
        {
          name: names.slow,
          run: () => measure("bridle-slow", "lines", slowLines, { message: slowLines, dropped: 0 }),
        },
        { name: names.bytes, run: () => measure("bridle-slow", "bytes", slowLines, {}) },
      ],
      limits: ceilings(names.lines, names.slow, names.bytes),
    }),
  ];
}

if (process.argv[1] === ME) {
  const [verb, ...words] = process.argv.slice(2);
  if (verb === "print") {
    const [shape, amount] = words;
    await PRINT[shape](Number(amount));
  } else if (verb === "read") {
    const [reader, shape, amount] = words;
    const base = memory().now;
    const startedAt = performance.now();
    const seen = await READ[reader]([ME, "print", shape, amount]);
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(JSON.stringify({ aboveBase: memory().peak - base, base, seconds, seen }));
  }
}
