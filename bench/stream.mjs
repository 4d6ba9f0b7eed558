// A provider-like NDJSON stream of a given size: as a process (`node bench/stream.mjs MB`), or as chunks in this one.
// A plain line splitter with JSON.parse stands beside Bridle's framer and event parser.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createStreamParser } from "../dist/render/claude/stream.js";
import { createLineFramer } from "../dist/spawn/frame.js";
import { compare } from "./harness.mjs";

const CHUNK_BYTES = 64 * 1024;

/** Lines as the CLIs print them: mostly short, each 50th line 64 KiB of tool output. */
function block() {
  const lines = [];
  for (let n = 0; n < 50; n++) {
    const text =
      n === 49 ? "tool output ".repeat(5_461) : `line ${n} of an agent's message, of ordinary length`;
    lines.push(
      JSON.stringify({
        type: "assistant",
        session_id: "s",
        message: { role: "assistant", content: [{ type: "text", text }] },
      }),
    );
  }
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** Yields chunks of a pipe's size that cut lines anywhere; whole blocks, at least `bytes` in all. */
export function* ndjsonChunks(bytes) {
  const source = block();
  const blocks = Math.ceil(bytes / source.length);
  let rest = Buffer.alloc(0);
  for (let n = 0; n < blocks; n++) {
    rest = rest.length === 0 ? source : Buffer.concat([rest, source]);
    while (rest.length >= CHUNK_BYTES) {
      yield rest.subarray(0, CHUNK_BYTES);
      rest = rest.subarray(CHUNK_BYTES);
    }
  }
  if (rest.length > 0) yield rest;
}

/** Starts the generator as a process whose stdout is the stream. */
export function spawnNdjson(megabytes) {
  return spawn(process.execPath, [fileURLToPath(import.meta.url), String(megabytes)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function drain(child, onChunk) {
  let bytes = 0;
  const start = performance.now();
  child.stdout.on("data", (chunk) => {
    bytes += chunk.length;
    onChunk(chunk);
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`The stream generator exited with ${code}.`);
  return bytes / 2 ** 20 / ((performance.now() - start) / 1000);
}

function lineParser() {
  let rest = "";
  const decoder = new TextDecoder();
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) JSON.parse(line);
  };
}

function eventReader() {
  const parser = createStreamParser();
  const framer = createLineFramer({
    onLine: (line) => {
      parser.push(line);
    },
    onOverflow: ({ bytes }) => {
      throw new Error(`A line of ${bytes} bytes was skipped.`);
    },
  });
  return (chunk) => framer.push(chunk);
}

export function benchStream({ megabytes = 200, rounds = 3 } = {}) {
  return compare({
    title: `Event stream, ${megabytes} MB of NDJSON from a process`,
    unit: "MB/s",
    baseline: "read only",
    rounds,
    warmup: 1,
    each: 1,
    variants: [
      { name: "read only", run: () => drain(spawnNdjson(megabytes), () => {}) },
      { name: "split + JSON.parse", run: () => drain(spawnNdjson(megabytes), lineParser()) },
      { name: "Bridle events", run: () => drain(spawnNdjson(megabytes), eventReader()) },
    ],
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const megabytes = Number(process.argv[2] ?? 200);
  for (const chunk of ndjsonChunks(megabytes * 2 ** 20)) {
    if (!process.stdout.write(chunk)) await once(process.stdout, "drain");
  }
}
