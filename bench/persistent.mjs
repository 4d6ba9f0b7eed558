// One hook call through the chain, for a Node script that is started at every call, one that stays, and a function. The files of a command are
// compared before each call, as in a run.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChain } from "../dist/broker/chain.js";
import { closeChainSession, createChainSession } from "../dist/broker/chain-session.js";
import { identifyFile, listDifferences } from "../dist/trust/identity.js";
import { compare } from "./harness.mjs";

const ENVELOPE = {
  session_id: "0190b1f0-0000-7000-8000-000000000000",
  cwd: "/",
  hook_event_name: "PreToolUse",
  harness: "lionagi",
  profile: "v1",
  run_id: "bench",
  provider: "claude",
  tool_name: "Bash",
  tool_input: { command: `echo ${"x".repeat(330)}` },
};

const ONE_SHOT = `import { text } from "node:stream/consumers";
JSON.parse(await text(process.stdin));
process.stdout.write("{}");
`;
const PERSISTENT = `import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify({ id: JSON.parse(line).id, answer: {} }) + "\\n");
});
`;

const TERMS = {
  event: "PreToolUse",
  matcher: undefined,
  timeoutMs: 20_000,
  onFailure: "closed",
  grants: false,
};

/** Calls of one sample of what is shorter than a clock's tick. */
const CALLS = 50;

export async function benchPersistent({ rounds = 25 } = {}) {
  const work = mkdtempSync(join(tmpdir(), "bridle-bench-persistent-"));
  const session = createChainSession();
  const entryOf = async (name, program, more) => {
    const script = join(work, `${name}.mjs`);
    writeFileSync(script, program);
    const files = await Promise.all([process.execPath, script].map((path) => identifyFile(path)));
    const argv = [process.execPath, script];
    return { ...TERMS, id: name, type: "command", argv, argv0: process.execPath, files, env: {}, ...more };
  };
  /** Mean of `calls` calls in ms; one that fails must not look fast. */
  const measure = async (entry, calls) => {
    const start = performance.now();
    for (let n = 0; n < calls; n += 1) {
      const { steps } = await runChain({
        event: "PreToolUse",
        envelope: ENVELOPE,
        entries: [entry],
        cwd: work,
        hookEnv: { PATH: process.env.PATH },
        marker: "bench",
        signal: new AbortController().signal,
        deadlineMs: 20_000,
        checkFiles: listDifferences,
        session,
        onStep: () => {},
      });
      if (steps[0]?.failed !== false)
        throw new Error(`${entry.id} failed: ${JSON.stringify(steps[0]?.notes)}`);
    }
    return (performance.now() - start) / calls;
  };
  try {
    const oneShot = await entryOf("one-shot", ONE_SHOT, {});
    const persistent = await entryOf("persistent", PERSISTENT, { persistent: true });
    const handler = { ...TERMS, id: "function", type: "function", name: "f", handler: () => ({}) };
    return await compare({
      title: `One hook call through the chain (the short ones as means of ${CALLS})`,
      unit: "ms",
      baseline: "one-shot Node script",
      rounds,
      warmup: 2,
      each: 1,
      variants: [
        { name: "one-shot Node script", run: () => measure(oneShot, 1) },
        { name: "persistent Node script", run: () => measure(persistent, CALLS) },
        { name: "function", run: () => measure(handler, CALLS) },
      ],
      limits: {
        "a persistent Node script ≤ 1/20 of a one-shot one": (rows) => ({
          value: rows["persistent Node script"].ratio,
          limit: 1 / 20,
        }),
      },
    });
  } finally {
    await closeChainSession(session);
    rmSync(work, { recursive: true, force: true });
  }
}
