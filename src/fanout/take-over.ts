// What a dead fan-out left running: each run is proven dead and written down as ended, before anything is started.

import type { RenderedHooks } from "../compiler/token.ts";
import { classifyEnding } from "../retry/classify-ending.ts";
import { decideAfter, isOwnStop } from "./after-attempt.ts";
import type { FanOutProgress, FanOutSettings } from "./options.ts";
import { type RecoveredRun, recoverTasks } from "./recover-tasks.ts";
import { type AttemptEnd, describeTimeOut } from "./run-attempt.ts";
import type { FanOutState } from "./state.ts";
import type { AfterAttempt, LostAttempt } from "./state-rows.ts";

export interface TakeOverOptions {
  readonly state: FanOutState;
  readonly stateDir: string;
  readonly hooks: readonly RenderedHooks[];
  readonly settings: FanOutSettings;
  readonly say: (progress: FanOutProgress) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Resolves with the tasks that have finished by it. */
export async function takeOver({
  state,
  stateDir,
  hooks,
  settings,
  say,
  now,
}: TakeOverOptions): Promise<number[]> {
  const unended = state.unended();
  const recovered = await recoverTasks(
    unended.map(({ runId }) => runId),
    {
      stateDir,
      hooks,
      env: settings.spawn?.baseEnv ?? process.env,
      assumeDead: settings.assumeDead ?? false,
    },
  );
  const finished: number[] = [];
  for (const [at, run] of recovered.entries()) {
    const lost = unended[at];
    if (lost === undefined) continue;
    const { index, id } = lost.spec;
    for (const problem of run.problems)
      say({ type: "warning", message: `run ${run.runId} of task ${id}: ${problem}` });
    const end = toEnd(run, lost, now());
    const earlier = state.attempts(index).filter(({ attempt }) => attempt !== lost.attempt);
    const after = decide(run, end, { settings, earlier, isStopping: isOwnStop(end), now: now() });
    // Who may still be at work there must not have the floor taken away.
    if (!run.isDead) state.keepWorktree(index, lost.attempt);
    state.endAttempt(index, lost.attempt, end, after);
    say({ type: "recovered", index, id, runId: run.runId, outcome: end.outcome, reason: end.reason });
    if (after.state === "finished") finished.push(index);
  }
  return finished;
}

function toEnd({ outcome, reason }: RecoveredRun, { spec }: LostAttempt, now: number): AttemptEnd {
  const told = outcome === "timed_out" ? describeTimeOut(reason, spec) : reason;
  const { class: kind, retryAt } = classifyEnding({ outcome, reason: told }, now);
  return { outcome, reason: told, class: kind, retryAt };
}

function decide(
  { isDead, outcome }: RecoveredRun,
  end: AttemptEnd,
  options: Parameters<typeof decideAfter>[1] & { readonly settings: FanOutSettings },
): AfterAttempt {
  if (isDead && outcome === "lost" && options.settings.onLost === "retry")
    return { state: "waiting", notBefore: 0 };
  return decideAfter(end, options);
}
