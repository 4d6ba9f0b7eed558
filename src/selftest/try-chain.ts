// Runs compiled hooks on one envelope outside of a run: the same chain, adapter, environment and interpretation, in the project's root, with
// a run directory that is gone afterwards. No agent is there, and nothing is written down.

import { randomUUID } from "node:crypto";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChainResult, type ChainStep, runChain } from "../broker/chain.ts";
import { closeChainSession, createChainSession, settleBackground } from "../broker/chain-session.ts";
import { chainDeadlineMs } from "../compiler/deadlines.ts";
import type { CompiledEntry } from "../compiler/plan.ts";
import { bindCommand } from "../exec/bind-command.ts";
import { buildHookEnv } from "../exec/hook-env.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { listDifferences } from "../trust/identity.ts";

export interface TryPlace {
  /** The hooks' working directory and `CLAUDE_PROJECT_DIR`. */
  readonly projectRoot: string;
  /** PATH given to hooks. */
  readonly hookPath: string;
  /** What an entry's `env:NAME` is read from. @default the process's own */
  readonly env?: NodeJS.ProcessEnv;
  /** Ends the hook that runs; the rest is not run. */
  readonly signal?: AbortSignal;
}

/** Waits for hooks in the background too; their steps come last. */
export async function tryChain(
  entries: readonly CompiledEntry[],
  envelope: Envelope,
  { projectRoot, hookPath, env = process.env, signal = new AbortController().signal }: TryPlace,
): Promise<ChainResult> {
  const runDirectory = await realpath(await mkdtemp(join(tmpdir(), "bridle-try-")));
  const marker = `try-${randomUUID()}`;
  const session = createChainSession();
  const background: ChainStep[] = [];
  try {
    const bound = entries.map((entry) => bindCommand(entry, { env, runDirectory }));
    const { verdict, said, steps } = await runChain({
      event: envelope.hook_event_name,
      envelope,
      entries: bound,
      cwd: projectRoot,
      hookEnv: buildHookEnv({
        hookPath,
        base: env,
        projectDir: projectRoot,
        runId: envelope.run_id,
        entryEnv: {},
        marker,
      }),
      marker,
      session,
      signal,
      deadlineMs: chainDeadlineMs(bound),
      checkFiles: listDifferences,
      onStep: (step) => {
        if (step.background) background.push(step);
      },
    });
    await settleBackground(session);
    return { verdict, said, steps: [...steps, ...background] };
  } finally {
    await closeChainSession(session);
    await rm(runDirectory, { recursive: true, force: true });
  }
}
