// What the in-process host adds to a tool call: nothing to hear it, and one function hook with its receipt. Loops of calls, because one call is
// shorter than a clock's tick; CPU time, because nothing here waits for anything.

import { z } from "zod";
import { createHookHost } from "../dist/host/index.js";
import { compare } from "./harness.mjs";

const CALLS = 20_000;
const INPUT = { command: "ls -la", count: 1 };
const schema = z.object({ command: z.string(), count: z.number() });

/** Mean CPU time of `CALLS` calls, in µs. */
async function measure(call) {
  const before = process.cpuUsage();
  for (let n = 0; n < CALLS; n += 1) await call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

const run = async (input) => input;

function hostWith(options) {
  const host = createHookHost(options);
  host.tools.register({ name: "T", run });
  host.tools.register({ name: "S", run, input: schema });
  return host;
}

export async function benchHost({ rounds = 15 } = {}) {
  const receipts = { last: undefined };
  const none = hostWith({});
  const off = hostWith({ enabled: false, inProcess: [{ event: "PreToolUse", handler: () => undefined }] });
  const one = hostWith({
    receipts: (receipt) => {
      receipts.last = receipt;
    },
    inProcess: [{ event: "PreToolUse", handler: () => undefined }],
  });
  const silent = hostWith({ inProcess: [{ event: "PreToolUse", handler: () => undefined }] });
  return compare({
    title: "In-process host, one tool call",
    unit: "CPU µs",
    baseline: "the tool itself",
    rounds,
    warmup: 3,
    each: 1,
    variants: [
      { name: "the tool itself", run: () => measure(() => run(INPUT)) },
      { name: "the tool and its schema", run: () => measure(async () => run(schema.parse(INPUT))) },
      { name: "host, no hook", run: () => measure(() => none.tools.invoke("T", INPUT)) },
      { name: "host, no hook, schema", run: () => measure(() => none.tools.invoke("S", INPUT)) },
      { name: "host, enabled: false", run: () => measure(() => off.tools.invoke("T", INPUT)) },
      { name: "host, one function hook", run: () => measure(() => silent.tools.invoke("T", INPUT)) },
      { name: "host, one function hook, receipt", run: () => measure(() => one.tools.invoke("T", INPUT)) },
    ],
    limits: {
      "a host with no hook adds ≤ 1 µs": (rows) => ({
        value: rows["host, no hook"].p50 - rows["the tool itself"].p50,
        limit: 1,
      }),
      "one function hook with receipt ≤ 20 µs": (rows) => ({
        value: rows["host, one function hook, receipt"].p50 - rows["the tool itself"].p50,
        limit: 20,
      }),
    },
  });
}
