// One hook call as a provider makes it (`/bin/sh -c HANDLER`, envelope on stdin, read to the end, wait), for: the shim with
// its broker in both rendered forms (read by the hook's own sh, as under claude; by a shell started for it, as under codex),
// `/bin/true`, and a Node script. Measures the hook, not the provider.
// Two drivers, because a driver's own cost is in every row, where it flatters the first ratio and spoils the second. The `sh`
// loop adds least and stands for the native CLIs, so the promises are checked there; the Node spawner is shown beside it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { startBroker } from "../dist/broker/broker.js";
import { createRunDirectory } from "../dist/broker/run-directory.js";
import { handlerCommand } from "../dist/render/handler-form.js";
import { compare } from "./harness.mjs";

const ENVELOPE = `${JSON.stringify({
  session_id: "0190b1f0-0000-7000-8000-000000000000",
  hook_event_name: "PreToolUse",
  cwd: "/work",
  tool_name: "Bash",
  tool_input: { command: `echo ${"x".repeat(330)}` },
})}\n`;

/** Runs a handler once and checks its exit code: a hook that fails fast must not look fast. */
async function callHook(command) {
  const child = spawn("/bin/sh", ["-c", command], {
    env: { PATH: process.env.PATH },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}); // `/bin/true` does not read
  child.stdin.end(ENVELOPE);
  child.stdout.resume();
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`The hook exited with ${code}: ${stderr}`);
}

const LOOP = `n=0; while [ $n -lt "$3" ]; do n=$((n + 1)); o=$(/bin/sh -c "$1" <"$2") || exit 1; done`;

/** Runs a handler `batch` times from a shell, output read to its end; the mean of a call in ms. */
async function callHookFromShell(command, envelopeFile, batch) {
  const start = performance.now();
  const child = spawn("/bin/sh", ["-c", LOOP, "loop", command, envelopeFile, String(batch)], {
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error("A hook of the loop failed.");
  return (performance.now() - start) / batch;
}

const LIMITS = {
  "shim + broker ≤ 2.3 × /bin/true": (rows) => ({ value: rows["shim + broker"].ratio, limit: 2.3 }),
  "shim in a shell of its own + broker ≤ 2.8 × /bin/true": (rows) => ({
    value: rows["shim in a shell of its own + broker"].ratio,
    limit: 2.8,
  }),
  "shim + broker ≤ 1/10 of a Node script": (rows) => ({
    value: rows["shim + broker"].p50 / rows["node script"].p50,
    limit: 1 / 10,
  }),
};

/** @param options `batch`: calls of one `sh` loop; its own start is spread over all of them */
export async function benchHooks({ rounds = 40, each = 5, batch = 50 } = {}) {
  const parent = join(homedir(), ".cache", "bridle-bench");
  mkdirSync(parent, { recursive: true });
  const work = mkdtempSync(join(parent, "hooks-"));
  const script = join(work, "hook.mjs");
  writeFileSync(
    script,
    'let text = ""; process.stdin.on("data", (c) => { text += c; }).on("end", () => { JSON.parse(text); });\n',
  );
  const envelopeFile = join(work, "envelope.json");
  writeFileSync(envelopeFile, ENVELOPE);
  let runDirectory;
  let broker;
  try {
    runDirectory = await createRunDirectory({ runId: `bench-${process.pid}`, cwd: work, forbidden: [] });
    const faults = [];
    broker = await startBroker({
      runDirectory,
      events: ["PreToolUse"],
      answer: async () => ({ code: 0, stdout: "", stderr: "" }),
      deadlineMs: () => 10_000,
      isGate: () => true,
      onFault: (fault) => faults.push(fault),
    });
    const form = { shimPath: runDirectory.shimPath, event: "PreToolUse", shimSeconds: 20, gate: true };
    const handlers = [
      ["/bin/true", "/bin/true"],
      ["shim + broker", handlerCommand(form)],
      ["shim in a shell of its own + broker", handlerCommand({ ...form, startsShell: true })],
      ["node script", `'${process.execPath}' '${script}'`],
    ];
    const common = { unit: "ms", baseline: "/bin/true", limits: LIMITS };
    const fromShell = await compare({
      ...common,
      title: `One hook call, from a sh loop (means of ${batch} calls)`,
      rounds: Math.ceil(rounds / 4),
      warmup: 1,
      each: 1,
      variants: handlers.map(([name, command]) => ({
        name,
        run: () => callHookFromShell(command, envelopeFile, batch),
      })),
    });
    const fromNode = await compare({
      ...common,
      limits: {},
      title: "One hook call, from a Node spawner",
      rounds,
      each,
      variants: handlers.map(([name, command]) => ({ name, run: () => callHook(command) })),
    });
    const { requests, answered } = broker.counts;
    if (faults.length > 0 || requests !== answered) {
      throw new Error(`The broker had ${faults.length} faults; ${answered} of ${requests} answered.`);
    }
    return [fromShell, fromNode];
  } finally {
    await broker?.close();
    await runDirectory?.remove();
    rmSync(work, { recursive: true, force: true });
  }
}
