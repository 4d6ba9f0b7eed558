// What a caller holds while an agent runs.

import type { Provider } from "../profile/events.ts";
import type { Started } from "./attest.ts";
import type { EventQueue } from "./event-queue.ts";
import type { AgentEvent } from "./events.ts";
import type { Life } from "./life.ts";
import type { RunResult } from "./result.ts";
import type { RunScope } from "./run-scope.ts";

export interface AgentRun extends AsyncIterable<AgentEvent>, AsyncDisposable {
  /** Run id; also in every envelope, receipt and event. */
  readonly id: string;
  /** Process id of the provider CLI. */
  readonly pid: number;
  readonly provider: Provider;
  /** As the started CLI says it; where it does not, as `--version` said it. A fake's ends in `+fake`. */
  readonly providerVersion: string;
  /** Always resolves, whatever happened. */
  readonly result: Promise<RunResult>;
  /** Clean stop, SIGTERM after `interruptGraceMs`, KILL after `stopMs`. Resolves with the result. */
  stop(reason?: string): Promise<RunResult>;
  /** Asks the provider to interrupt its turn. The run then ends by itself, or is ended after `interruptGraceMs`. */
  interrupt(): Promise<RunResult>;
}

export function createRun(
  scope: RunScope,
  { child, report }: Started,
  life: Life,
  queue: EventQueue,
): AgentRun {
  const { result } = life;
  const stop = (asked: unknown = "stopped") => {
    const reason =
      typeof asked === "string" ? asked : asked instanceof Error ? String(asked.message) : "stopped";
    life.send({ type: "end", cause: { kind: "stopped", reason } });
    return result;
  };
  return {
    id: scope.runId,
    pid: child.cliPid,
    provider: scope.plan.provider,
    providerVersion: report.providerVersion ?? scope.plan.binary.version,
    result,
    stop,
    interrupt: () => {
      life.send({ type: "interrupt" });
      return result;
    },
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
    [Symbol.asyncDispose]: async () => void (await stop("disposed")),
  };
}
