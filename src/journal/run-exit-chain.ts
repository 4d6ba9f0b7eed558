// Runs the agent_exit chain of a run whose supervisor is gone, as that supervisor would have: same program, same variables, same deadline,
// with `recovered: true` in the envelope.

import { runChain } from "../broker/chain.ts";
import { createChainSession, settleBackground } from "../broker/chain-session.ts";
import { chainDeadlineMs } from "../compiler/deadlines.ts";
import type { CompiledEntry } from "../compiler/plan.ts";
import { buildHookEnv } from "../exec/hook-env.ts";
import { baseEnvelope } from "../profile/envelope.ts";
import type { HookExit } from "../profile/verdict.ts";
import type { Extinction } from "../spawn/result.ts";
import { listDifferences } from "../trust/identity.ts";
import type { RunRecord } from "./record.ts";

export interface RecoveredHook {
  /** Place in the declaration. */
  readonly id: string;
  /** How it ended; undefined when it was not run. */
  readonly exit: HookExit | undefined;
  readonly failed: boolean;
  /** How its files differ from those compiled: then it was not run. */
  readonly changed?: string;
  readonly durationMs: number;
}

export async function runExitChain({
  record: { admitted },
  entries,
  extinction,
  env,
}: {
  record: RunRecord;
  entries: readonly CompiledEntry[];
  extinction: Extinction;
  env: NodeJS.ProcessEnv;
}): Promise<RecoveredHook[]> {
  const { runId, sessionId, provider, cwd, hookPath, projectRoot, at } = admitted;
  const envelope = {
    ...baseEnvelope("agent_exit", { provider, sessionId, runId, cwd }),
    outcome: "lost",
    reason: "supervisor_gone",
    exit_code: null,
    signal: null,
    // Until now: when the agent ended is not known.
    duration_ms: Math.max(0, Date.now() - Date.parse(at)),
    extinction: { ...extinction, survivors: [...extinction.survivors] },
    hooks: {},
    recovered: true,
  };
  // A hook of the dead supervisor may still run, under that one's marker.
  const marker = `${runId}.recovered`;
  const session = createChainSession();
  const { steps } = await runChain({
    session,
    event: "agent_exit",
    envelope,
    // What a hook in the background comes to would not be among the steps, and there is nothing that need not wait.
    entries: entries.map((entry) => ({ ...entry, async: false })),
    cwd,
    hookEnv: buildHookEnv({ hookPath, base: env, projectDir: projectRoot, runId, entryEnv: {}, marker }),
    marker,
    signal: new AbortController().signal,
    deadlineMs: chainDeadlineMs(entries),
    checkFiles: listDifferences,
    onStep: () => {},
  });
  await settleBackground(session);
  return steps.map(({ entryId, exit, failed, changed, notes, durationMs }) => ({
    id: entryId,
    exit,
    failed,
    ...(changed ? { changed: notes.map(({ detail }) => detail).join("; ") } : {}),
    durationMs: Math.round(durationMs),
  }));
}
